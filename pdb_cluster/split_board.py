"""A board that is too hard for one task: its thresholds, each split into subtrees that any worker may search.

While the last tasks of a threshold run, those of the next are begun: no worker waits for the slowest. What they find
counts once the threshold before has ended without a solution, and is thrown away if it ends with one.
"""

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pdb_cluster.solve_tasks import Tasks
from pdb_cluster.solve_worker import WorkerTables, search_part
from pdb_core.puzzle import Board
from pdb_query import Database
from pdb_query.lookup import Int64s
from solver.engine.search_result import SearchResult
from solver.engine.subtrees import LowerBounds, upper_tree
from solver.move_pruning.move_pruning import fsm_for
from solver.progress import Iteration, Limits

# A threshold takes so many times the nodes of the one before, as a guess.
_GROWTH = 6


@dataclass(frozen=True)
class PartSizes:
    """How work is cut up. The defaults are for Dask's overhead of some milliseconds a task.

    board_s, board_nodes  a board that takes more is split
    lone_board_s          the same where there are fewer boards than threads
    chunk_s               what a task of several boards should take
    part_s, part_nodes    a task of subtrees that takes more returns what is left
    thread_part_s         the same for each thread of a small cluster, at least `least_part_s`: short tasks balance
                          better, and few threads do not keep the scheduler busy
    task_nodes            the nodes that a task of subtrees should have
    n_prefixes            the most subtrees that a threshold is split into beforehand, for small and for any clusters:
                          each is some 0.1 ms of the client
    thread_prefixes       in between, the most for each thread
    prefix_nodes          the nodes that each of them should have
    """

    board_s: float = 1.0
    lone_board_s: float = 0.1
    board_nodes: int = 20_000_000
    chunk_s: float = 0.25
    part_s: float = 1.0
    thread_part_s: float = 0.005
    least_part_s: float = 0.25
    part_nodes: int = 20_000_000
    task_nodes: int = 2_000_000
    n_prefixes: tuple[int, int] = 512, 4096
    thread_prefixes: int = 128
    prefix_nodes: int = 20_000


@dataclass
class _Threshold:
    """A threshold under way: when it was begun, or has begun to count, by `time.perf_counter`; the nodes so far; the
    keys of its tasks; and a solution as soon as one is found.
    """

    bound: int
    start: float
    generated: int
    expanded: int
    tiles: tuple[int, ...] | None = None
    keys: set[str] = field(default_factory=set)

    @property
    def iteration(self) -> Iteration:
        return Iteration(self.bound, self.generated, self.expanded, time.perf_counter() - self.start)


class SplitBoard:
    """Searches one board, in the terms of the tables, by tasks; it begins where a search of it was paused."""

    def __init__(
        self,
        tasks: Tasks,
        databases: Sequence[Database],
        tables: WorkerTables,
        board: Board,
        paused: SearchResult,
        limits: Limits,
        sizes: PartSizes,
    ) -> None:
        self._tasks, self._databases, self._tables = tasks, databases, tables
        self._board, self._limits, self._sizes = board, limits, sizes
        self._fsm = fsm_for(databases[0].size, plain=tables.plain)
        self._h = paused.h
        *finished, begun = paused.iterations
        self._finished = list(finished)
        self._start = time.perf_counter() - paused.seconds
        self._current = _Threshold(
            begun.threshold, time.perf_counter() - begun.seconds, begun.generated, begun.expanded
        )
        self._next: _Threshold | None = None
        self.is_over = False
        self.busy_s = 0.0  # that workers have searched
        self._deal_out(self._current, paused.rest)
        self._go_on()

    @property
    def iteration(self) -> Iteration:
        """Where the threshold stands."""
        return self._current.iteration

    @property
    def generated(self) -> int:
        """Nodes of all thresholds, up to the one that counts now."""
        return self._current.generated + sum(iteration.generated for iteration in self._finished)

    @property
    def result(self) -> SearchResult:
        """What was found: once it is over."""
        tiles = self._current.tiles
        iterations = (*self._finished, self.iteration)
        seconds = time.perf_counter() - self._start
        return SearchResult(tiles, iterations, seconds, h=self._h, n_solutions=int(tiles is not None))

    def check_limits(self) -> bool:
        """To be called now and then: ends the search where a limit is reached. Whether it is over."""
        too_many = self._limits.nodes is not None and self.generated >= self._limits.nodes
        too_long = self._limits.seconds is not None and time.perf_counter() - self._start >= self._limits.seconds
        if not self.is_over and (too_many or too_long):
            self._end()
        return self.is_over

    def _end(self) -> None:
        self.is_over = True
        self._cancel(self._current)
        if self._next is not None:
            self._cancel(self._next)

    def _cancel(self, threshold: _Threshold) -> None:
        self._tasks.cancel(list(threshold.keys))
        threshold.keys.clear()

    def _deal_out(self, threshold: _Threshold, paths: Sequence[bytes]) -> None:
        """Send subtrees of which the first are the largest to the cluster: in one task, or, where few are under way,
        dealt out among some.
        """
        n = min(len(paths), max(1, 3 * self._tasks.n_threads() - len(threshold.keys)))
        self._send(threshold, [tuple(paths[first::n]) for first in range(n)])

    def _deal_in_order(self, threshold: _Threshold, paths: Sequence[bytes], n_tasks: int) -> None:
        """Send subtrees of which the first are the best to the cluster: in so many tasks of neighbours."""
        n = max(1, -(-len(paths) // n_tasks))
        self._send(threshold, [tuple(paths[first : first + n]) for first in range(0, len(paths), n)])

    def _send(self, threshold: _Threshold, groups: Sequence[tuple[bytes, ...]]) -> None:
        if not groups:
            return
        sizes = self._sizes
        threshold.keys |= set(
            self._tasks.submit(
                search_part,
                groups,
                functools.partial(self._take, threshold),
                # What is left of this threshold before all of the next, and of other boards, however late it is sent.
                priority=1 if threshold is self._current else 0,
                tables=self._tables,
                board=self._board,
                threshold=threshold.bound,
                max_nodes=sizes.part_nodes,
                max_seconds=min(sizes.part_s, max(sizes.least_part_s, sizes.thread_part_s * self._tasks.n_threads())),
            )
        )

    def _take(self, threshold: _Threshold, key: str, part: SearchResult) -> None:
        """A task is done."""
        threshold.keys.discard(key)
        threshold.generated += part.generated
        threshold.expanded += part.expanded
        self.busy_s += part.seconds
        if part.tiles is not None:
            threshold.tiles = part.tiles
            self._cancel(threshold)
        else:
            self._deal_out(threshold, part.rest)
        self._go_on()

    def _go_on(self) -> None:
        """End the search, or begin the next threshold, where it is time to."""
        while not self.is_over and not self.check_limits():
            current = self._current
            if current.tiles is not None:
                self._end()
                return
            if self._next is None and len(current.keys) < 3 * self._tasks.n_threads():
                self._next = self._begin_after(current)
            if current.keys or self._next is None:
                return
            self._finished.append(current.iteration)
            self._current, self._next = self._next, None
            # So that the seconds of all thresholds are those of the search.
            self._current.start = time.perf_counter()

    def _begin_after(self, last: _Threshold) -> _Threshold:
        """The threshold after `last`, its upper part searched and its subtrees sent."""
        bound, sizes, n_threads = last.bound + 2, self._sizes, self._tasks.n_threads()
        # The same on all small clusters: when the answer is met depends on the order of the subtrees.
        least, most = sizes.n_prefixes
        most = min(most, max(least, sizes.thread_prefixes * n_threads))
        n_wanted = min(most, max(64, _GROWTH * last.generated // sizes.prefix_nodes))
        first = self._databases[0]
        upper = upper_tree(
            self._board,
            first.goal,
            first.size,
            bound,
            self._fsm,
            lower_bounds_by(self._databases),
            # The subtrees at the first depth that has enough of them.
            lambda _depth, h: np.full(len(h), len(h) < n_wanted),
        )
        begun = _Threshold(bound, time.perf_counter(), upper.generated, upper.expanded, upper.tiles)
        if upper.tiles is None:
            n_tasks = max(8 * n_threads, _GROWTH * last.generated // sizes.task_nodes)
            self._deal_in_order(begun, upper.rest, n_tasks)
        return begun


def lower_bounds_by(databases: Sequence[Database]) -> LowerBounds:
    """Return bounds for `upper_tree`: h is the largest sum of all databases; equals are ordered by all sums."""

    def lower_bounds(boards: npt.NDArray[np.uint8]) -> tuple[Int64s, Int64s]:
        h, sums = np.zeros(len(boards), dtype=np.int64), np.zeros(len(boards), dtype=np.int64)
        for database in databases if len(boards) else ():
            batch = database.probe_batch(boards, databases[0].goal)
            np.maximum(h, batch.maximum, out=h)
            sums += batch.sums.sum(axis=1)
        return h, sums

    return lower_bounds
