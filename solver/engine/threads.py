"""One threshold of one board, searched by the thread that owns the board and by idle workers (work stealing).

Each thread has a stack. When that is empty, it takes the next subtree of the frontier. If none is left, it pauses the
others, and one of them gives it every second node of its stack. The threads' nodes are disjoint, so a threshold that is
searched to its end has the same nodes on any number of threads. An exception in any thread ends the search, and is
raised by the owner.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, RLock

from solver.engine import layout as mem
from solver.engine.frontier import Frontier
from solver.engine.stack import Stack, StackPool
from solver.engine.worker_pool import WorkerPool
from solver.progress import Clock

# Seconds between two looks at the limits by a thread without nodes.
_WAIT_S = 0.05


@dataclass(frozen=True)
class Wanted:
    """What a search is to return.

    finds_all  the number of all optimal solutions: the last threshold is searched to its end
    listed     is called with the tiles of each of them, one at a time, by the thread that finds it
    """

    finds_all: bool = False
    listed: Callable[[tuple[int, ...]], None] | None = None


ONE_SOLUTION = Wanted()


class ThresholdSearch:
    """Search of a frontier. The owner calls `search`, workers call `help`, each in its own thread."""

    def __init__(self, stacks: StackPool, frontier: Frontier, max_nodes: int, wanted: Wanted = ONE_SOLUTION) -> None:
        """`max_nodes` of this threshold."""
        self._stacks, self._frontier, self._max_nodes, self._wanted = stacks, frontier, max_nodes, wanted
        # Not `with Condition()`: an interrupt that comes while a thread waits for it would leave it locked.
        self._lock = RLock()
        self._changed = Condition(self._lock)
        # The stacks of all threads, and those that are empty.
        self._in_use: set[Stack] = set()
        self._waiting: deque[Stack] = deque()
        self._error: BaseException | None = None
        self.is_over = False

    def search(self, stack: Stack, clock: Clock, pool: WorkerPool | None = None) -> None:
        """Search to the end or a limit.

        The clock is asked every fraction of a second. Workers of `pool` help from the second slice on. Raises what the
        report, `listed` or the search raise, in whichever thread.
        """
        self._in_use.add(stack)
        try:
            is_offered = False
            if self._is_done:
                self._end()
            while not self.is_over:
                if self._has_nodes(stack, _WAIT_S):
                    self._search_slice(stack)
                    if pool is not None and not is_offered and not self.is_over:
                        pool.offer(self)
                        is_offered = True
                if not self.is_over and clock.is_over(self._frontier.iteration):
                    self._end()
            self._note_rest(stack)
        except BaseException as error:
            self._fail(error)
        finally:
            # An interrupt may have come before `_fail` was through.
            self.is_over = True
            self._end()
            if pool is not None:
                pool.withdraw(self)
            self._leave(stack)
            with self._lock:
                self._changed.wait_for(lambda: not self._in_use)
        self._raise_error()

    @property
    def _is_done(self) -> bool:
        frontier = self._frontier
        is_solved = bool(frontier.tiles) and not self._wanted.finds_all
        return is_solved or frontier.is_empty or frontier.generated >= self._max_nodes

    def _raise_error(self) -> None:
        """Raise the error that ended the search, if any. It is not kept: its traceback holds this search."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error

    def help(self) -> None:
        """Search nodes of others until the threshold is over."""
        try:
            stack = self._stacks.take()
        except BaseException as error:
            self._fail(error)
            return
        with self._lock:
            if self.is_over:
                self._stacks.give_back(stack)
                return
            self._in_use.add(stack)
        try:
            while self._has_nodes(stack):
                self._search_slice(stack)
            self._note_rest(stack)
            # Before the owner may return: it raises what fails here. After an error nothing is used again.
            self._stacks.give_back(stack)
        except BaseException as error:
            self._fail(error)
        finally:
            self._leave(stack)

    def _has_nodes(self, stack: Stack, timeout: float = math.inf) -> bool:
        """Wait until a stack has nodes. Returns False if it has none in time, or if the threshold is over."""
        end = time.perf_counter() + timeout
        with self._lock:
            if not (stack.n_nodes or self.is_over or self._frontier.take(stack)):
                self._waiting.append(stack)
                try:
                    while not (stack.n_nodes or self.is_over) and time.perf_counter() < end:
                        for other in self._in_use.difference(self._waiting):
                            other.pause()
                        # Others notify often. Pausing them each time would leave them no time to search.
                        self._changed.wait_for(lambda: stack.n_nodes or self.is_over, _WAIT_S)
                finally:
                    if stack in self._waiting:
                        self._waiting.remove(stack)
            return stack.n_nodes > 0 and not self.is_over

    def _search_slice(self, stack: Stack) -> None:
        """Search a slice of the nodes of a stack, and of the next subtrees. Count and act on what was searched."""
        frontier, generated = self._frontier, self._frontier.generated
        nodes_left = max(1, self._max_nodes - generated)
        # The first slice is short: workers wait for the rest of a threshold that is not over by then.
        slice_nodes = self._stacks.slice_nodes // (1 if generated else 8)
        n_nodes = min(slice_nodes, nodes_left)
        while n_nodes > 0 and not self.is_over:
            # One solution is wanted even if they are only counted.
            counts_goals = self._wanted.finds_all and self._wanted.listed is None and bool(frontier.tiles)
            status = stack.search(n_nodes, nodes_left, counts_goals=counts_goals)
            tiles = stack.tiles_to_goal(frontier.board) if status == mem.FOUND else ()
            n_nodes -= int(stack.counters[mem.GENERATED])
            nodes_left -= int(stack.counters[mem.GENERATED])
            with self._lock:
                self._count(stack, tiles)
                if status == mem.FOUND or stack.n_nodes or not frontier.take(stack):
                    return

    def _count(self, stack: Stack, tiles: tuple[int, ...]) -> None:
        """Count what was searched on a stack, and take the solution that was found there, if any."""
        frontier = self._frontier
        frontier.tiles = tiles or frontier.tiles
        frontier.count(stack)
        if tiles and self._wanted.listed is not None:
            self._wanted.listed(tiles)
        if self._is_done:
            self._end()
        elif not tiles and stack.n_nodes > 1 and self._waiting:
            # Not after a solution: the nodes beside it, on top of the stack, may have ended, too.
            self._waiting[0].reserve(stack)
            frontier.split(stack, self._waiting.popleft())
        self._changed.notify_all()

    def _note_rest(self, stack: Stack) -> None:
        with self._lock:
            self._frontier.note_rest(stack)

    def _leave(self, stack: Stack) -> None:
        with self._lock:
            self._in_use.discard(stack)
            self._changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._error is None:
                self._error = error
            self._end()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            for stack in self._in_use:
                stack.pause()
            self._changed.notify_all()
