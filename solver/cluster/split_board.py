"""A board that is too hard for one task: its thresholds, each split into subtrees that any worker may search."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pdb_core.puzzle import Board
from pdb_query import Database
from solver.cluster.prefixes import Prefixes, prefixes_of
from solver.cluster.tasks import Tasks
from solver.cluster.worker import WorkerTables, search_part
from solver.ida_star.ida_star import SearchResult
from solver.ida_star.subtrees import SubtreesResult
from solver.move_pruning.move_pruning import DEFAULT_LENGTH, UNDO_LENGTH, move_machine
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
        self._machine = move_machine(UNDO_LENGTH if tables.plain else DEFAULT_LENGTH)
        self._h = paused.h
        *finished, begun = paused.iterations
        self._finished = list(finished)
        self._start = time.perf_counter() - paused.seconds
        self._keys: set[str] = set()
        self._tiles: tuple[int, ...] | None = None
        self._threshold = begun.threshold
        self._generated, self._expanded = begun.generated, begun.expanded
        self._threshold_start = time.perf_counter() - begun.seconds
        self._next: Prefixes | None = None
        self.is_over = False
        self.busy_s = 0.0  # that workers have searched
        self._deal(paused.rest)
        self._end_of_threshold()

    @property
    def iteration(self) -> Iteration:
        """Where the threshold stands."""
        seconds = time.perf_counter() - self._threshold_start
        return Iteration(self._threshold, self._generated, self._expanded, seconds)

    @property
    def generated(self) -> int:
        """Nodes of all thresholds."""
        return self._generated + sum(iteration.generated for iteration in self._finished)

    @property
    def result(self) -> SearchResult:
        """What was found: once it is over."""
        n_solutions = 0 if self._tiles is None else 1
        iterations = (*self._finished, self.iteration)
        return SearchResult(self._tiles, n_solutions, False, self._h, iterations, time.perf_counter() - self._start)

    def check_limits(self) -> bool:
        """To be called now and then: ends the search where a limit is reached. Whether it is over."""
        too_many = self._limits.nodes is not None and self.generated >= self._limits.nodes
        too_long = self._limits.seconds is not None and time.perf_counter() - self._start >= self._limits.seconds
        if not self.is_over and (too_many or too_long):
            self._end()
        return self.is_over

    def _end(self, tiles: tuple[int, ...] | None = None) -> None:
        self._tiles = tiles
        self.is_over = True
        self._tasks.cancel(list(self._keys))
        self._keys.clear()

    def _deal(self, paths: Sequence[bytes], n_tasks: int | None = None) -> None:
        """Send subtrees to the cluster: in so many tasks of neighbours, or else, where the first are the largest, dealt
        out among a few.
        """
        sizes, n_threads = self._sizes, self._tasks.n_threads()
        if n_tasks is None:
            n = min(len(paths), 2 * n_threads)
            groups = [tuple(paths[first::n]) for first in range(n)]
        else:
            n = max(1, -(-len(paths) // n_tasks))
            groups = [tuple(paths[first : first + n]) for first in range(0, len(paths), n)]
        if groups:
            self._keys |= set(
                self._tasks.submit(
                    search_part,
                    groups,
                    self._take,
                    tables=self._tables,
                    board=self._board,
                    threshold=self._threshold,
                    max_nodes=sizes.part_nodes,
                    max_seconds=min(sizes.part_s, max(sizes.least_part_s, sizes.thread_part_s * n_threads)),
                )
            )

    def _take(self, key: str, part: SubtreesResult) -> None:
        """A task is done."""
        self._keys.discard(key)
        self._generated += part.generated
        self._expanded += part.expanded
        self.busy_s += part.seconds
        if part.tiles is not None:
            self._end(part.tiles)
            return
        self._deal(part.rest)
        self.check_limits()
        if len(self._keys) < 3 * self._tasks.n_threads() and self._next is None and not self.is_over:
            # While the last tasks of this threshold run.
            self._next = self._prefixes(self._threshold + 2, self._generated)
        self._end_of_threshold()

    def _prefixes(self, threshold: int, n_before: int) -> Prefixes:
        """The upper part of a threshold, where the one before has so many nodes."""
        # The same on all small clusters: when the answer is met depends on the order of the subtrees.
        least, most = self._sizes.n_prefixes
        most = min(most, max(least, self._sizes.thread_prefixes * self._tasks.n_threads()))
        n_wanted = min(most, max(64, _GROWTH * n_before // self._sizes.prefix_nodes))
        return prefixes_of(self._board, threshold, n_wanted, self._databases, self._machine)

    def _end_of_threshold(self) -> None:
        """Begin the next threshold where all of this one was searched."""
        while not self._keys and not self.is_over:
            last = self.iteration
            self._finished.append(last)
            self._threshold += 2
            self._threshold_start = time.perf_counter()
            prefixes, self._next = self._next or self._prefixes(self._threshold, last.generated), None
            self._generated, self._expanded = prefixes.generated, prefixes.expanded
            if prefixes.tiles is not None:
                self._end(prefixes.tiles)
                return
            if self.check_limits():
                return
            n_tasks = max(8 * self._tasks.n_threads(), _GROWTH * last.generated // self._sizes.task_nodes)
            self._deal(prefixes.paths, n_tasks)
