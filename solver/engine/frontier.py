"""The frontier of a threshold: the nodes whose subtrees are still to be searched, and what was counted of the others.

It begins as one subtree, below the nodes on a stack. A division makes it a numbered list of subtrees, which threads put
on their stacks in order; a checkpoint keeps the finished ones. The list depends on the board, the tables and the nodes
of the thresholds before, not on the threads. An empty frontier, and nothing else, is a finished threshold.
"""

import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from pdb_core.puzzle import Tiles
from pdb_core.types import Int64s
from solver.engine import layout as mem
from solver.engine.checkpoint import Checkpoint, Subtrees
from solver.engine.division import Division
from solver.engine.stack import Stack, moves_by
from solver.progress import Iteration

_COUNTED = [mem.GENERATED, mem.EXPANDED, mem.SOLUTIONS]


@dataclass
class _Begun:
    """A subtree that was begun: the stacks that hold nodes of it, and its nodes and solutions so far."""

    n_stacks: int = 1
    counts: Int64s = field(default_factory=lambda: np.zeros(len(_COUNTED), dtype=np.int64))


class Frontier:
    """What is left of a threshold. Not thread-safe.

    counts   int64[3]: generated and expanded nodes, and solutions, of all that was searched, in all runs
    tiles    a solution; empty if none is known
    started  when the threshold was begun; if earlier runs searched it, earlier by their seconds
    """

    def __init__(self, board: Tiles, stack: Stack, threshold: int, started: float | None = None) -> None:
        """The stack holds all nodes that are left. `started` is now by default."""
        self.board, self.threshold = board, threshold
        self.counts: Int64s = np.zeros(len(_COUNTED), dtype=np.int64)
        self.tiles: tuple[int, ...] = ()
        self.started = time.perf_counter() if started is None else started
        # Known after a division.
        self._division: tuple[Division, Checkpoint] | None = None
        self._left: deque[int] = deque()
        self._begun = {0: _Begun()} if stack.n_nodes else {}
        # Moves to the nodes that a pause left on stacks.
        self._paused: list[list[int]] = []
        stack.subtree = 0

    def divide(self, division: Division, nodes: tuple[int, int], checkpoint: Checkpoint) -> float:
        """Replace the only subtree by a list of them. Returns the seconds of earlier runs.

        nodes       that were generated and expanded to make the list
        checkpoint  what is finished is taken from it, and recorded there
        """
        known = checkpoint.subtrees(self.threshold, division.digest)
        self.counts[:] = nodes[0] + known.generated, nodes[1] + known.expanded, known.solutions
        self.tiles = known.solution
        self.started -= known.seconds
        checkpoint.share = float(division.shares[list(known.subtrees)].sum())
        self._division = division, checkpoint
        self._left = deque(number for number in range(len(division.nodes)) if number not in known.subtrees)
        self._begun.clear()
        return known.seconds

    @property
    def is_empty(self) -> bool:
        return not self._left and not self._begun

    @property
    def generated(self) -> int:
        return int(self.counts[0])

    @property
    def iteration(self) -> Iteration:
        """The threshold so far."""
        generated, expanded, _ = self.counts.tolist()
        return Iteration(self.threshold, generated, expanded, time.perf_counter() - self.started)

    def take(self, stack: Stack) -> bool:
        """Put the next subtree on an empty stack. Returns whether there is one."""
        if not self._left:
            return False
        assert self._division is not None
        division, _ = self._division
        stack.subtree = self._left.popleft()
        self._begun[stack.subtree] = _Begun()
        stack.load(division.nodes[stack.subtree : stack.subtree + 1], division.links)
        return True

    def split(self, stack: Stack, other: Stack) -> None:
        """Move every second node of a stack to another one, which is empty and has the room."""
        # Set first, because a thread may count the nodes as soon as they are moved, even if Ctrl-C comes here.
        other.subtree = stack.subtree
        self._begun[stack.subtree].n_stacks += 1
        stack.split(other)

    def count(self, stack: Stack) -> None:
        """Count what was searched on a stack. If no stack has nodes of its subtree, that is finished."""
        counts = stack.counters[_COUNTED]
        stack.counters[_COUNTED] = 0
        self.counts += counts
        begun = self._begun[stack.subtree]
        begun.counts += counts
        begun.n_stacks -= stack.n_nodes == 0
        if begun.n_stacks:
            return
        del self._begun[stack.subtree]
        if self._division is not None:
            division, checkpoint = self._division
            generated, expanded, n_solutions = begun.counts.tolist()
            checkpoint.share = min(1.0, (checkpoint.share or 0.0) + float(division.shares[stack.subtree]))
            solution, seconds = self.tiles if n_solutions else (), self.iteration.seconds
            done = {stack.subtree}, generated, expanded, seconds, n_solutions, solution
            checkpoint.finish_subtrees(Subtrees(self.threshold, division.digest, *done))

    def note_rest(self, stack: Stack) -> None:
        """Note the nodes that a limit left on a stack. After a solution nothing is wanted of them."""
        if not self.tiles:
            self._paused += stack.moves_to_nodes()

    def paths(self) -> tuple[bytes, ...]:
        """Return what is left when the rest of all stacks is noted: the blank's moves from the board to each node.

        Nodes of subtrees that were begun come first, those nearest to the root before others.
        """
        moves = sorted(self._paused, key=len)
        if self._division is not None:
            division, _ = self._division
            moves += moves_by(division.links, division.nodes[list(self._left), mem.LINK])
        return tuple(map(bytes, moves))
