"""Work that one thread does in a threshold. Threads without work split that of others."""

from pdb_core.puzzle import Tiles
from pdb_core.types import Int64s
from solver.engine.stack import Stack, StackPool, tiles_to_goal


class Work:
    """Nodes of a threshold on the stack of one thread.

    slice_nodes  nodes between two returns to the caller: some 10 to 30 ms
    """

    def __init__(self, stacks: StackPool, stack: Stack, root: Tiles, *, is_lent: bool = False) -> None:
        """`is_lent`: the stack goes back to `stacks` when the work is finished."""
        self._stacks, self._stack, self._root, self._is_lent = stacks, stack, root, is_lent
        self.slice_nodes = stacks.slice_nodes

    @property
    def counters(self) -> Int64s:
        """GENERATED, EXPANDED and SOLUTIONS since they were cleared last."""
        return self._stack.counters

    def search(self, pause_at: int, max_nodes: int, *, counts_goals: bool) -> int:
        """Search until a counter of nodes reaches a limit. Returns FOUND, EXHAUSTED or PAUSED."""
        return self._stack.search(pause_at, max_nodes, counts_goals=counts_goals)

    def split(self) -> "Work | None":
        """Return a share of the work, for another thread; None if it cannot be divided, or there is no memory."""
        if self._stack.n_nodes < 2 or (other := self._stacks.take_for_share(self._stack)) is None:
            return None
        self._stack.split(other)
        return Work(self._stacks, other, self._root, is_lent=True)

    def release(self) -> None:
        """Give back the memory of work that is finished."""
        if self._is_lent:
            self._stacks.give_back(self._stack)

    def tiles(self) -> tuple[int, ...]:
        """Return the tiles moved to the goal that was found. Raises `Engine.wrong_end` if they do not end there."""
        return tiles_to_goal(self._stacks.engine, self._root, self._stack.moves_to_goal())

    def pause(self) -> None:
        """Let `search`, in another thread, return soon."""
        self._stack.pause()
