"""IDA* with databases: thresholds from the root's h upwards, each searched by the engine in slices.

Between slices Python is in charge: limits are checked, progress is reported, and Ctrl-C takes effect.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import UNREACHED
from pdb_core.errors import LimitReachedError
from pdb_core.lookup import Int64s
from pdb_core.probe import probe_boards
from pdb_core.puzzle import BLANK, Board, BoardSize
from solver.engine.board_kernels import (
    BOARD,
    THRESHOLD,
    WRONG,
    begin_threshold,
    fill_boards,
    fill_sum,
    search_boards,
)
from solver.engine.engine_tables import Engine, make_engine
from solver.engine.layout import (
    ALLOWED_SHIFT,
    EXHAUSTED,
    FOUND,
    GENERATED,
    MAX_SLACK,
    NO_ROOM,
    PAUSED,
    STOP_AT_GOAL,
    TOO_DEEP,
)
from solver.engine.stack import Stack
from solver.engine.threshold import Listed, Part, ThresholdSearch, search_threshold
from solver.engine.unit_tables import N_MOVES, Heuristic
from solver.engine.worker_pool import WorkerPool
from solver.move_pruning.move_pruning import START, MoveMachine
from solver.progress import Iteration, Limits, Report
from solver.solution import Solution, check_solution

# Moves that stacks have room for at first.
_USUAL_DEPTH = 96
# Nodes of the first thresholds that are searched in one call: some 3 ms.
_SMALL_NODES = 200_000
# Thresholds whose nodes one call can note.
_MOST_THRESHOLDS = 32
_SLICE_NODES = 1_000_000


@dataclass(frozen=True)
class SearchResult:
    """Result of IDA* in the terms of the tables. `tiles` are the tiles moved, in order; None if a limit was reached.

    n_solutions  optimal solutions found; all there are, if all were asked for and `is_complete`
    rest         if a limit was reached without a pool: the subtrees of the last threshold that are left, see `subtrees`
    """

    tiles: tuple[int, ...] | None
    n_solutions: int
    is_complete: bool
    h: int
    iterations: tuple[Iteration, ...]
    seconds: float
    rest: tuple[bytes, ...] = ()

    @property
    def generated(self) -> int:
        return sum(iteration.generated for iteration in self.iterations)

    @property
    def expanded(self) -> int:
        return sum(iteration.expanded for iteration in self.iterations)


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


@dataclass(frozen=True)
class Roots:
    """Boards made ready for a search: uint8[m, n_cells]; their nodes, uint32[m, n_columns]; their sums, int64[m, s]."""

    boards: npt.NDArray[np.uint8]
    nodes: npt.NDArray[np.uint32]
    sums: Int64s


class BoardsSearch:
    """A search of boards one after another, without Python between them.

    counts   int64[m, t, 2]: generated and expanded nodes of each threshold that is over
    lengths  int16[m]: of the solutions; -1 for a board that is not solved yet
    paths    uint8[m, n]: the tiles moved
    more     results of boards that were searched on elsewhere

    Kernels take no time: boards that one call searches share its seconds in proportion to their generated nodes.
    """

    def __init__(self, roots: Roots, start: float) -> None:
        """`start` is when the seconds of the first board begin."""
        n = len(roots.nodes)
        self._roots = roots
        self._boards = roots.boards.copy()
        self._place = np.array([0, -1, 0, 0], dtype=np.int64)
        longest = int(roots.sums.max(initial=0)) + 2 * _MOST_THRESHOLDS
        self.counts: Int64s = np.zeros((n, _MOST_THRESHOLDS, 2), dtype=np.int64)
        self.lengths = np.full(n, -1, dtype=np.int16)
        self.paths = np.zeros((n, longest), dtype=np.uint8)
        self.more: dict[int, SearchResult] = {}
        # When the search of the board that is being searched began, as its nodes show.
        self.began_at = self._noted_at = start
        self._seconds_per_node = np.zeros(n)

    @property
    def board(self) -> int:
        """The index of the board that is being searched; those before it are solved."""
        return int(self._place[BOARD])

    @property
    def threshold(self) -> int:
        """The threshold that is being searched."""
        return int(self._place[THRESHOLD])

    def search(self, engine: Engine, stack: Stack, n_nodes: int) -> int:
        """Generate up to `n_nodes`. Returns EXHAUSTED if all boards are solved, PAUSED, or TOO_DEEP.

        TOO_DEEP means that a threshold is too far above a sum. PAUSED may also mean that a board has more thresholds
        than there is room for. Raises `TableFileDamagedError` if a search ends elsewhere than at the goal.
        """
        roots, first = self._roots, self.board
        while True:
            status = int(
                search_boards(
                    engine.tables, engine.units, stack.memory, stack.counters, self._place, roots.nodes, roots.sums,
                    self._boards, n_nodes, self.counts, self.lengths, self.paths,
                )
            )  # fmt: skip
            if status != NO_ROOM:
                break
            stack.grow()
        if (self.lengths == WRONG).any():
            raise engine.damaged()
        searched = slice(first, self.board + 1)
        generated = self.counts[searched, :, 0].sum(axis=1)
        if status == PAUSED:
            generated[-1] += stack.counters[GENERATED]
        now = time.perf_counter()
        seconds_per_node = (now - self._noted_at) / max(1, int(generated.sum()))
        self._seconds_per_node[searched] = seconds_per_node
        self.began_at = now - float(generated[-1]) * seconds_per_node if status == PAUSED else now
        self._noted_at = now
        return status

    def resume(self) -> None:
        """Leave the time since the last call of `search` out of the seconds of the boards."""
        now = time.perf_counter()
        self.began_at += now - self._noted_at
        self._noted_at = now

    def note(self, row: int, result: SearchResult) -> None:
        """Note what was found elsewhere of the board that is being searched, and go on with the next one."""
        tiles = result.tiles or ()
        if len(tiles) > self.paths.shape[1]:
            self.paths = np.pad(self.paths, ((0, 0), (0, len(tiles) - self.paths.shape[1])))
        self.lengths[row] = len(tiles)
        self.paths[row, : len(tiles)] = tiles
        self.more[row] = result
        self._place[:] = [row + 1, -1, 0, 0]
        self._noted_at = time.perf_counter()

    def iterations(self, row: int) -> tuple[Iteration, ...]:
        """Return the iterations of a board that are finished."""
        if row in self.more:
            return self.more[row].iterations
        h, seconds_per_node = int(self._roots.sums[row].max()), float(self._seconds_per_node[row])
        return tuple(
            Iteration(h + 2 * i, generated, expanded, generated * seconds_per_node)
            for i, (generated, expanded) in enumerate(self.counts[row].tolist())
            if expanded
        )

    def result(self, row: int) -> SearchResult:
        """Return what was found of a board that is solved."""
        if row in self.more:
            return self.more[row]
        iterations = self.iterations(row)
        seconds = sum(iteration.seconds for iteration in iterations)
        tiles: tuple[int, ...] = tuple(self.paths[row, : self.lengths[row]].tolist())
        return SearchResult(tiles, 1, not tiles, int(self._roots.sums[row].max()), iterations, seconds)

    @property
    def h(self) -> Int64s:
        """The lower bounds at the roots, int64[m]."""
        return self._roots.sums.max(axis=1)  # type: ignore[no-any-return]

    def nodes(self) -> tuple[Int64s, Int64s]:
        """Return the generated and the expanded nodes of each board, int64[m]."""
        generated, expanded = self.counts[:, :, 0].sum(axis=1), self.counts[:, :, 1].sum(axis=1)
        for row, result in self.more.items():
            generated[row], expanded[row] = result.generated, result.expanded
        return generated, expanded


def too_deep(threshold: int) -> LimitReachedError:
    """Return the error of a threshold that the engine cannot search."""
    return LimitReachedError(
        f"a solution of more than {threshold - 1} moves is more than {2 * MAX_SLACK} moves above a sum of the tables; "
        "such boards cannot be searched"
    )


class _StackPart(Part):
    """The nodes of a threshold on one stack."""

    slice_nodes = _SLICE_NODES

    def __init__(self, root: Board, stack: Stack, ida_star: "IdaStar", *, is_lent: bool = False) -> None:
        """`is_lent`: the stack goes back to `ida_star` when the part is over."""
        self._root, self._stack, self._ida_star, self._is_lent = root, stack, ida_star, is_lent

    @property
    def counters(self) -> Int64s:
        return self._stack.counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        return self._stack.search(pause_at, max_nodes, at_goal)

    def split(self) -> Self | None:
        if self._stack.n_nodes < 2:
            return None
        other = self._ida_star.lend_stack()
        self._stack.split(other)
        return type(self)(self._root, other, self._ida_star, is_lent=True)

    def release(self) -> None:
        if self._is_lent:
            self._ida_star.take_back(self._stack)

    def tiles(self) -> tuple[int, ...]:
        """Raises `TableFileDamagedError` if the moves lead elsewhere than to the goal."""
        engine = self._ida_star.engine
        tiles, end = tiles_moved(self._root, self._stack.moves_to_goal(), engine.size)
        if end != engine.goal:
            raise engine.damaged()
        return tiles

    def pause(self) -> None:
        self._stack.pause()


def tiles_moved(board: Board, moves: Sequence[int], size: BoardSize) -> tuple[tuple[int, ...], Board]:
    """Return the tiles that move when the blank moves so (0 up, 1 left, 2 right, 3 down), and the board after that."""
    cells, blank = list(board), board.index(BLANK)
    steps = (-size.width, -1, 1, size.width)
    tiles = []
    for move in moves:
        cell = blank + steps[move]
        tiles.append(cells[cell])
        cells[blank], cells[cell] = cells[cell], BLANK
        blank = cell
    return tuple(tiles), tuple(cells)


class IdaStar:
    """IDA* with the largest of all sums of some databases, for the goal of the first. Thread-safe."""

    def __init__(
        self,
        size: BoardSize,
        heuristics: Sequence[Heuristic],
        machine: MoveMachine,
        *,
        source: str = "the table",
        **options: Any,
    ) -> None:
        """`source` names the tables' files in messages. For other options see `make_engine`."""
        self.size = size
        self.machine = machine
        self.engine: Engine = make_engine(size, heuristics, machine, source=source, **options)
        self.goal: Board = self.engine.goal
        self._allowed = ((machine.successors >= 0) << np.arange(N_MOVES)).sum(axis=1)
        self._lock = threading.Lock()
        self._stacks: list[Stack] = []

    def search(
        self,
        board: Board,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        *,
        finds_all: bool = False,
        listed: Listed | None = None,
    ) -> SearchResult:
        """Return an optimal solution of `board`, which must be solvable.

        `report` is called after every slice of a threshold. Workers of `pool` help with thresholds that take longer
        than one. With `finds_all` the last threshold is searched to its end; all optimal solutions are counted, and
        `listed` is called with each. The machine must then be one that keeps equals.

        Raises `TableFileDamagedError` if the tables lead elsewhere than to the goal.
        """
        start = time.perf_counter()
        limits = limits or Limits()
        if board == self.goal:
            if listed is not None:
                listed(())
            return SearchResult((), 1, True, 0, (), time.perf_counter() - start)
        roots = self.roots([board])
        with self.stack() as stack:
            # Step 1. Thresholds of some thousand nodes, several in one call: Python takes as long as a thousand nodes.
            small = BoardsSearch(roots, start)
            is_limited = limits.nodes is not None and limits.nodes <= _SMALL_NODES
            n_nodes = 0 if finds_all or is_limited else _SMALL_NODES
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
            )

    def search_many(
        self,
        boards: npt.ArrayLike,
        report: Callable[[int, Iteration], None] | None = None,
        pool: WorkerPool | None = None,
    ) -> Iterator[BoardsSearch]:
        """Search boards (m, n_cells) one after another, without Python between easy ones. Each must be solvable.

        Yield the search every fraction of a second and at the end, always the same object. `report` is called every
        fraction of a second with the row of a hard board. Workers of `pool` help with it.
        """
        start = time.perf_counter()
        roots = self.roots(boards)
        many = BoardsSearch(roots, start)
        with self.stack() as stack:
            while (status := many.search(self.engine, stack, _SLICE_NODES)) != EXHAUSTED:
                yield many
                if status == TOO_DEEP:
                    raise too_deep(many.threshold)
                many.resume()
                # The rest of a hard board is searched as if it were alone.
                row, start, finished = many.board, many.began_at, many.iterations(many.board)
                row_report = None if report is None else partial(report, row)
                result = self._search_on(roots, row, stack, many.threshold, finished, start, Limits(), row_report, pool)
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
    ) -> SearchResult:
        """Search a board from a threshold on that was begun on `stack`; `finished` are those before."""
        board: Board = tuple(roots.boards[row].tolist())
        h = int(roots.sums[row].max())
        while True:
            nodes_left = None if limits.nodes is None else limits.nodes - sum(at.generated for at in finished)
            search: ThresholdSearch[_StackPart] = ThresholdSearch(
                threshold, nodes_left, finds_all=finds_all, listed=listed
            )
            part = _StackPart(board, stack, self)
            finished = (*finished, search_threshold(search, part, limits, start, report, pool))
            if search.status in (FOUND, PAUSED):
                tiles = search.tiles if search.n_solutions else None
                is_complete = finds_all and search.status == FOUND
                rest = self.paths_left(board, stack) if search.status == PAUSED and pool is None else ()
                seconds = time.perf_counter() - start
                return SearchResult(tiles, search.n_solutions, is_complete, h, finished, seconds, rest)
            # All solutions have the same parity, and so have all sums and thresholds.
            threshold += 2
            self.begin(stack, roots, row, threshold)

    def roots(self, boards: npt.ArrayLike, states: Sequence[int] | None = None) -> Roots:
        """Look boards up in all tables, and make them roots; `states` of the move-pruning machine are START by default.

        Raises `TableFileDamagedError` if a distance is not to be found.
        """
        engine, tables = self.engine, self.engine.tables
        rows = np.array(boards, dtype=np.uint8).reshape(-1, self.size.n_cells)
        nodes = np.zeros((len(rows), tables.n_columns), dtype=np.uint32)
        sums = np.zeros((len(rows), tables.n_sums), dtype=np.int64)
        at = np.full(len(rows), START, dtype=np.int64) if states is None else np.array(states, dtype=np.int64)
        fill_boards(tables, rows, (at | self._allowed[at] << ALLOWED_SHIFT).astype(np.uint32), nodes)
        index = 0
        for heuristic in engine.heuristics:
            shape = (len(rows), *heuristic.views.view_of_unit.shape)
            masks, labels = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
            values = np.empty(shape, dtype=np.uint8)
            probe_boards(rows, heuristic.tables, heuristic.views, masks, labels, values)
            if (values == UNREACHED).any():
                raise engine.damaged()
            for s, patterns in heuristic.sums():
                fill_sum(
                    tables, index, np.array(patterns, dtype=np.int64), heuristic.tables.label_bits, masks[:, s],
                    labels[:, s], values[:, s], nodes, sums,
                )  # fmt: skip
                index += 1
        return Roots(rows, nodes, sums)

    def begin(self, stack: Stack, roots: Roots, row: int, threshold: int) -> None:
        """Put a root on an empty stack. Raises `LimitReachedError` if the threshold is too large."""
        if threshold - int(roots.sums[row].min()) > 2 * MAX_SLACK:
            raise too_deep(threshold)
        begin_threshold(self.engine.tables, stack.memory, stack.counters, roots.nodes[row], roots.sums[row], threshold)

    def load_kernels(self, board: Board) -> None:
        """Load or compile all kernels of searches, also those of threads, on a board one move from the goal."""
        self.search(board, Limits(nodes=_SMALL_NODES + 1))
        with self.stack() as stack:
            self.begin(stack, self.roots([board]), 0, 1)
            stack.search(1, 1, STOP_AT_GOAL)
            with self.stack() as other:
                stack.split(other)

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
        return Stack(self.engine.tables, self.engine.units, _USUAL_DEPTH)

    def take_back(self, stack: Stack) -> None:
        """Keep a stack for the next search; its nodes are dropped."""
        stack.counters[:] = 0
        with self._lock:
            self._stacks.append(stack)
