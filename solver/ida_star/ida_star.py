"""IDA* with additive databases: thresholds from the root's h upwards, each searched by the kernel in slices.

Between slices Python is in charge: that is when limits are checked, progress is told and Ctrl-C is heard.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdb_core.lookup import Int64s
from pdb_core.lookup_kernels import probe_boards
from pdb_core.puzzle import Board, BoardSize
from solver.ida_star.crew import Crew
from solver.ida_star.ida_star_kernels import FOUND, PAUSED, search_small_thresholds, start_at_root
from solver.ida_star.search_tables import (
    EXPANDED,
    GENERATED,
    VALUE_SHIFT,
    Heuristic,
    Lanes,
    SearchTables,
    empty_lanes,
    put_root,
    search_tables,
)
from solver.ida_star.subtrees import paths_left
from solver.ida_star.threshold import LanesSearch, Listed, Stacks, ThresholdSearch, path_to_goal
from solver.move_pruning.move_pruning import MoveMachine
from solver.progress import Iteration, Limits, Report
from solver.solution import Solution, replay

# Thresholds above the root's h that the stacks have room for; they grow when a board takes more.
_THRESHOLD_ROOM = 24
# Nodes that the first thresholds may have together to be searched in one call: some 3 ms.
_SMALL_NODES = 50_000


@dataclass(frozen=True)
class SearchResult:
    """What IDA* found. `tiles` are the tiles moved, in order; None where a limit was reached first.

    n_solutions  shortest solutions found; all there are, where all were asked for and `is_complete`
    rest         where a limit was reached without a crew: the subtrees of the last threshold that are left, see
                 `subtrees`
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
    """What IDA* found, `tiles` in the terms of the board, replayed. Raises `WrongAnswerError`."""
    if tiles is not None:
        replay(board, tiles, goal, size)
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


class IdaStar:
    """IDA* with the largest of all sums of some databases, for the goal of the first; the first sums prune what they
    can, then the others are asked. Any number of threads may call `search` at the same time.
    """

    def __init__(
        self, size: BoardSize, heuristics: Sequence[Heuristic], machine: MoveMachine, *, orders_children: bool
    ) -> None:
        self.size = size
        self.goal: Board = tuple(heuristics[0].tables.goal.tolist())
        self._heuristics = tuple(heuristics)  # also keeps the tables' memory, which the kernel reads by its addresses
        self._tables = search_tables(size, heuristics, machine, orders_children=orders_children)

    @property
    def tables(self) -> SearchTables:
        """What the kernels search with."""
        return self._tables

    def search(
        self,
        board: Board,
        limits: Limits | None = None,
        report: Report | None = None,
        crew: Crew | None = None,
        *,
        finds_all: bool = False,
        listed: Listed | None = None,
    ) -> SearchResult:
        """A shortest solution of `board`, which must be solvable.

        `report` is called after every slice of a threshold. Thresholds that take longer than one are offered to `crew`.
        Where `finds_all`, the last threshold is searched to its end; all shortest solutions are counted, and `listed`
        is called with each. The machine must then be one that keeps equals.
        """
        start = time.perf_counter()
        limits = limits or Limits()
        words, sums = self.words_and_sums(board)
        h = int(sums.max())
        if board == self.goal:
            if listed is not None:
                listed(())
            return SearchResult((), 1, True, 0, (), time.perf_counter() - start)

        # Step 1. Thresholds of some thousand nodes, several in one call: Python takes as long as a thousand nodes.
        max_depth = h + _THRESHOLD_ROOM
        lanes = self._lanes_at_root(board, words, sums, max_depth)
        n_nodes = 0 if finds_all else min(_SMALL_NODES, _SMALL_NODES if limits.nodes is None else limits.nodes)
        status, finished = _search_small_thresholds(self._tables, lanes, h, n_nodes)
        if report is not None:
            for iteration in finished:
                report(iteration)
        if status == FOUND:
            path = path_to_goal(self._tables, lanes)
            return SearchResult(path, 1, False, h, tuple(finished), time.perf_counter() - start)

        # Step 2. Larger ones, in slices and by any number of threads. The first has been begun.
        while True:
            # All solutions of a board have the same parity, and so have its sums; so have the thresholds.
            threshold = h + 2 * len(finished)
            nodes_left = None if limits.nodes is None else limits.nodes - sum(at.generated for at in finished)
            search = LanesSearch(self._tables, threshold, max_depth, nodes_left, finds_all=finds_all, listed=listed)
            iteration = search_threshold(search, lanes, limits, start, report, crew)
            finished.append(iteration)
            if search.status in (FOUND, PAUSED):
                tiles = search.tiles if search.n_solutions else None
                is_complete = finds_all and search.status == FOUND
                rest = paths_left(self._tables, lanes) if search.status == PAUSED and crew is None else ()
                return SearchResult(
                    tiles, search.n_solutions, is_complete, h, tuple(finished), time.perf_counter() - start, rest
                )
            if threshold + 2 > max_depth:
                max_depth = threshold + _THRESHOLD_ROOM
                lanes = self._lanes_at_root(board, words, sums, max_depth)
            start_at_root(self._tables, lanes)

    def load_kernels(self, board: Board) -> None:
        """Load or compile all kernels of `search`, also those that only long thresholds and helping threads use, on a
        solvable board one move from the goal.
        """
        self.search(board)
        lanes = self._lanes_at_root(board, *self.words_and_sums(board), _THRESHOLD_ROOM)
        start_at_root(self._tables, lanes)
        LanesSearch(self._tables, 1, _THRESHOLD_ROOM, None).load_kernels(lanes)

    def _lanes_at_root(self, board: Board, words: Int64s, sums: Int64s, max_depth: int) -> Lanes:
        """Stacks for paths of up to `max_depth` moves, the root in the first row."""
        lanes = empty_lanes(self._tables, max_depth)
        put_root(self._tables, lanes, board, words, sums)
        return lanes

    def words_and_sums(self, board: Board) -> tuple[Int64s, Int64s]:
        """The words of all units at `board`, and the sums."""
        words, sums = [], []
        rows = np.array([board], dtype=np.uint8)
        for heuristic in self._heuristics:
            tables, views = heuristic
            shape = (1, *views.view_of_unit.shape)
            masks, labels = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
            values = np.empty(shape, dtype=np.uint8)
            probe_boards(rows, tables, views, masks, labels, values)
            distances = values[0].astype(np.int64)
            states = masks[0] | (labels[0] << self.size.n_cells) | (distances << VALUE_SHIFT)
            for s, patterns in heuristic.sums():
                words.append(states[s, patterns])
                sums.append(distances[s, patterns].sum())
        return np.concatenate(words), np.array(sums, dtype=np.int64)


def _search_small_thresholds(tables: SearchTables, lanes: Lanes, h: int, n_nodes: int) -> tuple[int, list[Iteration]]:
    """Search thresholds from `h` on in one call of the kernel. Returns FOUND or PAUSED, and those that are over.

    The seconds are shared out among the thresholds by their nodes.
    """
    start = time.perf_counter()
    counts = np.empty((_THRESHOLD_ROOM // 2, 2), dtype=np.int64)
    status, n_finished = search_small_thresholds(tables, lanes, h, n_nodes, counts)
    rows = counts[:n_finished].tolist()
    last = [int(lanes.counters[GENERATED]), int(lanes.counters[EXPANDED])]
    seconds_per_node = (time.perf_counter() - start) / (sum(generated for generated, _ in rows) + last[0])
    if status == FOUND:
        rows.append(last)
    return status, [
        Iteration(h + 2 * i, generated, expanded, generated * seconds_per_node)
        for i, (generated, expanded) in enumerate(rows)
    ]


def search_threshold(
    search: ThresholdSearch[Stacks],
    stacks: Stacks,
    limits: Limits,
    start: float,
    report: Report | None,
    crew: Crew | None,
) -> Iteration:
    """Search a threshold from where `stacks` stand to its end or a limit; `start` is when the seconds began."""
    started = time.perf_counter()

    def standing() -> Iteration:
        return Iteration(search.threshold, search.generated, search.expanded, time.perf_counter() - started)

    def goes_on() -> bool:
        if report is not None:
            report(standing())
        return limits.seconds is None or time.perf_counter() - start < limits.seconds

    try:
        search.search(stacks, goes_on, None if crew is None else lambda: crew.offer(search))
    finally:
        if crew is not None:
            crew.withdraw(search)
    return standing()
