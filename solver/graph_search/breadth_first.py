"""Breadth-first search, from the board or from the board and the goal in turns.

Each step expands one layer: that of the end with the smaller one, or always that of the board's end. The two ends meet
first on an optimal path.
"""

import numpy as np

from pdb_core.puzzle import Board, Tiles
from pdb_core.types import BLANK
from solver.graph_search.breadth_first_kernels import MEETING_NODE, N_ROOTS, NEXT_NODE, expand_layer
from solver.graph_search.node_table import NodeTable
from solver.graph_search.node_table_kernels import (
    END_SHIFT,
    FINISHED,
    FOUND,
    N_NODES,
    N_OPEN,
    PEAK_OPEN,
    Packing,
    unpack,
)
from solver.progress import Clock

_SLICE_EXPANSIONS = 50_000
_FROM_BOARD, _FROM_GOAL = 0, 1


class BreadthFirstSearch:
    """Breadth-first search of one board, which must be solvable."""

    h, suboptimality_bound = 0, 1.0

    def __init__(
        self, board: Board, goal: Board, packing: Packing, memory_limit_bytes: int | None, *, from_both_ends: bool
    ) -> None:
        """Raises `MemoryLimitError` if the limit is less than the smallest table."""
        self._board, self._goal, self._from_both_ends = board, goal, from_both_ends
        self.table = NodeTable(packing, memory_limit_bytes=memory_limit_bytes)
        self.table.add(board)
        if board != goal:
            self.table.add(goal)[0] |= _FROM_GOAL << END_SHIFT
        counters = self.table.counters
        counters[N_OPEN] = counters[PEAK_OPEN] = counters[N_NODES] if from_both_ends else 1
        self._depths = [0, 0]

    @property
    def lower_bound(self) -> int:
        """Return the lower bound that is proved; it may be of the wrong parity."""
        return sum(self._depths) + (self._board != self._goal)

    def find(self, clock: Clock) -> tuple[int, ...] | None:
        """Return the tiles moved in an optimal solution, or None if a limit is reached first.

        Raises `MemoryLimitError` if the nodes exceed the limit.
        """
        if self._board == self._goal:
            return ()
        table, counters = self.table, self.table.counters
        # Each end's last layer is a range of node ids.
        layers = [range(1), range(1, N_ROOTS)]
        while True:
            is_back = self._from_both_ends and len(layers[_FROM_GOAL]) < len(layers[_FROM_BOARD])
            end = _FROM_GOAL if is_back else _FROM_BOARD
            first_new, last = int(counters[N_NODES]), layers[end].stop
            counters[NEXT_NODE] = layers[end].start

            def expand(end: int = end, last: int = last) -> int:
                return expand_layer(
                    table.packing, table.nodes, counters, end, last, _SLICE_EXPANSIONS, clock.most_nodes
                )

            status = table.run(expand, lambda: self.lower_bound, clock)
            if status == FOUND:
                return self._path(end)
            if status != FINISHED:
                return None
            layers[end] = range(first_new, int(counters[N_NODES]))
            self._depths[end] += 1

    def _path(self, end: int) -> tuple[int, ...]:
        """Return the tiles moved from the board to the node where the two ends meet, and on to the goal."""
        here, there = (self._stored_board(int(self.table.counters[i])) for i in (NEXT_NODE, MEETING_NODE))
        tile = there[here.index(BLANK)]
        forward, backward = (here, there) if end == _FROM_BOARD else (there, here)
        return (*self.table.path_to(forward, 0), tile, *reversed(self.table.path_to(backward, 1)))

    def _stored_board(self, node: int) -> Tiles:
        board = np.zeros(self.table.packing.n_cells, dtype=np.uint8)
        unpack(self.table.packing, self.table.row(node), 0, board)
        return tuple(board.tolist())
