"""A hard board: the search tree of each threshold is split into subtrees, which tasks on the cluster search.

                 root
               /  |  \\
              o   o   o           the first task starts at the root; at its limit it returns the subtrees left
             / \\  |  / \\
    paths   a  b  c  d  e         a path, the blank's moves from the root, is all that a worker needs of a subtree
           [a  c  e][b d]         tasks: some subtrees each, dealt in turn, those nearest to the root first
              |      |
           c' e'    found         a task at its limit returns the paths that are left, which are sent again

A threshold begins when the one before has ended. Meanwhile, the workers have tasks of another board.
"""

import time
from collections.abc import Sequence

from pdb_cluster.tasks import Task, Tasks
from pdb_cluster.worker import WorkerTables, search_paths
from pdb_core.puzzle import Tiles
from solver.engine.result import SearchResult
from solver.progress import Iteration, Limits

# Intended number of running tasks of one board, per thread of the cluster.
_TASKS_PER_THREAD = 3
# Limits of a task, which then returns what is left. A board that takes more nodes is split.
MOST_NODES, _TASK_S = 20_000_000, 0.5
# Limit of the first task of a threshold, which suits the overhead of Dask of some milliseconds per task.
_FIRST_NODES = 2_000_000


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
        now = time.perf_counter()
        self._start = now - paused.seconds
        *self._finished, begun = paused.thresholds
        self._threshold, self._generated, self._expanded = begun.threshold, begun.generated, begun.expanded
        self._begun = now - begun.seconds
        self._solution: tuple[int, ...] | None = None
        self._under_way: set[Task] = set()
        self.is_over = False
        if not self.check_limits():
            self._send_left(paused.rest)
            self._continue()

    @property
    def iteration(self) -> Iteration:
        """The threshold under way."""
        return Iteration(self._threshold, self._generated, self._expanded, time.perf_counter() - self._begun)

    @property
    def generated(self) -> int:
        """Nodes of all thresholds up to the one under way."""
        return self._generated + sum(iteration.generated for iteration in self._finished)

    @property
    def result(self) -> SearchResult:
        """The result, once the search is over."""
        iterations = (*self._finished, self.iteration)
        seconds = time.perf_counter() - self._start
        return SearchResult(self._solution, iterations, seconds, h=self._h, n_solutions=int(self._solution is not None))

    def check_limits(self) -> bool:
        """End the search if a limit is reached. Return whether it is over."""
        limits = self._limits
        too_many = limits.max_nodes is not None and self.generated >= limits.max_nodes
        too_long = limits.time_limit is not None and time.perf_counter() - self._start >= limits.time_limit
        if too_many or too_long:
            self._end()
        return self.is_over

    def _end(self) -> None:
        self.is_over = True
        self._tasks.cancel(self._under_way)

    def _send_left(self, paths: Sequence[bytes] | None, max_nodes: int | None = None) -> None:
        """Send subtrees, the largest first: as one task, or dealt to several if few tasks are under way.

        Raises `ValueError` if what is left is not known: the threshold would seem to be finished.
        """
        if paths is None:
            raise ValueError("a paused search has no rest")
        n = min(len(paths), max(1, _TASKS_PER_THREAD * self._tasks.n_threads() - len(self._under_way)))
        self._under_way.update(
            self._tasks.submit(
                search_paths,
                [tuple(paths[first::n]) for first in range(n)],
                self._take,
                priority=1,  # before tasks of whole boards
                tables=self._tables,
                board=self._board,
                threshold=self._threshold,
                max_nodes=max_nodes or MOST_NODES,
                max_seconds=_TASK_S,
            )
        )

    def _take(self, task: Task, found: SearchResult) -> None:
        """Handle the result of a task."""
        self._under_way.remove(task)
        self._generated += found.generated
        self._expanded += found.expanded
        if found.moves is not None:
            self._solution = found.moves
            self._end()
        else:
            self._send_left(found.rest)
            self._continue()

    def _continue(self) -> None:
        """Start the next threshold if this one is searched. Its first task starts at the root."""
        if not self.check_limits() and not self._under_way:
            self._finished.append(self.iteration)
            self._threshold, self._generated, self._expanded = self._threshold + 2, 0, 0
            self._begun = time.perf_counter()
            self._send_left([b""], _FIRST_NODES)
