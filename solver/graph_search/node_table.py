"""Stored nodes of a search: boards packed into words, in a hash table of flat arrays that grows between slices.

`node_table_kernels` has the arrays. A node stores the move that led to it, not its parent: undoing the move gives the
parent's board.
"""

from collections.abc import Callable, Sequence

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.errors import MemoryLimitError
from pdb_core.messages import format_bytes
from pdb_core.puzzle import Tiles
from pdb_core.resources import available_memory
from pdb_core.types import BLANK, N_MOVES, Int64s
from solver.board_arrays import blank_moves
from solver.graph_search.node_table_kernels import (
    EXPANDED,
    GENERATED,
    KEY_BITS,
    KEY_MASK,
    LAST_MOVE_MASK,
    LAST_MOVE_SHIFT,
    N_COUNTERS,
    N_NODES,
    NO_ROOM,
    PAUSED,
    Nodes,
    Packing,
    find,
    first_slot,
    rehash,
)
from solver.progress import Clock, Iteration

# Share of the available memory that a search may use by default.
_MEMORY_SHARE = 0.75
_FIRST_NODES = 4096
# Nodes that one call of the kernel moves to new slots, in some 50 ms.
_REHASHED_NODES = 1 << 18
# At most this share of the slots is used: a search for a board that is missing then reads 4 slots on average.
_LOAD = 5 / 8
# Node ids are int32.
_MOST_NODES = (1 << 31) - 2


def packing_of(size: BoardSize, goal: Tiles) -> Packing:
    """Return the packing of boards of a size."""
    tile_bits = (size.n_cells - 1).bit_length()
    cells = np.arange(size.n_cells, dtype=np.int64)
    word_of, places = np.divmod(cells, KEY_BITS // tile_bits)
    word_of[-1] = -1
    edge_cells, cell_moves = blank_moves(size)
    packing = Packing(
        n_cells=size.n_cells,
        n_words=int(word_of.max()) + 1,
        tile_bits=tile_bits,
        goal=np.empty(0, dtype=np.int64),
        word_of=word_of,
        shifts=places * tile_bits,
        edge_cells=edge_cells.reshape(-1),
        cell_moves=cell_moves,
    )
    return packing._replace(goal=pack(packing, goal))


def pack(packing: Packing, board: Sequence[int]) -> Int64s:
    """Return a board as int64[n_words]."""
    words = np.zeros(packing.n_words, dtype=np.int64)
    for cell, tile in enumerate(board[:-1]):
        words[packing.word_of[cell]] |= tile << int(packing.shifts[cell])
    return words


class NodeTable:
    """Hash table of stored nodes, with the counters of their search.

    nodes     the arrays for kernels
    counters  int64[N_COUNTERS]
    capacity  the number of nodes that the arrays hold
    """

    def __init__(
        self,
        packing: Packing,
        *,
        memory_limit_bytes: int | None,
        n_notes: int = 0,
        n_values: int = 0,
        other_bytes: int = 0,
    ) -> None:
        """Make an empty table whose rows hold `n_notes` words beside the packed board.

        The limit is three quarters of the available memory by default; `other_bytes` of the search count too. Raises
        `MemoryLimitError` if it is less than the smallest table.
        """
        if memory_limit_bytes is None:
            memory_limit_bytes = int(_MEMORY_SHARE * available_memory())
        self.packing, self.limit_bytes, self.other_bytes = packing, memory_limit_bytes, other_bytes
        self.capacity, self.counters = _FIRST_NODES, np.zeros(N_COUNTERS, dtype=np.int64)
        row_size = packing.n_words + n_notes
        self.nodes = Nodes(
            rows=np.zeros(_FIRST_NODES * row_size, dtype=np.int64),
            values=np.zeros(_FIRST_NODES * n_values, dtype=np.uint8),
            slots=np.zeros(2 * _FIRST_NODES, dtype=np.int32),
            row_size=row_size,
        )
        self._node_bytes = 8 * row_size + n_values
        if self.n_bytes > memory_limit_bytes:
            raise MemoryLimitError(
                f"a search may not take more than {format_bytes(memory_limit_bytes)}, and needs "
                f"{format_bytes(self.n_bytes)} to begin with; raise the memory limit"
            )

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the arrays and the `other_bytes` of the search."""
        return self.nodes.rows.nbytes + self.nodes.values.nbytes + self.nodes.slots.nbytes + self.other_bytes

    def row(self, node: int) -> Int64s:
        """Return the row of a node."""
        return self.nodes.rows[node * self.nodes.row_size : (node + 1) * self.nodes.row_size]

    def add(self, board: Sequence[int]) -> Int64s:
        """Add a node, and return its row."""
        node = int(self.counters[N_NODES])
        row = self.row(node)
        row[: self.packing.n_words] = pack(self.packing, board)
        rehash(self.packing, self.nodes, node, node + 1)
        self.counters[N_NODES] = node + 1
        return row

    def path_to(self, board: Tiles, root: int) -> tuple[int, ...]:
        """Return the tiles moved to a stored board from a root, a node id."""
        cells, tiles = list(board), []
        root_words = self.row(root)[: self.packing.n_words] & KEY_MASK
        while not np.array_equal(words := pack(self.packing, cells), root_words):
            first = first_slot(self.packing, words, 0, len(self.nodes.slots))
            node = int(self.nodes.slots[find(self.packing, self.nodes, words, 0, first)]) - 1
            blank = cells.index(BLANK)
            # The opposite move takes the blank back.
            undo = N_MOVES - 1 - (int(self.row(node)[0]) >> LAST_MOVE_SHIFT & LAST_MOVE_MASK)
            cell = int(self.packing.edge_cells[blank * N_MOVES + undo])
            tiles.append(cells[cell])
            cells[blank], cells[cell] = cells[cell], BLANK
        return tuple(reversed(tiles))

    def run(self, expand: Callable[[], int], threshold: Callable[[], int], clock: Clock) -> int:
        """Call `expand`, a slice of a kernel, until it finds a solution or nothing is left, and let the arrays grow.

        Returns its status, PAUSED if a limit of the clock is reached. `threshold` returns what to report beside the
        nodes. Raises `MemoryLimitError` if there is no memory for more nodes.
        """
        while True:
            status = expand()
            if status == NO_ROOM:
                self.make_room()
            elif status != PAUSED:
                return status
            generated, expanded = self.counters[[GENERATED, EXPANDED]].tolist()
            if clock.is_over(Iteration(threshold(), generated, expanded, clock.seconds)):
                return PAUSED

    def reserve(self, other_bytes: int) -> None:
        """Count memory beside the arrays. Raises `MemoryLimitError` if both exceed the limit together."""
        if self.n_bytes - self.other_bytes + other_bytes > self.limit_bytes:
            raise self.too_large()
        self.other_bytes = other_bytes

    def too_large(self) -> MemoryLimitError:
        """Return the error of a search that exceeds its limit."""
        return MemoryLimitError(
            f"the search holds {self.counters[N_NODES]:,} nodes in {format_bytes(self.n_bytes)}, needs more, and may "
            f"not take more than {format_bytes(self.limit_bytes)}; raise the memory limit, use a search with a "
            "stronger heuristic, or ida-star, which stores no nodes"
        )

    def make_room(self) -> None:
        """Make room for twice the nodes, or for as many as the limit allows.

        Raises `MemoryLimitError` if there is no memory for more nodes.
        """
        nodes, n_nodes = self.nodes, int(self.counters[N_NODES])
        for n_slots in (len(nodes.slots), 2 * len(nodes.slots)):
            affordable = (self.limit_bytes - self.other_bytes - 4 * n_slots) // self._node_bytes
            capacity = min(int(_LOAD * n_slots), affordable, _MOST_NODES)
            if capacity >= n_nodes + N_MOVES:
                break
        else:
            raise self.too_large()
        # Not np.resize: the system extends large arrays without copying them.
        nodes.rows.resize(capacity * nodes.row_size, refcheck=False)
        nodes.values.resize(nodes.values.size // self.capacity * capacity, refcheck=False)
        self.capacity = capacity
        if n_slots != len(nodes.slots):
            nodes.slots.resize(0, refcheck=False)  # free the old ones first
            self.nodes = nodes._replace(slots=np.zeros(n_slots, dtype=np.int32))
            for first in range(0, n_nodes, _REHASHED_NODES):
                rehash(self.packing, self.nodes, first, min(first + _REHASHED_NODES, n_nodes))
