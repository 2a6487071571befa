"""IDA* with databases: thresholds from the root's h upwards, each searched by the engine in slices.

Between slices Python is in charge: limits are checked, progress is reported, and Ctrl-C takes effect.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy.typing as npt

from pdb_core.puzzle import Board, BoardSize
from pdb_query.lookup import Int64s
from solver.checkpoint import Checkpoint
from solver.engine.boards_search import BoardsSearch, SearchResult, too_deep
from solver.engine.division import divide
from solver.engine.engine import Engine, Roots
from solver.engine.frontier import Frontier, FrontierLimits, FrontierPart, FrontierPieces, frontier_of
from solver.engine.in_order import OrderedPart
from solver.engine.layout import EXHAUSTED, FOUND, GENERATED, MAX_SLACK, PAUSED, STOP_AT_GOAL, TOO_DEEP
from solver.engine.pieces import PiecesPart
from solver.engine.stack import Stack, tiles_moved
from solver.engine.threshold import Listed, Part, ThresholdSearch, search_threshold
from solver.engine.worker_pool import WorkerPool
from solver.progress import WARM_UP_LIMITS, Iteration, Limits, Report
from solver.solution import Solution, check_solution

# Moves that stacks have room for at first.
_USUAL_DEPTH = 96
# Nodes of the first thresholds that are searched in one call: some 3 ms.
_SMALL_NODES = 200_000
_SLICE_NODES = 1_000_000


def solution_of(
    board: Board, goal: Board, size: BoardSize, result: SearchResult, tiles: tuple[int, ...] | None
) -> Solution:
    """Return the solution of a result, replayed; `tiles` in the terms of the board. Raises `WrongAnswerError`."""
    if tiles is not None:
        check_solution(board, tiles, goal, size)
    return Solution(
        board=board,
        goal=goal,
        length=None if tiles is None else len(tiles),
        tiles=tiles,
        is_optimal=tiles is not None,
        bound=None if tiles is None else 1.0,
        h=result.h,
        lower_bound=result.iterations[-1].threshold if result.iterations else result.h,
        generated=result.generated,
        expanded=result.expanded,
        seconds=result.seconds,
        iterations=result.iterations,
        n_solutions=result.n_solutions,
        is_complete=result.is_complete,
    )


class _StackPart(Part):
    """The nodes of a threshold on one stack."""

    def __init__(self, root: Board, stack: Stack, ida_star: "IdaStar", *, is_lent: bool = False) -> None:
        """`is_lent`: the stack goes back to `ida_star` when the part is over."""
        self._root, self._stack, self._ida_star, self._is_lent = root, stack, ida_star, is_lent
        self.slice_nodes = ida_star.slice_nodes

    @property
    def counters(self) -> Int64s:
        return self._stack.counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        return self._stack.search(pause_at, max_nodes, at_goal)

    def split(self) -> Part | None:
        if self._stack.n_nodes < 2:
            return None
        other = self._ida_star.lend_stack()
        self._stack.split(other)
        return type(self)(self._root, other, self._ida_star, is_lent=True)

    def release(self) -> None:
        if self._is_lent:
            self._ida_star.take_back(self._stack)

    def tiles(self) -> tuple[int, ...]:
        """Raises `Engine.wrong_end` if the moves lead elsewhere than to the goal."""
        engine = self._ida_star.engine
        tiles, end = tiles_moved(self._root, self._stack.moves_to_goal(), engine.size)
        if end != engine.goal:
            raise engine.wrong_end()
        return tiles

    def pause(self) -> None:
        self._stack.pause()


class IdaStar:
    """IDA* with an engine, for its goal. Thread-safe."""

    def __init__(
        self, engine: Engine, *, in_order: bool = False, frontier_limits: FrontierLimits | None = None
    ) -> None:
        """`in_order` searches without a pool in the order of the textbook, see `in_order`. With `frontier_limits`
        large thresholds are searched breadth first near the root, see `frontier`, unless all solutions are wanted.
        """
        self.engine = engine
        self.size, self.machine, self.goal = engine.size, engine.machine, engine.goal
        self._in_order, self._frontier_limits = in_order, frontier_limits
        self._lock = threading.Lock()
        self._stacks: list[Stack] = []

    @property
    def slice_nodes(self) -> int:
        """Nodes of a slice."""
        return max(1, int(_SLICE_NODES * self.engine.speed))

    def search(
        self,
        board: Board,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        *,
        finds_all: bool = False,
        listed: Listed | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> SearchResult:
        """Return an optimal solution of `board`, which must be solvable.

        `report` is called after every slice of a threshold. Workers of `pool` help with thresholds that take longer
        than one. With `finds_all` the last threshold is searched to its end; all optimal solutions are counted, and
        `listed` is called with each. The machine must then be one that keeps equals.

        With `checkpoint` the search continues from there, and keeps there what it has finished. Seconds are those of
        all runs; limits are on the nodes of all runs and on the seconds of this one.

        Raises `Engine.wrong_end` if the search ends elsewhere than at the goal.
        """
        start = time.perf_counter()
        limits = limits or Limits()
        if board == self.goal:
            if listed is not None:
                listed(())
            return SearchResult((), 1, True, 0, (), time.perf_counter() - start)
        roots = self.engine.roots([board])
        in_order = self._in_order and pool is None and not finds_all
        with self.stack() as stack:
            # Step 1. Thresholds of some thousand nodes, several in one call: Python takes as long as a thousand nodes.
            small = BoardsSearch(roots, start)
            n_nodes = int(_SMALL_NODES * min(1.0, self.engine.speed))
            if finds_all or in_order or (limits.nodes is not None and limits.nodes <= n_nodes):
                n_nodes = 0
            status = small.search(self.engine, stack, n_nodes)
            if status == TOO_DEEP:
                raise too_deep(small.threshold)
            finished = small.iterations(0)
            if report is not None:
                for iteration in finished:
                    report(iteration)
            if status == EXHAUSTED:
                return small.result(0)

            # Step 2. Larger ones, in slices and by any number of threads. The first has been begun.
            return self._search_on(
                roots,
                0,
                stack,
                small.threshold,
                finished,
                start,
                limits,
                report,
                pool,
                finds_all=finds_all,
                listed=listed,
                checkpoint=checkpoint,
            )

    def search_many(
        self,
        boards: npt.ArrayLike,
        report: Callable[[int, Iteration], None] | None = None,
        pool: WorkerPool | None = None,
        checkpoints: Callable[[int], Checkpoint] | None = None,
    ) -> Iterator[BoardsSearch]:
        """Search boards (m, n_cells) one after another, without Python between easy ones. Each must be solvable.

        Yield the search every fraction of a second and at the end, always the same object. `report` is called every
        fraction of a second with the row of a hard board. Workers of `pool` help with it. `checkpoints` is called with
        the row of a hard board and returns its checkpoint, see `search`.
        """
        start = time.perf_counter()
        roots = self.engine.roots(boards)
        many = BoardsSearch(roots, start)
        with self.stack() as stack:
            while (status := many.search(self.engine, stack, self.slice_nodes)) != EXHAUSTED:
                yield many
                if status == TOO_DEEP:
                    raise too_deep(many.threshold)
                many.resume()
                # The rest of a hard board is searched as if it were alone.
                row, start, finished = many.board, many.began_at, many.iterations(many.board)
                row_report = None if report is None else partial(report, row)
                checkpoint = None if checkpoints is None else checkpoints(row)
                result = self._search_on(
                    roots,
                    row,
                    stack,
                    many.threshold,
                    finished,
                    start,
                    Limits(),
                    row_report,
                    pool,
                    checkpoint=checkpoint,
                )
                many.note(row, result)
                stack.counters[:] = 0
        yield many

    def _search_on(
        self,
        roots: Roots,
        row: int,
        stack: Stack,
        threshold: int,
        finished: tuple[Iteration, ...],
        start: float,
        limits: Limits,
        report: Report | None,
        pool: WorkerPool | None,
        *,
        finds_all: bool = False,
        listed: Listed | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> SearchResult:
        """Search a board from a threshold on that was begun on `stack`; `finished` are those before."""
        board: Board = tuple(roots.boards[row].tolist())
        h = int(roots.h[row])
        in_order = self._in_order and pool is None and not finds_all
        earlier_s, is_begun = 0.0, True
        if checkpoint is not None:
            n_before = len(finished)
            finished = checkpoint.resume(finished, int(roots.thresholds[row]))
            if len(finished) > n_before:
                earlier_s, is_begun = sum(iteration.seconds for iteration in finished), False
                threshold = finished[-1].threshold + 2
                self.begin(stack, roots, row, threshold)
        while True:
            nodes_left = None if limits.nodes is None else limits.nodes - sum(at.generated for at in finished)
            search = ThresholdSearch(threshold, nodes_left, finds_all=finds_all, listed=listed)
            part: Part = _StackPart(board, stack, self)
            division = frontier = None
            n_before = finished[-1].generated if finished else 0
            if self._frontier_limits is not None and not (is_begun or finds_all):
                frontier = frontier_of(self.engine, self._frontier_limits, stack, finished, threshold)
            if frontier is not None:
                growth = max(1.0, n_before / max(1, *(at.generated for at in finished[-2:-1]), 1))
                kept = Checkpoint() if checkpoint is None else checkpoint
                pieces = partial(FrontierPieces, self, board, threshold, frontier, growth, kept)
                part = FrontierPart(self, stack, frontier, pieces, search.resume)
            elif in_order:
                part = OrderedPart(self.engine, roots, row, threshold, stack, self.slice_nodes, n_before)
            elif checkpoint is not None and not finds_all:
                division = divide(self, board, threshold, checkpoint)
            if division is not None:
                part = PiecesPart(self, stack, division)
                search.resume(division.known)
            finished = (*finished, search_threshold(search, part, limits, start, report, pool))
            earlier_s += search.seconds
            if search.status in (FOUND, PAUSED):
                tiles = search.tiles if search.n_solutions else None
                is_complete = finds_all and search.status == FOUND
                is_rest_known = search.status == PAUSED and pool is None and type(part) is _StackPart
                rest = self.paths_left(board, stack) if is_rest_known else ()
                seconds = earlier_s + time.perf_counter() - start
                return SearchResult(tiles, search.n_solutions, is_complete, h, finished, seconds, rest)
            if checkpoint is not None:
                checkpoint.finish_threshold(finished)
            # All solutions have the same parity, and so have all sums and thresholds.
            threshold += 2
            is_begun = False
            self.begin(stack, roots, row, threshold)

    def begin(self, stack: Stack, roots: Roots, row: int, threshold: int) -> None:
        """Put a root on an empty stack.

        Raises `LimitReachedError` if the threshold is too large, and `Engine.wrong_end` if it is less than a sum: an
        earlier lookup of the board gave another sum.
        """
        sums = roots.sums[row]
        if threshold < int(sums.max(initial=0)):
            raise self.engine.wrong_end()
        if threshold - int(sums.min()) > 2 * MAX_SLACK:
            raise too_deep(threshold)
        stack.begin(roots, row, threshold)

    def load_kernels(self, board: Board) -> None:
        """Load or compile all kernels of searches, also those of threads, on a board one move from the goal.

        The searches are limited. Raises `Engine.wrong_end` if they do not find that move: the tables are damaged then.
        """
        roots = self.engine.roots([board])
        # Roots with larger sums have no slack, and the searches below would not be limited by the threshold.
        if int(roots.thresholds[0]) != 1:
            raise self.engine.wrong_end()
        tiles = self.search(board, WARM_UP_LIMITS).tiles
        if tiles is None or len(tiles) != 1:
            raise self.engine.wrong_end()
        with self.stack() as stack:
            self.begin(stack, roots, 0, 1)
            stack.search(1, 1, STOP_AT_GOAL)
            with self.stack() as other:
                stack.split(other)
            if self._frontier_limits is not None:
                stack.counters[:] = 0
                self.begin(stack, roots, 0, 1)
                frontier = Frontier(self.engine, stack, 1, 1)
                pieces = partial(FrontierPieces, self, board, 1, frontier, 1.0, Checkpoint())
                part = FrontierPart(self, stack, frontier, pieces, lambda _: None)
                most = WARM_UP_LIMITS.nodes or 0
                while part.search(most, most, STOP_AT_GOAL) == PAUSED and part.counters[GENERATED] < most:
                    pass

    def paths_left(self, board: Board, stack: Stack) -> tuple[bytes, ...]:
        """Return the subtrees that a paused search has not expanded, by their paths; the nearest to the root first."""
        paths = (bytes(tiles_moved(board, moves, self.size)[0]) for moves in stack.moves_to_nodes())
        return tuple(sorted(paths, key=len))

    @contextmanager
    def stack(self) -> Iterator[Stack]:
        """Lend a stack for a while."""
        stack = self.lend_stack()
        yield stack
        # Not after an exception: a thread may still use it.
        self.take_back(stack)

    def lend_stack(self) -> Stack:
        """Return a stack that is not in use: new ones cost as much as the search of an easy board."""
        with self._lock:
            if self._stacks:
                return self._stacks.pop()
        return Stack(self.engine, _USUAL_DEPTH)

    def take_back(self, stack: Stack) -> None:
        """Keep a stack for the next search; its nodes are dropped."""
        stack.counters[:] = 0
        with self._lock:
            self._stacks.append(stack)
