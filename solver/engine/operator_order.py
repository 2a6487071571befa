"""A threshold searched in the operator order of the textbook (Korf 1985): the blank moves up, left, right, down.

The nodes up to the first goal depend on the order. So the tree is cut into small subtrees, which are searched in
operator order, each in batches. Only one with a goal is searched once more, node by node.
"""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from pdb_core.puzzle import BLANK, Tiles
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES, blank_moves
from solver.engine import layout as lay
from solver.engine.engine import Roots
from solver.engine.stack import Stack, StackPool, tiles_moved, tiles_to_goal
from solver.engine.work import Work
from solver.move_pruning.move_pruning import START

# Subtrees of a slice. Node by node, a search is some ten times as slow as in batches.
_LEAVES_PER_SLICE = 8
# Estimates for the size of subtrees: nodes of a threshold to those of the one before, and of a node to its child.
_GROWTH, _BRANCHING = 6, 2.13

# A search in steps yields None, and returns whether a goal was found.
_Steps = Generator[None, None, bool]


class OperatorOrderWork(Work):
    """Whole threshold, with exactly the nodes that the textbook generates up to the first goal."""

    def __init__(self, stacks: StackPool, stack: Stack, roots: Roots, row: int, threshold: int, previous: int) -> None:
        """`previous` are the nodes of the threshold before."""
        engine = stacks.engine
        super().__init__(stacks, stack, engine.goal)
        self._engine = engine
        self._one_by_one = Stack(replace(engine, tables=engine.tables._replace(batch=1)), threshold)
        self._edge_cells, self._cell_moves = blank_moves(engine.size)
        self._allowed = engine.fsm.allowed_moves
        self._counters = np.zeros(lay.N_COUNTERS, dtype=np.int64)
        # The nodes of the leaf that is searched: counters are cleared between slices.
        self._searched = np.zeros(lay.N_COUNTERS, dtype=np.int64)
        self._tiles: tuple[int, ...] = ()
        self._max_nodes = 0
        self._leaf_nodes = self.slice_nodes // _LEAVES_PER_SLICE
        self._steps = self._subtree(roots, row, START, (), threshold, float(_GROWTH * previous))

    @property
    def counters(self) -> Int64s:
        return self._counters

    def search(self, pause_at: int, max_nodes: int, at_goal: int) -> int:
        assert at_goal == lay.STOP_AT_GOAL
        self._max_nodes = max_nodes
        try:
            while self._counters[lay.GENERATED] < min(pause_at, max_nodes):
                next(self._steps)
        except StopIteration as end:
            self._counters[lay.SOLUTIONS] = int(end.value)
            return lay.FOUND if end.value else lay.EXHAUSTED
        return lay.PAUSED

    def tiles(self) -> tuple[int, ...]:
        return self._tiles

    def split(self) -> None:
        return None

    def _subtree(
        self, roots: Roots, row: int, state: int, path: tuple[int, ...], moves_left: int, estimate: float
    ) -> _Steps:
        """Search below the node at the end of `path`."""
        if estimate <= self._leaf_nodes:
            return (yield from self._leaf(roots, row, state, path, moves_left))
        board = tuple(roots.boards[row].tolist())
        blank = board.index(BLANK)
        moves = [at for at in range(N_MOVES) if int(self._cell_moves[blank] & self._allowed[state]) >> at & 1]
        states = [int(self._engine.fsm.successors[state, move]) for move in moves]
        ends = [tiles_moved(board, [move], self._engine.size) for move in moves]
        children = self._engine.roots([end for _, end in ends], states)
        self._counters[lay.EXPANDED] += 1
        for i, (tiles, end) in enumerate(ends):
            self._counters[lay.GENERATED] += 1
            if end == self._engine.goal:
                self._tiles = path + tiles
                return True
            if children.h[i] < moves_left:
                below = self._subtree(children, i, states[i], path + tiles, moves_left - 1, estimate / _BRANCHING)
                if (yield from below):
                    return True
        return False

    def _leaf(self, roots: Roots, row: int, state: int, path: tuple[int, ...], moves_left: int) -> _Steps:
        """Search a small subtree: in batches, and if there is a goal again node by node."""
        self._searched[:] = 0
        if not (yield from self._search(self._stack, roots, row, moves_left)):
            return False
        self._counters -= self._searched
        if not (yield from self._search(self._one_by_one, roots, row, moves_left)):
            return False
        board: Tiles = tuple(roots.boards[row].tolist())
        moves = self._one_by_one.moves_to_goal()
        self._counters[lay.GENERATED] -= self._n_after(board, state, moves)
        self._tiles = path + tiles_to_goal(self._engine, board, moves)
        return True

    def _search(self, stack: Stack, roots: Roots, row: int, moves_left: int) -> _Steps:
        """Search below a node on a stack, up to the first goal there."""
        stack.begin(roots, row, moves_left)
        while True:
            left = max(1, self._max_nodes - int(self._counters[lay.GENERATED]))
            # Node by node a whole slice would keep Ctrl-C waiting.
            status = stack.search(self._leaf_nodes, left, lay.STOP_AT_GOAL)
            for counter in (lay.GENERATED, lay.EXPANDED):
                self._counters[counter] += stack.counters[counter]
                self._searched[counter] += stack.counters[counter]
                stack.counters[counter] = 0
            if status != lay.PAUSED:
                return status == lay.FOUND
            yield

    def _n_after(self, board: Tiles, state: int, moves: list[int]) -> int:
        """Return the number of siblings after the nodes on a path. A round counts all children of a node at once, the
        textbook counts each when its turn comes.
        """
        n, blank = 0, board.index(BLANK)
        for move in moves:
            n += (int(self._cell_moves[blank] & self._allowed[state]) >> (move + 1)).bit_count()
            blank, state = int(self._edge_cells[blank, move]), int(self._engine.fsm.successors[state, move])
        return n
