"""IDA* with an engine: thresholds from the root's h upwards, each searched in slices.

Between slices Python checks the limits, reports progress, and acts on Ctrl-C.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy.typing as npt

from pdb_core.moves import blank_moves_of
from pdb_core.puzzle import Tiles
from pdb_core.resources import available_memory
from pdb_core.types import N_MOVES
from solver.beams.beam_search import widest_beam
from solver.beams.fitted_values import fitted_size
from solver.beams.solutions import find_by_beams
from solver.engine import layout as mem
from solver.engine.boards import BoardsSearch
from solver.engine.checkpoint import Checkpoint
from solver.engine.division import divide, is_long
from solver.engine.engine import Engine, Roots, too_deep
from solver.engine.frontier import Frontier
from solver.engine.paths import nodes_below, paths_before
from solver.engine.result import SearchResult
from solver.engine.stack import Stack, StackPool
from solver.engine.threads import ONE_SOLUTION, ThresholdSearch, Wanted
from solver.engine.worker_pool import WorkerPool
from solver.progress import WARM_UP_LIMITS, Clock, Iteration, Limits, Report
from solver.solution import check_replay

# Boards that one call searches at most: enough to keep Python out, few enough to keep all threads busy.
MOST_BOARDS = 64
# Is called with the row of a hard board. Returns its report, called every fraction of a second, and its checkpoint.
OfHardBoard = Callable[[int], tuple[Report | None, Checkpoint]]


class IdaStar:
    """IDA* with an engine, for its goal. Thread-safe."""

    def __init__(self, engine: Engine, *, operator_order: bool = False, uses_beams: bool = False) -> None:
        """`operator_order`: without a pool, search in the order of the textbook. `uses_beams`: after a long threshold,
        beams look for a solution of the next one. If they find it, that is not searched.
        """
        self.engine, self.stacks = engine, StackPool(engine)
        self.operator_order, self.uses_beams = operator_order, uses_beams

    def search(
        self,
        board: Tiles,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        checkpoint: Checkpoint | None = None,
        *,
        wanted: Wanted = ONE_SOLUTION,
    ) -> SearchResult:
        """Return an optimal solution of `board`, which must be solvable.

        `report` is called after every slice of a threshold that takes longer than one. Workers of `pool` help with such
        thresholds. With `checkpoint` the search continues from there, and records there what it finishes. Seconds are
        those of all runs; limits are on the nodes of all runs and on the seconds of this one.

        To find all solutions, the operator pruning FSM must be one that keeps equals.

        Raises `Engine.wrong_end` if the search ends elsewhere than at the goal.
        """
        checkpoint = checkpoint or Checkpoint()
        *_, found = self.search_many([board], lambda _row: (report, checkpoint), pool, limits=limits, wanted=wanted)
        result = found.result(0)
        if wanted.listed is not None and result.moves == ():
            wanted.listed(())
        return result

    def search_many(
        self,
        boards: npt.ArrayLike | Roots,
        of_hard_board: OfHardBoard = lambda _row: (None, Checkpoint()),
        pool: WorkerPool | None = None,
        *,
        limits: Limits | None = None,
        wanted: Wanted = ONE_SOLUTION,
    ) -> Iterator[BoardsSearch]:
        """Search boards (m, n_cells), or their roots, one after another, without Python between easy ones.

        Each must be solvable. Yield the search every fraction of a second and at the end, always the same object.
        Workers of `pool` help with hard boards. `limits` are those of each board. The checkpoint of a hard board has
        its finished thresholds when the search is yielded.
        """
        start = time.perf_counter()
        many = BoardsSearch(
            boards if isinstance(boards, Roots) else self.engine.roots(boards), start, self.engine.tuning.n_thresholds
        )
        limits = limits or Limits()
        in_order = self.operator_order and pool is None and not wanted.finds_all
        n_nodes = self.stacks.slice_nodes
        # The first slice has no limit, and its last round may generate this many nodes too many.
        n_most = n_nodes + N_MOVES * mem.BATCH
        if wanted.finds_all or in_order or (limits.max_nodes is not None and limits.max_nodes < n_most):
            n_nodes = 0  # the kernel then only begins the first threshold of a board
        with self.stacks.borrowed() as stack:
            while (status := many.search(self.engine, stack, n_nodes)) != mem.EXHAUSTED:
                row = many.row
                report, checkpoint = of_hard_board(row)
                checkpoint.resume(many.iterations(row))
                yield many
                if status == mem.TOO_DEEP:
                    raise too_deep(many.threshold)
                many.resume()
                clock = Clock(limits, report, many.began_at)
                search = _LongSearch(self, many, stack, clock, pool, checkpoint, wanted, in_order=in_order)
                many.note(row, search.run())
                stack.counters[:] = 0
        yield many

    def search_boards(self, boards: npt.ArrayLike | Roots, report: Report, pool: WorkerPool | None) -> BoardsSearch:
        """Search boards as `search_many` does, without limits. `report` is that of each hard board."""
        *_, found = self.search_many(boards, lambda _row: (report, Checkpoint()), pool)
        return found

    def load_kernels(self, board: Tiles) -> None:
        """Load or compile the kernels of searches, on a board one move from the goal.

        The search is limited. Raises `Engine.wrong_end` if it does not find that move: the tables are damaged then.
        """
        # Roots with larger sums have no slack, and the search would not be limited by the threshold.
        if self.engine.roots([board]).thresholds[0] != 1 or len(self.search(board, WARM_UP_LIMITS).moves or ()) != 1:
            raise self.engine.wrong_end()


@dataclass
class _LongSearch:
    """Search of one board that outlasts its first slice: threshold by threshold, each by any number of threads.

    many   its current board, which has begun a threshold
    stack  holds the root of that threshold, or the nodes that are left of it
    """

    ida_star: IdaStar
    many: BoardsSearch
    stack: Stack
    clock: Clock
    pool: WorkerPool | None
    checkpoint: Checkpoint
    wanted: Wanted
    in_order: bool

    def __post_init__(self) -> None:
        self.engine, self.roots, self.row = self.ida_star.engine, self.many.roots, self.many.row
        self.board: Tiles = tuple(self.roots.boards[self.row].tolist())

    def run(self) -> SearchResult:
        """Search from the threshold on that was begun on the stack."""
        finished = self.many.iterations(self.row)
        started = self.many.began_at + sum(done.seconds for done in finished)
        frontier: Frontier | None = Frontier(self.board, self.stack, self.many.threshold, started)
        # `search_many` has given it the thresholds that this run finished.
        if len(self.checkpoint.finished) > len(finished):
            finished, frontier = self.checkpoint.finished, None
            self.clock.add_earlier(sum(done.seconds for done in finished))
        while True:
            nodes_left = self.clock.most_nodes - sum(done.generated for done in finished)
            if frontier is None:
                threshold = finished[-1].threshold + mem.THRESHOLD_STEP
                if threshold > self.roots.last[self.row]:
                    return self._result(finished)
                if (tiles := self._found_at(threshold, finished[-1])) is not None:
                    return self._result(finished, tiles)
                frontier = self._frontier_of(threshold, finished, nodes_left)
            search = ThresholdSearch(self.ida_star.stacks, frontier, nodes_left, self.wanted)
            search.search(self.stack, self.clock, self.pool)
            if self.in_order and frontier.tiles:
                frontier = self._search_in_order(frontier, nodes_left)
            finished = (*finished, frontier.iteration)
            if frontier.tiles or not frontier.is_empty:
                return self._result(finished, frontier.tiles, frontier)
            self.checkpoint.finish_threshold(finished)
            frontier = None

    def _found_at(self, threshold: int, last: Iteration) -> tuple[int, ...] | None:
        """Return an optimal solution of `threshold` moves found by beams, replayed, or None.

        Raises `Engine.wrong_end` if it is shorter: smaller thresholds have no solution; `WrongAnswerError` if it fails
        its replay.
        """
        engine, report = self.engine, self.clock.report
        if not self.ida_star.uses_beams or self.wanted.finds_all or not is_long(last, engine):
            return None
        if self.checkpoint.has_subtrees(threshold):
            return None  # an earlier run has looked
        at_last = None if report is None else lambda _: report(last)
        # So wide that it takes a small part of the time of the last threshold.
        widest = widest_beam(fitted_size(engine.size.height, engine.size.width).n_cells, threshold, available_memory())
        width = max(1, min(widest, int(last.generated / engine.speed) // engine.tuning.nodes_per_board))
        now = time.perf_counter()
        # Runs with a short limit would otherwise never finish a subtree.
        end = now + (self.clock.end - now) / 2
        search = engine.tuning.beams or find_by_beams
        tiles = search(self.board, engine.goal, engine.size, width, threshold, end, at_last)
        if tiles is not None:
            if len(tiles) != threshold:
                raise engine.wrong_end()
            check_replay(self.board, tiles, engine.goal, engine.size)
        return tiles

    def _frontier_of(self, threshold: int, finished: tuple[Iteration, ...], nodes_left: int) -> Frontier:
        """Begin a threshold: return its frontier, which is divided if that is worth it."""
        self.stack.begin(self.roots, self.row, threshold)
        frontier = Frontier(self.board, self.stack, threshold)
        # Solutions are listed again in each run.
        if self.wanted.listed is not None or not is_long(finished[-1], self.engine):
            return frontier
        divided = divide(self.stack, finished, threshold, nodes_left)
        if divided is not None:
            self.clock.add_earlier(frontier.divide(*divided, self.checkpoint))
        return frontier

    def _search_in_order(self, frontier: Frontier, nodes_left: int) -> Frontier:
        """Find the first solution of a threshold in the order of the textbook. Return what was searched for it.

        Its nodes are exactly those that the textbook generates up to there, unless a limit is reached. Before
        the first goal the textbook searches whole subtrees, and their nodes do not depend on the order.
        """
        while True:
            path = blank_moves_of(self.board, frontier.tiles, self.engine.size)
            paths, n_on_path = paths_before(self.engine, self.board, path)
            self.stack.load(*nodes_below(self.engine, self.board, paths, frontier.threshold))
            before = Frontier(self.board, self.stack, frontier.threshold, frontier.started)
            # The nodes of the path are expanded.
            before.counts[:] = n_on_path, frontier.threshold, 0
            ThresholdSearch(self.ida_star.stacks, before, nodes_left).search(self.stack, self.clock)
            if not before.tiles:
                before.tiles, before.counts[2] = frontier.tiles, 1
                return before
            frontier = before

    def _result(
        self, finished: tuple[Iteration, ...], tiles: tuple[int, ...] = (), frontier: Frontier | None = None
    ) -> SearchResult:
        """Return the result of a search that ended with a solution, in a frontier, or beyond the last threshold."""
        is_left = frontier is not None and not frontier.is_empty
        return SearchResult(
            tiles or None,
            finished,
            self.clock.seconds,
            h=int(self.roots.h[self.row]),
            n_solutions=int(bool(tiles)) if frontier is None else int(frontier.counts[2]),
            is_complete=self.wanted.finds_all and bool(tiles) and not is_left,
            rest=frontier.paths() if frontier is not None and not tiles else None,
        )
