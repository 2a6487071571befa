"""One round of the search, child by child: for boards and tables that neither vector nor wide rounds are made for.

The stages are those of `vector_round_kernels`. A node holds its board, one byte for each cell, and for each unit a word
of 64 bits: cell set, packed labels and distance (`unit_tables`).
"""

from typing import Any

from pdb_core.bit_kernels import prefetch
from pdb_core.jit import inlined_kernel
from solver.board_arrays import N_MOVES
from solver.engine.layout import (
    ADDRESS,
    BATCH_COLUMN,
    BLANK_MASK,
    BLANK_SHIFT,
    LEFT,
    LIST_COLUMN,
    MAX_SLACK,
    MOVE_SHIFT,
    ONE_MOVE,
    PARENT_MASK,
    ROW_SHIFT,
    SLACK,
    SLACK_SHIFT,
    STATE,
    WORDS,
)
from solver.engine.round_kernels import list_children, push_move
from solver.engine.unit_kernels import move_unit, read_change, unit_address
from solver.engine.unit_tables import EDGE_FIELDS, LEFT_CELL
from solver.engine.unit_tables import VALUE_SHIFT as WORD_VALUE_SHIFT
from solver.vectors.vector_kernels import (
    LANES,
    bits_of,
    iota,
    load,
    load_long,
    load_word,
    store,
    store_long,
    store_word,
    take_of_64,
)

BYTE = 255
SIGN = 1 << 31
# The uppermost byte of a child counts the sums whose distance rose.
ROSE_COUNT_SHIFT = 24


@inlined_kernel
def slack_of(tables: Any, at: Any, parent: int, s: int) -> int:
    """Return the slack of a node of the batch in a sum."""
    word = load_word(at.batch + tables.sums[s, SLACK] * BATCH_COLUMN + 4 * parent)
    return (word >> tables.sums[s, SLACK_SHIFT]) & MAX_SLACK  # type: ignore[no-any-return]


@inlined_kernel
def number_children(children: int, n: int) -> None:
    """Number the children of a list: the number stays the same when others are dropped."""
    for i in range(n):
        store_word(children + 4 * i, load_word(children + 4 * i) | (i << ROW_SHIFT))


@inlined_kernel
def moved_tile(tables: Any, units: Any, at: Any, parent: int, edge: int) -> int:
    """Return the tile that moves along an edge."""
    cell = units.edge_cells[edge]
    word = load_word(at.batch + (tables.board_column + (cell >> 2)) * BATCH_COLUMN + 4 * parent)
    return (word >> (8 * (cell & 3))) & BYTE  # type: ignore[no-any-return]


@inlined_kernel
def unit_word(tables: Any, at: Any, parent: int, unit: int) -> int:
    """Return the word of a unit of a node of the batch."""
    address = at.batch + (tables.word_column + 2 * unit) * BATCH_COLUMN + 4 * parent
    # The upper half is signed, as in a word of 64 bits.
    return load_word(address) | (((load_word(address + BATCH_COLUMN) ^ SIGN) - SIGN) << 32)


@inlined_kernel
def edge_of(at: Any, child: int) -> int:
    """Return the edge that the tile of a child moves along."""
    state = load_word(at.batch + STATE * BATCH_COLUMN + 4 * (child & PARENT_MASK))
    return ((state >> BLANK_SHIFT) & BLANK_MASK) * N_MOVES + ((child >> MOVE_SHIFT) & (N_MOVES - 1))


@inlined_kernel
def look_up_each(tables: Any, units: Any, at: Any, children: int, n: int, s: int) -> None:
    """Move the units of a list's children in sum `s`, and prefetch their distances."""
    for i in range(n):
        child = load_word(children + 4 * i)
        parent, row = child & PARENT_MASK, (child >> ROW_SHIFT) & BYTE
        edge = edge_of(at, child)
        tile = moved_tile(tables, units, at, parent, edge)
        unit = units.unit_of_tile[s * tables.n_cells + tile]
        edge_row = units.edges_of_tile[s * tables.n_cells + tile] + edge * EDGE_FIELDS
        if unit >= 0:
            word = move_unit(units, unit_word(tables, at, parent, unit), unit, edge_row)
        else:  # every move counts, and this is a tile of no pattern
            unit = ~unit
            word = unit_word(tables, at, parent, unit)
        address = unit_address(units, word, unit, units.edges[edge_row + LEFT_CELL])
        prefetch(address >> 3)
        store_long(children + ADDRESS * LIST_COLUMN + 8 * row, address)
        store_long(children + (WORDS + 2 * s) * LIST_COLUMN + 8 * row, word)


@inlined_kernel
def read_each(tables: Any, units: Any, at: Any, children: int, n: int, s: int) -> int:
    """Read the distances of sum `s`, and drop the children that exceed the threshold. Returns how many are left."""
    n_left = 0
    for i in range(n):
        child = load_word(children + 4 * i)
        row = (child >> ROW_SHIFT) & BYTE
        address = load_long(children + ADDRESS * LIST_COLUMN + 8 * row)
        to_word = children + (WORDS + 2 * s) * LIST_COLUMN + 8 * row
        word = load_long(to_word)
        change = read_change(units.sum_is_bits[s], address, (word >> WORD_VALUE_SHIFT) & BYTE)
        store_long(to_word, word + (change << WORD_VALUE_SHIFT))
        slack = slack_of(tables, at, child & PARENT_MASK, s) - ((1 + change) >> 1)
        store_word(children + 4 * n_left, child + ((1 if change > 0 else 0) << ROSE_COUNT_SHIFT))
        n_left += 1 if slack >= 0 else 0
    return n_left


@inlined_kernel
def rose_first(children: int, n: int, n_sums: int) -> int:
    """Move the children of a list that rose in half of the sums or more to its front. Returns how many they are."""
    n_rose, n_fell = 0, 0
    for i in range(n):
        child = load_word(children + 4 * i)
        store_word(children + ADDRESS * LIST_COLUMN + 4 * n_fell, child)
        store_word(children + 4 * n_rose, child)
        rose = 1 if 2 * (child >> ROSE_COUNT_SHIFT) >= n_sums else 0
        n_rose += rose
        n_fell += 1 - rose
    for i in range(n_fell):
        store_word(children + 4 * (n_rose + i), load_word(children + ADDRESS * LIST_COLUMN + 4 * i))
    return n_rose


@inlined_kernel
def push_each(tables: Any, units: Any, at: Any, children: int, first: int, last: int, top: int, first_link: int) -> int:
    """Write the children `first` to `last` - 1 of a list to the stack from `top` on. Returns whether one of them has no
    moves left.
    """
    # Step 1. The move, and what the parents have.
    has_ended, n = 0, last - first
    for i in range(0, n, LANES):
        moved = load(children + 4 * (first + i))
        parents = moved & PARENT_MASK
        left = push_move(tables, at, moved, at.stack + 4 * (top + i), first_link)
        store(at.stack + LEFT * at.stack_column + 4 * (top + i), left)
        has_ended |= bits_of((iota() + i < n) & (left < ONE_MOVE))
        for column in range(LEFT + 1, tables.n_columns):
            store(
                at.stack + column * at.stack_column + 4 * (top + i),
                take_of_64(at.batch + column * BATCH_COLUMN, parents),
            )
    for i in range(n):
        child = load_word(children + 4 * (first + i))
        parent, row = child & PARENT_MASK, (child >> ROW_SHIFT) & BYTE
        edge = edge_of(at, child)
        tile = moved_tile(tables, units, at, parent, edge)
        to = at.stack + 4 * (top + i)
        # Step 2. The tile and the blank change places.
        for cell in (edge // N_MOVES, units.edge_cells[edge]):
            to_cells = to + (tables.board_column + (cell >> 2)) * at.stack_column
            store_word(to_cells, load_word(to_cells) ^ (tile << (8 * (cell & 3))))
        # Step 3. In each sum one unit has changed.
        for s in range(tables.n_sums):
            unit = units.unit_of_tile[s * tables.n_cells + tile]
            unit ^= unit >> 63  # of a tile of no pattern: see `look_up_each`
            word = load_long(children + (WORDS + 2 * s) * LIST_COLUMN + 8 * row)
            before = (unit_word(tables, at, parent, unit) >> WORD_VALUE_SHIFT) & BYTE
            change = ((word >> WORD_VALUE_SHIFT) & BYTE) - before
            to_word = to + (tables.word_column + 2 * unit) * at.stack_column
            store_word(to_word, word)
            store_word(to_word + at.stack_column, word >> 32)
            # No content of a table may make a slack negative or larger than its bits.
            old = slack_of(tables, at, parent, s)
            slack = max(0, min(MAX_SLACK, old - ((1 + change) >> 1)))
            to_slack = to + tables.sums[s, SLACK] * at.stack_column
            store_word(to_slack, load_word(to_slack) ^ ((old ^ slack) << tables.sums[s, SLACK_SHIFT]))
    return has_ended


@inlined_kernel
def scalar_round(units: Any, tables: Any, at: Any, n: int, top: int, first_link: int) -> tuple[int, int, int]:
    """Expand nodes as `search_kernels.round_of` says; units: `UnitTables`."""
    n_h, n_v = list_children(tables, at, n, top)
    generated = n_h + n_v
    horizontal, vertical = at.lists, at.lists + at.list_bytes
    number_children(horizontal, n_h)
    number_children(vertical, n_v)
    for s in range(tables.n_sums):
        look_up_each(tables, units, at, horizontal, n_h, s)
        look_up_each(tables, units, at, vertical, n_v, s)
        n_h = read_each(tables, units, at, horizontal, n_h, s)
        n_v = read_each(tables, units, at, vertical, n_v, s)
    # Vectors are written whole, so each part of the stack is finished before the next. The top is searched first.
    n_h_rose = rose_first(horizontal, n_h, tables.n_sums)
    n_v_rose = rose_first(vertical, n_v, tables.n_sums)
    has_ended = push_each(tables, units, at, horizontal, 0, n_h_rose, top, first_link)
    top += n_h_rose
    has_ended |= push_each(tables, units, at, vertical, 0, n_v_rose, top, first_link)
    top += n_v_rose
    has_ended |= push_each(tables, units, at, horizontal, n_h_rose, n_h, top, first_link)
    top += n_h - n_h_rose
    has_ended |= push_each(tables, units, at, vertical, n_v_rose, n_v, top, first_link)
    top += n_v - n_v_rose
    return generated, top, has_ended
