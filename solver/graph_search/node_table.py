"""Stored nodes of a search: boards packed into words, in a hash table of flat arrays that grows between slices.

A *node row* is a few 64-bit words: the board in the lower 60 bits of each, and data of the search beside it. Node ids
count nodes in the order in which they are generated. A slot of the hash table holds a node id plus 1, or 0; collisions
go to the next slot. A node stores the move that led to it, not its parent: undoing the move gives the parent's board.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.errors import MemoryLimitError
from pdb_core.messages import format_bytes
from pdb_core.puzzle import BLANK, Board, BoardSize, Tiles
from pdb_core.resources import available_memory
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES, blank_moves
from solver.graph_search.node_table_kernels import KEY_BITS, KEY_MASK, find, first_slot, rehash
from solver.solution import Solution

# Share of the available memory that a search may use by default.
_MEMORY_SHARE = 0.75
# The limit if the available memory is not known.
_MEMORY_UNKNOWN_BYTES = 2_000_000_000
_FIRST_NODES = 4096
# Nodes added at once to a large table, and moved to new slots in one call of the kernel: either takes some 50 ms.
_MOST_NODES_ADDED = 1 << 21
_REHASHED_NODES = 1 << 18
# At most this share of the slots is used: a search for a board that is missing then reads 4 slots on average.
_LOAD = 5 / 8
# Node ids are int32.
_MOST_NODES = (1 << 31) - 2


class Packing(NamedTuple):
    """Packing of boards of a size, and the moves of the blank.

    The last cell is left out: its tile is the one that is on no other cell. So 16 cells take one word, 25 two, 36 four.

    goal        int64[n_words]             the goal, packed
    places      int64[n_cells]             the word that holds a cell; -1 for the last one
    shifts      int64[n_cells]             the bit of that word
    edge_cells  int64[n_cells * N_MOVES]   the cell each move takes the blank to
    cell_moves  int64[n_cells]             mask of the legal moves
    """

    n_cells: int
    n_words: int
    tile_bits: int
    goal: Int64s
    places: Int64s
    shifts: Int64s
    edge_cells: Int64s
    cell_moves: Int64s


def packing_of(size: BoardSize, goal: Tiles) -> Packing:
    """Return the packing of boards of a size."""
    tile_bits = (size.n_cells - 1).bit_length()
    cells_per_word = KEY_BITS // tile_bits
    cells = np.arange(size.n_cells, dtype=np.int64)
    places, shifts = cells // cells_per_word, cells % cells_per_word * tile_bits
    places[-1] = -1
    edge_cells, cell_moves = blank_moves(size)
    n_words = int(places.max()) + 1
    packing = Packing(
        n_cells=size.n_cells,
        n_words=n_words,
        tile_bits=tile_bits,
        goal=np.zeros(n_words, dtype=np.int64),
        places=places,
        shifts=shifts,
        edge_cells=edge_cells.reshape(-1),
        cell_moves=cell_moves,
    )
    return packing._replace(goal=pack(packing, goal))


def pack(packing: Packing, board: Sequence[int]) -> Int64s:
    """Return a board as int64[n_words]."""
    words = np.zeros(packing.n_words, dtype=np.int64)
    for cell, tile in enumerate(board[:-1]):
        words[packing.places[cell]] |= tile << int(packing.shifts[cell])
    return words


class Nodes(NamedTuple):
    """Arrays of a `NodeTable` for kernels.

    rows    int64[capacity * row_size]  a node's packed board, then data of the search
    values  uint8[capacity * n_values]  bytes of each node, such as the distances of its units
    slots   int32[2^k]
    """

    rows: Int64s
    values: npt.NDArray[np.uint8]
    slots: npt.NDArray[np.int32]
    row_size: int


class Scratch(NamedTuple):
    """Scratch memory of kernels: the board of a node, its children, their slots."""

    board: npt.NDArray[np.uint8]
    children: Int64s
    slots: Int64s


def scratch_of(packing: Packing) -> Scratch:
    """Return scratch memory for boards of a size."""
    return Scratch(
        board=np.zeros(packing.n_cells, dtype=np.uint8),
        children=np.zeros(N_MOVES * packing.n_words, dtype=np.int64),
        slots=np.zeros(N_MOVES, dtype=np.int64),
    )


class NodeTable:
    """Hash table of stored nodes; `nodes` are its arrays, `capacity` the number of nodes that they hold."""

    def __init__(
        self, packing: Packing, *, n_notes: int, n_values: int, memory_limit_bytes: int | None, other_bytes: int = 0
    ) -> None:
        """Make an empty table whose rows hold `n_notes` words beside the packed board.

        The limit is three quarters of the available memory by default; `other_bytes` of the search count too. Raises
        `MemoryLimitError` if it is less than the smallest table.
        """
        if memory_limit_bytes is None:
            available = available_memory()
            memory_limit_bytes = _MEMORY_UNKNOWN_BYTES if available is None else int(_MEMORY_SHARE * available)
        self.packing, self.n_values, self.limit_bytes, self.other_bytes = (
            packing, n_values, memory_limit_bytes, other_bytes,
        )  # fmt: skip
        self.capacity = _FIRST_NODES
        row_size = packing.n_words + n_notes
        self.nodes = Nodes(
            rows=np.zeros(_FIRST_NODES * row_size, dtype=np.int64),
            values=np.zeros(_FIRST_NODES * n_values, dtype=np.uint8),
            slots=np.zeros(2 * _FIRST_NODES, dtype=np.int32),
            row_size=row_size,
        )
        if self.n_bytes > memory_limit_bytes:
            raise MemoryLimitError(
                f"a search may not take more than {format_bytes(memory_limit_bytes)}, and needs "
                f"{format_bytes(self.n_bytes)} to begin with; raise --memory-limit"
            )

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the arrays and the `other_bytes` of the search."""
        return self.nodes.rows.nbytes + self.nodes.values.nbytes + self.nodes.slots.nbytes + self.other_bytes

    def row(self, node: int) -> Int64s:
        """Return the row of a node."""
        return self.nodes.rows[node * self.nodes.row_size : (node + 1) * self.nodes.row_size]

    def add(self, board: Int64s, node: int) -> None:
        """Write a new packed board to the row of a node, and enter it into the slots."""
        self.row(node)[: len(board)] = board
        rehash(self.packing, self.nodes, node, node + 1)

    def path_to(self, board: Tiles, root_node: int, move_of: Callable[[Int64s], int]) -> tuple[int, ...]:
        """Return the tiles moved from a root to a board; `move_of(row)` is the move that led to a node."""
        cells, tiles = list(board), []
        root = self.row(root_node)[: self.packing.n_words] & KEY_MASK
        while not np.array_equal(packed := pack(self.packing, cells), root):
            first = first_slot(self.packing, packed, 0, len(self.nodes.slots))
            node = int(self.nodes.slots[find(self.packing, self.nodes, packed, 0, first)]) - 1
            blank = cells.index(BLANK)
            # The opposite move takes the blank back.
            undo = N_MOVES - 1 - move_of(self.row(node))
            cell = int(self.packing.edge_cells[blank * N_MOVES + undo])
            tiles.append(cells[cell])
            cells[blank], cells[cell] = cells[cell], BLANK
        return tuple(reversed(tiles))

    def reserve(self, other_bytes: int) -> None:
        """Count memory beside the arrays. Raises `MemoryLimitError` if both exceed the limit together."""
        if self.n_bytes - self.other_bytes + other_bytes > self.limit_bytes:
            raise self.too_large(None)
        self.other_bytes = other_bytes

    def too_large(self, n_nodes: int | None, *, by_system: bool = False) -> MemoryLimitError:
        """Return the error of a search that exceeds its limit, or gets no more memory from the system."""
        held = "" if n_nodes is None else f"{n_nodes:,} nodes in "
        limit, advice = f"may not take more than {format_bytes(self.limit_bytes)}", "raise --memory-limit"
        if by_system:
            limit, advice = "gets no more from the system", "raise the limit of the system (ulimit -v)"
        return MemoryLimitError(
            f"the search holds {held}{format_bytes(self.n_bytes)}, needs more, and {limit}; {advice}, use a stronger "
            "heuristic, or --algorithm ida-star, which stores no nodes"
        )

    def make_room(self, n_nodes: int, between: Callable[[], object]) -> None:
        """Grow beyond `n_nodes` nodes. `between` is called about every 0.1 s, and may raise.

        Raises `MemoryLimitError` if there is no memory for more nodes.
        """
        nodes = self.nodes
        node_bytes = 8 * nodes.row_size + self.n_values
        wanted = min(2 * self.capacity, self.capacity + _MOST_NODES_ADDED, _MOST_NODES)
        for n_slots in (len(nodes.slots), 2 * len(nodes.slots)):
            affordable = (self.limit_bytes - self.other_bytes - 4 * n_slots) // node_bytes
            capacity = min(wanted, int(_LOAD * n_slots), affordable)
            if capacity >= n_nodes + N_MOVES:
                break
        else:
            raise self.too_large(n_nodes)
        # Not np.resize: the system extends large arrays without copying them.
        nodes.rows.resize(capacity * nodes.row_size, refcheck=False)
        nodes.values.resize(capacity * self.n_values, refcheck=False)
        self.capacity = capacity
        between()
        if n_slots != len(nodes.slots):
            nodes.slots.resize(0, refcheck=False)  # free the old ones first
            self.nodes = nodes._replace(slots=np.zeros(n_slots, dtype=np.int32))
            for first in range(0, n_nodes, _REHASHED_NODES):
                rehash(self.packing, self.nodes, first, min(first + _REHASHED_NODES, n_nodes))
                between()


def known_solution(
    board: Board, goal: Board, tiles: tuple[int, ...] | None, memory_error: MemoryLimitError | None, **known: Any
) -> Solution:
    """Return the result of a search, without a claim to be optimal. Raises `memory_error`, if any, with the result."""
    length = None if tiles is None else len(tiles)
    solution = Solution(
        board=board, goal=goal, length=length, tiles=tiles, is_optimal=False, bound=None,
        n_solutions=int(tiles is not None), **known,
    )  # fmt: skip
    if memory_error is not None:
        memory_error.solution = solution
        raise memory_error
    return solution
