"""One round of the search, child by child, for boards and tables that no other kind of round is made for.

A node holds its board, one byte for each cell, and for each unit its state, see `records`, and its distance.
"""

from typing import NamedTuple

from pdb_core.bit_kernels import load_byte, load_long, load_word, prefetch, store_long, store_word
from pdb_core.jit import inlined_kernel
from pdb_core.types import N_MOVES, Int64s
from pdb_query.lookup_kernels import move_state, state_address
from pdb_query.records import MOVE_FIELDS, RECORD_FIELDS, SOURCE
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.shared_kernels import (
    INDEX_MASK,
    INDEX_SHIFT,
    in_batch,
    in_list,
    list_children,
    of_parents,
    on_stack,
    push_move,
)
from solver.vectors import vector_kernels as v

BYTE = 255
# A list has the children, their addresses of 64 bits in two columns, then for each sum the unit that changes. A unit
# takes three columns, in a list and in a node: its state, 64 bits in two columns, and its distance.
UNITS, UNIT_COLUMNS = 3, 3
# The field of a sum: the first column of its units.
FIRST_UNIT = mem.OWN_FIELDS
# The uppermost byte of a child counts the sums whose distance rose.
ROSE_COUNT_SHIFT = 24


class UnitTables(NamedTuple):
    """Arrays with which kernels move units and find their distances.

    records        int64[u * RECORD_FIELDS]: of the unit's pattern; the tables have absolute addresses
    unit_maps      int64[u * 2 * n_cells], see `SumViews`
    moves          int64[maps * n_cells * N_MOVES * MOVE_FIELDS]: in each different view, the move of a tile that each
                   edge of the given board becomes
    edge_cells     int64[n_cells * N_MOVES]: the cell that the tile comes from; 0 if there is none
    unit_of_tile   int64[s * n_cells]: the unit whose distance a move of the tile changes. If every move counts and the
                   tile is of no pattern: ~unit, nothing moves but the blank
    moves_of_tile  int64[s * n_cells]: where the moves of that unit start in `moves`
    first_units    int64[s + 1]
    sum_is_bits    int64[s]: whether its tables are bits
    """

    records: Int64s
    unit_maps: Int64s
    moves: Int64s
    edge_cells: Int64s
    unit_of_tile: Int64s
    moves_of_tile: Int64s
    first_units: Int64s
    sum_is_bits: Int64s
    n_cells: int
    low_bits: int
    high_bits: int
    n_sums: int
    n_units: int


@inlined_kernel
def read_change(is_bits: int, address: int, value_before: int) -> int:
    """Return by how much the distance at a bit address differs from that before the move of a tile."""
    byte = load_byte(address >> 3)
    if is_bits == 0:
        return byte - value_before
    # The distance is one more or one less; bit 1 decides which.
    bit = byte >> (address & 7)
    return 1 - 2 * ((((value_before + 1) >> 1) ^ bit) & 1)


@inlined_kernel
def slack_of(tables: EngineTables, at: StackMemory, parent: int, s: int) -> int:
    """Return the slack of a node of the batch in a sum."""
    word = load_word(in_batch(at, tables.sums[s, mem.SLACK], parent))
    return (word >> tables.sums[s, mem.SLACK_SHIFT]) & mem.MAX_SLACK  # type: ignore[no-any-return]


@inlined_kernel
def moved_tile(tables: EngineTables, units: UnitTables, at: StackMemory, parent: int, edge: int) -> int:
    """Return the tile that moves along an edge."""
    cell = units.edge_cells[edge]
    word = load_word(in_batch(at, tables.board_column + (cell >> 2), parent))
    return (word >> (8 * (cell & 3))) & BYTE  # type: ignore[no-any-return]


@inlined_kernel
def of_unit(tables: EngineTables, at: StackMemory, parent: int, unit: int) -> int:
    """Return the address of the first column of a unit of a node of the batch."""
    column = tables.sums[0, FIRST_UNIT] + UNIT_COLUMNS * unit
    return in_batch(at, column, parent)


@inlined_kernel
def unit_state(tables: EngineTables, at: StackMemory, parent: int, unit: int) -> int:
    """Return the state of a unit of a node of the batch."""
    address = of_unit(tables, at, parent, unit)
    return load_word(address) | (load_word(address + mem.BATCH_COLUMN) << 32)


@inlined_kernel
def unit_value(tables: EngineTables, at: StackMemory, parent: int, unit: int) -> int:
    """Return the distance of a unit of a node of the batch."""
    return load_word(of_unit(tables, at, parent, unit) + 2 * mem.BATCH_COLUMN)


@inlined_kernel
def changed_unit(children: int, s: int) -> int:
    """Return the address of the columns of a list that hold the unit that changes in sum `s`."""
    return children + (UNITS + UNIT_COLUMNS * s) * mem.LIST_COLUMN


@inlined_kernel
def edge_of(at: StackMemory, child: int) -> int:
    """Return the edge that the tile of a child moves along."""
    state = load_word(in_batch(at, mem.STATE, child & mem.PARENT_MASK))
    return ((state >> mem.BLANK_SHIFT) & mem.BLANK_MASK) * N_MOVES + ((child >> mem.MOVE_SHIFT) & (N_MOVES - 1))


@inlined_kernel
def look_up_each(tables: EngineTables, units: UnitTables, at: StackMemory, n: int, s: int) -> None:
    """Move the units of the children in sum `s`, and prefetch their distances."""
    children = at.lists
    for i in range(n):
        child = load_word(children + 4 * i)
        parent, row = child & mem.PARENT_MASK, (child >> INDEX_SHIFT) & INDEX_MASK
        edge = edge_of(at, child)
        tile = moved_tile(tables, units, at, parent, edge)
        unit = units.unit_of_tile[s * tables.n_cells + tile]
        move = units.moves_of_tile[s * tables.n_cells + tile] + edge * MOVE_FIELDS
        if unit >= 0:
            state = move_state(units, unit * RECORD_FIELDS, move, unit_state(tables, at, parent, unit))
        else:  # every move counts, and this is a tile of no pattern
            unit = ~unit
            state = unit_state(tables, at, parent, unit)
        address = state_address(units, unit * RECORD_FIELDS, state, units.moves[move + SOURCE])
        prefetch(address >> 3)
        store_long(children + mem.ADDRESS * mem.LIST_COLUMN + 8 * row, address)
        to_unit = changed_unit(children, s)
        store_long(to_unit + 8 * row, state)
        store_word(in_list(to_unit, 2, row), unit_value(tables, at, parent, unit))


@inlined_kernel
def read_each(tables: EngineTables, units: UnitTables, at: StackMemory, n: int, s: int) -> int:
    """Read the distances of sum `s`, and drop the children that exceed the threshold. Returns how many are left."""
    children, n_left = at.lists, 0
    for i in range(n):
        child = load_word(children + 4 * i)
        row = (child >> INDEX_SHIFT) & INDEX_MASK
        address = load_long(children + mem.ADDRESS * mem.LIST_COLUMN + 8 * row)
        to_value = changed_unit(children, s) + 2 * mem.LIST_COLUMN + 4 * row
        value = load_word(to_value)
        change = read_change(units.sum_is_bits[s], address, value)
        store_word(to_value, (value + change) & BYTE)
        slack = slack_of(tables, at, child & mem.PARENT_MASK, s) - ((1 + change) >> 1)
        store_word(children + 4 * n_left, child + ((1 if change > 0 else 0) << ROSE_COUNT_SHIFT))
        n_left += 1 if slack >= 0 else 0
    return n_left


@inlined_kernel
def rose_first(children: int, n: int, n_sums: int) -> None:
    """Move the children of a list that rose in half of the sums or more to its front."""
    n_rose, n_fell = 0, 0
    for i in range(n):
        child = load_word(children + 4 * i)
        store_word(in_list(children, mem.ADDRESS, n_fell), child)
        store_word(children + 4 * n_rose, child)
        rose = 1 if 2 * (child >> ROSE_COUNT_SHIFT) >= n_sums else 0
        n_rose += rose
        n_fell += 1 - rose
    for i in range(n_fell):
        store_word(children + 4 * (n_rose + i), load_word(in_list(children, mem.ADDRESS, i)))


@inlined_kernel
def push_each(tables: EngineTables, units: UnitTables, at: StackMemory, n: int, top: int, first_link: int) -> int:
    """Write the children to the stack from `top` on. Returns whether one of them has no moves left."""
    children = at.lists
    # Step 1. The move, and what the parents have.
    has_ended = 0
    for i in range(0, n, v.LANES):
        moved = v.load(children + 4 * i)
        parents = moved & mem.PARENT_MASK
        left = push_move(tables, at, moved, at.stack + 4 * (top + i), first_link)
        v.store(on_stack(at, mem.MOVES_LEFT, top + i), left)
        has_ended |= v.bits_of((v.iota() + i < n) & (left < mem.ONE_MOVE))
        for column in range(mem.MOVES_LEFT + 1, tables.n_columns):
            v.store(
                on_stack(at, column, top + i),
                of_parents(at, column, parents),
            )
    for i in range(n):
        child = load_word(children + 4 * i)
        parent, row = child & mem.PARENT_MASK, (child >> INDEX_SHIFT) & INDEX_MASK
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
            changed = changed_unit(children, s)
            state = load_long(changed + 8 * row)
            value = load_word(in_list(changed, 2, row))
            change = value - unit_value(tables, at, parent, unit)
            to_unit = to + (tables.sums[0, FIRST_UNIT] + UNIT_COLUMNS * unit) * at.stack_column
            store_word(to_unit, state)
            store_word(to_unit + at.stack_column, state >> 32)
            store_word(to_unit + 2 * at.stack_column, value)
            # No content of a table may make a slack negative or larger than its bits.
            old = slack_of(tables, at, parent, s)
            slack = max(0, min(mem.MAX_SLACK, old - ((1 + change) >> 1)))
            to_slack = to + tables.sums[s, mem.SLACK] * at.stack_column
            store_word(to_slack, load_word(to_slack) ^ ((old ^ slack) << tables.sums[s, mem.SLACK_SHIFT]))
    return has_ended


@inlined_kernel
def scalar_round(
    units: UnitTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand `n` nodes of the stack from `top` on, see `search_kernels.round_of`."""
    _, n_children = list_children(tables, at, n, top, at.lists)
    generated = n_children
    # The index of a child stays the same when others are dropped.
    for i in range(n_children):
        store_word(at.lists + 4 * i, load_word(at.lists + 4 * i) | (i << INDEX_SHIFT))
    for s in range(tables.n_sums):
        look_up_each(tables, units, at, n_children, s)
        n_children = read_each(tables, units, at, n_children, s)
    # The top is searched first.
    rose_first(at.lists, n_children, tables.n_sums)
    has_ended = push_each(tables, units, at, n_children, top, first_link)
    return generated, top + n_children, has_ended
