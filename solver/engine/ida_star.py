"""IDA* with an engine: thresholds from the root's h upwards, each searched in slices.

Between slices Python checks the limits, reports progress, and acts on Ctrl-C.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy.typing as npt

from pdb_core.puzzle import Tiles
from pdb_core.types import N_MOVES
from solver.checkpoint import Checkpoint, Subtrees, is_long
from solver.engine import search_memory as mem
from solver.engine.boards_search import BoardsSearch
from solver.engine.division import DIVISION, DividedWork, loads_division
from solver.engine.engine import Engine, Roots, too_deep
from solver.engine.search_result import SearchResult
from solver.engine.stack import Stack, StackPool
from solver.engine.subtrees import nodes_below, paths_before, paths_left
from solver.engine.threshold import Listed, ThresholdSearch
from solver.engine.work import Work
from solver.engine.worker_pool import WorkerPool
from solver.progress import WARM_UP_LIMITS, Iteration, Limits, Report

# Nodes of a threshold after which the next solution is looked for by other means, at a pace of 1: half a second.
_LOOK_ABOVE = 5_000_000
# Looks for a solution without IDA*, and returns None if it finds none. Its arguments are the board, the most moves of
# the solution, the nodes of the last threshold at a pace of 1 (it should take a small part of their time), the time at
# which it must end, and the report, which it calls every fraction of a second.
FindSolution = Callable[[Tiles, int, int, float, Report | None], tuple[int, ...] | None]


class IdaStar:
    """IDA* with an engine, for its goal. Thread-safe."""

    def __init__(
        self, engine: Engine, *, operator_order: bool = False, find_solution: FindSolution | None = None
    ) -> None:
        """`operator_order`: without a pool, search in the order of the textbook. `find_solution`: called after a long
        threshold; if it finds a solution of the next one, that is not searched.
        """
        self.engine, self.stacks = engine, StackPool(engine)
        self.operator_order, self.find_solution = operator_order, find_solution

    def search(
        self,
        board: Tiles,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        *,
        finds_all: bool = False,
        listed: Listed | None = None,
        checkpoint: Checkpoint | None = None,
        keeps_rest: bool = False,
    ) -> SearchResult:
        """Return an optimal solution of `board`, which must be solvable.

        `report` is called after every slice of a threshold that takes longer than one. Workers of `pool` help with such
        thresholds. With `finds_all` the last threshold is searched to its end; all optimal solutions are counted, and
        `listed` is called with each. The operator pruning FSM must then be one that keeps equals.

        With `checkpoint` the search continues from there, and records there what it finishes. Seconds are those of all
        runs; limits are on the nodes of all runs and on the seconds of this one.

        With `keeps_rest`, without a pool and a checkpoint, the result has the rest of a threshold in which a limit is
        reached. Then no threshold is divided.

        Raises `Engine.wrong_end` if the search ends elsewhere than at the goal.
        """
        *_, found = self.search_many(
            [board],
            None if report is None else lambda _row, iteration: report(iteration),
            pool,
            None if checkpoint is None else lambda _row: checkpoint,
            limits=limits,
            finds_all=finds_all,
            listed=listed,
            keeps_rest=keeps_rest,
        )
        result = found.result(0)
        if listed is not None and result.moves == ():
            listed(())
        return result

    def search_many(
        self,
        boards: npt.ArrayLike | Roots,
        report: Callable[[int, Iteration], None] | None = None,
        pool: WorkerPool | None = None,
        checkpoints: Callable[[int], Checkpoint] | None = None,
        *,
        limits: Limits | None = None,
        finds_all: bool = False,
        listed: Listed | None = None,
        keeps_rest: bool = False,
    ) -> Iterator[BoardsSearch]:
        """Search boards (m, n_cells), or their roots, one after another, without Python between easy ones.

        Each must be solvable. Yield the search every fraction of a second and at the end, always the same object.
        `report` is called every fraction of a second with the row of a hard board. Workers of `pool` help with it.
        `checkpoints` is called with the row of a hard board and returns its checkpoint. `limits`, `finds_all`,
        `listed` and `keeps_rest` are those of `search`, for each board.
        """
        start = time.perf_counter()
        many = BoardsSearch(boards if isinstance(boards, Roots) else self.engine.roots(boards), start)
        limits = limits or Limits()
        in_order = self.operator_order and pool is None and not finds_all
        n_nodes = self.stacks.slice_nodes
        # The first slice has no limit, and its last round may generate this many nodes too many.
        n_most = n_nodes + N_MOVES * mem.BATCH
        if finds_all or in_order or (limits.max_nodes is not None and limits.max_nodes < n_most):
            n_nodes = 0
        with self.stacks.borrowed() as stack:
            while (status := many.search(self.engine, stack, n_nodes)) != mem.EXHAUSTED:
                yield many
                if status == mem.TOO_DEEP:
                    raise too_deep(many.threshold)
                many.resume()
                row = many.board
                search = _LongSearch(
                    self,
                    many,
                    stack,
                    limits,
                    None if report is None else partial(report, row),
                    pool,
                    None if checkpoints is None else checkpoints(row),
                    in_order=in_order,
                    finds_all=finds_all,
                    listed=listed,
                    keeps_rest=keeps_rest,
                )
                many.note(row, search.run())
                stack.counters[:] = 0
        yield many

    def load_kernels(self, board: Tiles) -> None:
        """Load or compile all kernels of searches, also those of threads, on a board one move from the goal.

        The searches are limited. Raises `Engine.wrong_end` if they do not find that move: the tables are damaged then.
        """
        roots = self.engine.roots([board])
        # Roots with larger sums have no slack, and the searches below would not be limited by the threshold.
        if int(roots.thresholds[0]) != 1:
            raise self.engine.wrong_end()
        tiles = self.search(board, WARM_UP_LIMITS).moves
        if tiles is None or len(tiles) != 1:
            raise self.engine.wrong_end()
        with self.stacks.borrowed() as stack:
            stack.begin(roots, 0, 1)
            with self.stacks.borrowed() as other:
                stack.split(other)


@dataclass
class _LongSearch:
    """Search of one board that outlasts its first slice: threshold by threshold, each by any number of threads.

    many   its current board, which has begun a threshold, and when the seconds of this run began
    stack  holds the root of that threshold, or the nodes that are left of it
    """

    ida_star: IdaStar
    many: BoardsSearch
    stack: Stack
    limits: Limits
    report: Report | None
    pool: WorkerPool | None
    checkpoint: Checkpoint | None
    in_order: bool
    finds_all: bool
    listed: Listed | None
    keeps_rest: bool

    def __post_init__(self) -> None:
        self.roots, self.row, self.start = self.many.roots, self.many.board, self.many.began_at
        self.end = math.inf if self.limits.time_limit is None else self.start + self.limits.time_limit
        self.board: Tiles = tuple(self.roots.boards[self.row].tolist())
        self.h = int(self.roots.h[self.row])

    def run(self) -> SearchResult:
        """Search from the threshold on that was begun on the stack."""
        threshold, finished = self.many.threshold, self.many.iterations(self.row)
        earlier_s, is_begun = 0.0, True
        if self.checkpoint is not None:
            n_finished = len(finished)
            finished = self.checkpoint.resume(finished, int(self.roots.thresholds[self.row]))
            if len(finished) > n_finished:
                earlier_s, is_begun = sum(iteration.seconds for iteration in finished), False
                threshold = finished[-1].threshold + 2
        while True:
            if not is_begun:
                tiles = self._found_at(threshold, finished[-1])
                if tiles is not None:
                    seconds = earlier_s + time.perf_counter() - self.start
                    return SearchResult(tiles, finished, seconds, h=self.h, n_solutions=1)
                self.stack.begin(self.roots, self.row, threshold)
            n_before = sum(done.generated for done in finished)
            nodes_left = None if self.limits.max_nodes is None else self.limits.max_nodes - n_before
            search = ThresholdSearch(threshold, nodes_left, finds_all=self.finds_all, listed=self.listed)
            work = self._work(search, finished, is_begun=is_begun)
            iteration = search.search(work, self.limits, self.start, self.report, self.pool)
            if self.in_order and search.status == mem.FOUND:
                iteration = self._search_in_order(search, iteration)
            finished = (*finished, iteration)
            earlier_s += search.seconds
            if search.status in (mem.FOUND, mem.PAUSED):
                return self._result(search, finished, earlier_s + time.perf_counter() - self.start)
            if self.checkpoint is not None:
                self.checkpoint.finish_threshold(finished)
            # All solutions have the same parity, and so have all sums and thresholds.
            threshold += 2
            if threshold > self.roots.last[self.row]:
                return self._result(search, finished, earlier_s + time.perf_counter() - self.start)
            is_begun = False

    def _found_at(self, threshold: int, last: Iteration) -> tuple[int, ...] | None:
        """Return an optimal solution of `threshold` moves found without IDA*, or None.

        Raises `Engine.wrong_end` if it is shorter: smaller thresholds have no solution.
        """
        ida_star, report = self.ida_star, self.report
        n_nodes = int(last.generated / ida_star.engine.pace)
        if ida_star.find_solution is None or self.finds_all or n_nodes < _LOOK_ABOVE:
            return None
        at_last = None if report is None else lambda _: report(last)
        tiles = ida_star.find_solution(self.board, threshold, n_nodes, self.end, at_last)
        if tiles is not None and len(tiles) != threshold:
            raise ida_star.engine.wrong_end()
        return tiles

    def _work(self, search: ThresholdSearch, finished: tuple[Iteration, ...], *, is_begun: bool) -> Work:
        """Return the work of a threshold, of the kind that suits it; its root is on the stack."""
        ida_star, threshold = self.ida_star, search.threshold
        engine, stacks = ida_star.engine, ida_star.stacks
        divides = not self.keeps_rest and (self.checkpoint is not None or not self.in_order)
        if divides and not (is_begun or self.finds_all) and is_long(finished, engine.pace):
            plan = DIVISION.plan(finished, threshold, engine.pace)
            if plan is not None and loads_division(engine, self.stack, self.end):
                growth = max(1.0, finished[-1].generated / max(1, finished[-2].generated))
                checkpoint = Checkpoint() if self.checkpoint is None else self.checkpoint
                return DividedWork(stacks, self.stack, self.board, plan, threshold, growth, checkpoint, search.resume)
        return Work(stacks, self.stack, self.board)

    def _search_in_order(self, search: ThresholdSearch, iteration: Iteration) -> Iteration:
        """Replace the solution of a threshold by the first one in the order of the textbook, and count its nodes.

        These are exactly those that the textbook generates up to there, unless the time limit is reached. Before the
        first goal the textbook searches whole subtrees, and their nodes do not depend on the order.
        """
        engine, work = self.ida_star.engine, Work(self.ida_star.stacks, self.stack, self.board)
        while True:
            paths, n_on_path = paths_before(engine, self.board, bytes(search.tiles))
            self.stack.load(*nodes_below(engine, self.board, paths, search.threshold))
            before = ThresholdSearch(search.threshold, None)
            before.resume(Subtrees(set(), n_on_path, search.threshold, iteration.seconds))
            iteration = before.search(work, self.limits, self.start, self.report)
            if before.status != mem.FOUND:
                return iteration
            search.tiles = before.tiles

    def _result(self, search: ThresholdSearch, iterations: tuple[Iteration, ...], seconds: float) -> SearchResult:
        is_rest_known = self.keeps_rest and self.pool is None and search.status != mem.FOUND
        return SearchResult(
            search.tiles if search.n_solutions else None,
            iterations,
            seconds,
            h=self.h,
            n_solutions=search.n_solutions,
            is_complete=self.finds_all and search.status == mem.FOUND,
            rest=paths_left(self.board, self.stack, self.ida_star.engine.size) if is_rest_known else None,
        )
