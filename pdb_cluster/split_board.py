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
from collections.abc import Callable, Sequence
from dataclasses import replace

from pdb_cluster.tasks import TASKS_PER_THREAD, Task, Tasks
from solver.engine.layout import THRESHOLD_STEP
from solver.engine.result import SearchResult
from solver.progress import Iteration, Limits

# Time limit of a task, which then returns what is left.
_TASK_S = 0.5


class SplitBoard:
    """Search of one board, in the terms of the tables, by tasks. It continues a search that reached a limit."""

    def __init__(
        self,
        tasks: Tasks,
        search: Callable[..., SearchResult],
        paused: SearchResult,
        limits: Limits,
        task_nodes: int,
    ) -> None:
        """`search` is `search_paths` of the board."""
        self._tasks, self._search, self._limits, self._task_nodes = tasks, search, limits, task_nodes
        self._found = paused
        now = time.perf_counter()
        self._start, self._begun = now - paused.seconds, now - paused.thresholds[-1].seconds
        self._under_way: set[Task] = set()
        self.is_over = False
        if not self.check_limits():
            self._send_left(paused.rest)
            self._continue()

    @property
    def iteration(self) -> Iteration:
        """The threshold under way."""
        return replace(self._found.thresholds[-1], seconds=time.perf_counter() - self._begun)

    @property
    def result(self) -> SearchResult:
        """The result so far, of all thresholds up to the one under way."""
        thresholds = (*self._found.thresholds[:-1], self.iteration)
        return replace(self._found, thresholds=thresholds, seconds=time.perf_counter() - self._start)

    def check_limits(self) -> bool:
        """End the search if a limit is reached. Return whether it is over."""
        limits = self._limits
        too_many = limits.max_nodes is not None and self._found.generated >= limits.max_nodes
        too_long = limits.time_limit is not None and time.perf_counter() - self._start >= limits.time_limit
        if too_many or too_long:
            self._end()
        return self.is_over

    def _end(self) -> None:
        self.is_over = True
        self._tasks.cancel(self._under_way)

    def _send_left(self, paths: Sequence[bytes] | None) -> None:
        """Send subtrees, the largest first: as one task, or dealt to several if few tasks are under way.

        Raises `ValueError` if what is left is not known: the threshold would seem to be finished.
        """
        if paths is None:
            raise ValueError("a paused search has no rest")
        n = min(len(paths), max(1, TASKS_PER_THREAD * self._tasks.n_threads() - len(self._under_way)))
        # The first task of a threshold ends early, as the overhead of Dask of some milliseconds per task allows.
        max_nodes = self._task_nodes // 10 if paths == [b""] else self._task_nodes
        for dealt in [tuple(paths[first::n]) for first in range(n)]:
            task = self._tasks.submit(
                self._search,
                dealt,
                self._take,
                priority=1,  # before tasks of whole boards
                threshold=self.iteration.threshold,
                max_nodes=max_nodes,
                max_seconds=_TASK_S,
            )
            self._under_way.add(task)

    def _take(self, task: Task, found: SearchResult) -> None:
        """Handle the result of a task."""
        self._under_way.remove(task)
        *finished, at = self._found.thresholds
        at = replace(at, generated=at.generated + found.generated, expanded=at.expanded + found.expanded)
        is_solved = found.moves is not None
        self._found = replace(self._found, moves=found.moves, thresholds=(*finished, at), n_solutions=int(is_solved))
        if is_solved:
            self._end()
        else:
            self._send_left(found.rest)
            self._continue()

    def _continue(self) -> None:
        """Start the next threshold if this one is searched. Its first task starts at the root."""
        if not self.check_limits() and not self._under_way:
            next_one = Iteration(self.iteration.threshold + THRESHOLD_STEP, 0, 0, 0.0)
            self._found = replace(self._found, thresholds=(*self.result.thresholds, next_one))
            self._begun = time.perf_counter()
            self._send_left([b""])
