"""Work that one thread does in a threshold. Threads without work split that of others."""

from abc import ABC, abstractmethod

from pdb_core.puzzle import Board
from pdb_query.lookup import Int64s
from solver.engine.stack import Stack, StackPool, tiles_to_goal


class Work(ABC):
    """Nodes of a threshold that one thread searches."""

    # Nodes between two returns to the caller: some 10 to 30 ms.
    slice_nodes: int

    @property
    @abstractmethod
    def counters(self) -> Int64s:
        """GENERATED, EXPANDED and SOLUTIONS since they were cleared last."""

    @abstractmethod
    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        """Search until a counter of nodes reaches a limit. Returns FOUND, EXHAUSTED or PAUSED."""

    def split(self) -> "Work | None":
        """Return a share of the work, for another thread; None if it cannot be divided."""
        return None

    def release(self) -> None:  # noqa: B027 (most work holds nothing that others can use)
        """Give back the memory of work that is finished."""

    @abstractmethod
    def tiles(self) -> tuple[int, ...]:
        """Return the tiles moved on the path to the goal that was found last.

        Raises `Engine.wrong_end` if the moves do not end at the goal.
        """

    def pause(self) -> None:  # noqa: B027 (work with short slices need not)
        """Let `search`, in another thread, return soon."""


class StackWork(Work):
    """Nodes of a threshold on one stack."""

    def __init__(self, root: Board, stack: Stack, stacks: StackPool, *, is_lent: bool = False) -> None:
        """`is_lent`: the stack goes back to `stacks` when the work is finished."""
        self._root, self._stack, self._stacks, self._is_lent = root, stack, stacks, is_lent
        self.slice_nodes = stacks.slice_nodes

    @property
    def counters(self) -> Int64s:
        return self._stack.counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        return self._stack.search(pause_at, max_nodes, at_goal)

    def split(self) -> Work | None:
        if self._stack.n_nodes < 2:
            return None
        other = self._stacks.take()
        self._stack.split(other)
        return StackWork(self._root, other, self._stacks, is_lent=True)

    def release(self) -> None:
        if self._is_lent:
            self._stacks.give_back(self._stack)

    def tiles(self) -> tuple[int, ...]:
        return tiles_to_goal(self._stacks.engine, self._root, self._stack.moves_to_goal())

    def pause(self) -> None:
        self._stack.pause()
