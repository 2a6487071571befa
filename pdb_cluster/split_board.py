"""A hard board: the search tree of each threshold is split into subtrees, which tasks on the cluster search.

                 root
               /  |  \\
              o   o   o           the first task starts at the root; at its limit it returns the subtrees left
             / \\  |  / \\
    paths   a  b  c  d  e         a path, the tiles moved from the root, is all that a worker needs of a subtree
           [a  c  e][b d]         tasks: some subtrees each, dealt in turn, those nearest to the root first
              |      |
           c' e'    found         a task at its limit returns the paths that are left, which are sent again

While the last tasks of a threshold run, those of the next threshold start, so that no worker waits for the slowest
task. Their results count only if the threshold before ends without a solution.
"""

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from pdb_cluster.solve_tasks import Task, Tasks
from pdb_cluster.solve_worker import WorkerTables, search_paths
from pdb_core.puzzle import Tiles
from solver.engine.search_result import SearchResult
from solver.progress import Iteration, Limits

# Intended number of running tasks of one board, per thread of the cluster.
_TASKS_PER_THREAD = 3
# Limits of a task, which then returns what is left. A board that takes more nodes is split.
MOST_NODES, _TASK_S = 20_000_000, 0.5
# Limit of the first task of a threshold, which suits the overhead of Dask of some milliseconds per task.
_FIRST_NODES = 2_000_000


@dataclass
class _Threshold:
    """Threshold under way: when it began, its nodes so far, the solution if one is found, its tasks."""

    bound: int
    start: float
    generated: int
    expanded: int
    tiles: tuple[int, ...] | None = None
    tasks: set[Task] = field(default_factory=set)

    @property
    def iteration(self) -> Iteration:
        return Iteration(self.bound, self.generated, self.expanded, time.perf_counter() - self.start)


class SplitBoard:
    """Search of one board, in the terms of the tables, by tasks. It continues a search that reached a limit."""

    def __init__(
        self,
        tasks: Tasks,
        tables: WorkerTables,
        board: Tiles,
        paused: SearchResult,
        limits: Limits,
    ) -> None:
        self._tasks, self._tables, self._board, self._limits = tasks, tables, board, limits
        self._h = paused.h
        *self._finished, begun = paused.iterations
        self._start = time.perf_counter() - paused.seconds
        self._current = _Threshold(
            begun.threshold, time.perf_counter() - begun.seconds, begun.generated, begun.expanded
        )
        self._next: _Threshold | None = None
        self.is_over = False
        if not self.check_limits():
            self._send_left(self._current, paused.rest)
            self._continue()

    @property
    def iteration(self) -> Iteration:
        """The threshold under way."""
        return self._current.iteration

    @property
    def generated(self) -> int:
        """Nodes of all thresholds up to the one under way."""
        return self._current.generated + sum(iteration.generated for iteration in self._finished)

    @property
    def result(self) -> SearchResult:
        """The result, once the search is over."""
        tiles = self._current.tiles
        iterations = (*self._finished, self.iteration)
        seconds = time.perf_counter() - self._start
        return SearchResult(tiles, iterations, seconds, h=self._h, n_solutions=int(tiles is not None))

    def check_limits(self) -> bool:
        """End the search if a limit is reached. Return whether it is over."""
        limits = self._limits
        too_many = limits.nodes is not None and self.generated >= limits.nodes
        too_long = limits.seconds is not None and time.perf_counter() - self._start >= limits.seconds
        if too_many or too_long:
            self._end()
        return self.is_over

    def _end(self) -> None:
        self.is_over = True
        self._tasks.cancel(self._current.tasks)
        if self._next is not None:
            self._tasks.cancel(self._next.tasks)

    def _send_left(self, threshold: _Threshold, paths: Sequence[bytes]) -> None:
        """Send subtrees, the largest first: as one task, or dealt to several if few tasks are under way."""
        n = min(len(paths), max(1, _TASKS_PER_THREAD * self._tasks.n_threads() - len(threshold.tasks)))
        self._send(threshold, [tuple(paths[first::n]) for first in range(n)])

    def _send(self, threshold: _Threshold, groups: Sequence[tuple[bytes, ...]], max_nodes: int | None = None) -> None:
        threshold.tasks.update(
            self._tasks.submit(
                search_paths,
                groups,
                functools.partial(self._take, threshold),
                # Before the tasks of the next threshold and of other boards, even if it is sent later.
                priority=1 if threshold is self._current else 0,
                tables=self._tables,
                board=self._board,
                threshold=threshold.bound,
                max_nodes=max_nodes or MOST_NODES,
                max_seconds=_TASK_S,
            )
        )

    def _take(self, threshold: _Threshold, task: Task, found: SearchResult) -> None:
        """Handle the result of a task."""
        threshold.tasks.remove(task)
        threshold.generated += found.generated
        threshold.expanded += found.expanded
        if found.tiles is not None:
            threshold.tiles = found.tiles
            self._tasks.cancel(threshold.tasks)
            threshold.tasks.clear()
        else:
            self._send_left(threshold, found.rest)
        self._continue()

    def _continue(self) -> None:
        """End the search, or start the next threshold, if it is time."""
        while not self.check_limits():
            current = self._current
            if current.tiles is not None:
                self._end()
                return
            if self._next is None and len(current.tasks) < _TASKS_PER_THREAD * self._tasks.n_threads():
                self._next = self._start_after(current)
            if current.tasks or self._next is None:
                return
            self._finished.append(current.iteration)
            self._current, self._next = self._next, None
            # The seconds of all thresholds then add up to those of the search.
            self._current.start = time.perf_counter()

    def _start_after(self, last: _Threshold) -> _Threshold:
        """Return the threshold after `last`. A task searches it from the root on, up to a limit, and returns the
        subtrees that are left.
        """
        begun = _Threshold(last.bound + 2, time.perf_counter(), 0, 0)
        self._send(begun, [(b"",)], _FIRST_NODES)
        return begun
