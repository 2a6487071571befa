"""Kernels that move the state of a unit and find its distance. Unsigned indices spare a test for negative ones."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import load_byte, popcount
from pdb_core.jit import borrowing_kernel
from solver.engine.unit_tables import (
    BLOCKS,
    BOTH_CELLS,
    CELLS_BELOW,
    CELLS_BETWEEN,
    ENTRY_SHIFT,
    HIGH,
    IS_UPWARD,
    LABEL_BITS,
    LOW,
    N_SUFFIXES,
    PREFIX,
    PREFIX_BITS,
    REGIONS,
    ROW_BITS,
    SUFFIX,
    TABLE,
    UNIT_FIELDS,
)

_at = np.uint64


@borrowing_kernel
def move_unit(tables: Any, word: int, unit: int, edge_row: int) -> int:
    """Return the state of a unit after one of its tiles has moved along an edge.

    The tile jumps over those on the cells between; their labels and its own rotate by one place, as in
    `ranking_kernels.move_label`.
    """
    label_bits = tables.units[_at(unit * UNIT_FIELDS + LABEL_BITS)]
    shift = label_bits * popcount(word & tables.edges[_at(edge_row + CELLS_BELOW)]) + tables.n_cells
    length = label_bits * (popcount(word & tables.edges[_at(edge_row + CELLS_BETWEEN)]) + 1)
    segment_mask = (1 << length) - 1
    segment = (word >> shift) & segment_mask
    right = label_bits if tables.edges[_at(edge_row + IS_UPWARD)] != 0 else length - label_bits
    rotated = ((segment >> right) | (segment << (length - right))) & segment_mask
    return word ^ ((segment ^ rotated) << shift) ^ tables.edges[_at(edge_row + BOTH_CELLS)]  # type: ignore[no-any-return]


@borrowing_kernel
def unit_address(tables: Any, word: int, unit: int, blank: int) -> int:
    """Return the bit address of the distance of a unit's state; `blank` is the blank's cell in the unit's frame.

    This is the index function of `pdb_core.ranking` over the arrays of all databases of a search.
    """
    unit_row = unit * UNIT_FIELDS
    lower = word & ((1 << tables.low_bits) - 1)
    upper = (word >> tables.low_bits) & ((1 << tables.high_bits) - 1)
    labels = word >> tables.n_cells
    prefix_bits = tables.units[_at(unit_row + PREFIX_BITS)]
    low = tables.set_ranks[_at(tables.units[_at(unit_row + LOW)] + lower)]
    high = tables.set_ranks[_at(tables.units[_at(unit_row + HIGH)] + ((popcount(lower) << tables.high_bits) | upper))]
    place = np.int64(low) + np.int64(high)
    if tables.units[_at(unit_row + BLOCKS)] >= 0:
        region = tables.region_numbers[_at(tables.units[_at(unit_row + REGIONS)] + place * tables.n_cells + blank)]
        place = np.int64(tables.first_block[_at(tables.units[_at(unit_row + BLOCKS)] + place)]) + np.int64(region)
    before = tables.order_ranks[_at(tables.units[_at(unit_row + PREFIX)] + (labels & ((1 << prefix_bits) - 1)))]
    after = tables.order_ranks[_at(tables.units[_at(unit_row + SUFFIX)] + (labels >> prefix_bits))]
    order = np.int64(before) * tables.units[_at(unit_row + N_SUFFIXES)] + np.int64(after)
    return (  # type: ignore[no-any-return]
        tables.units[_at(unit_row + TABLE)]
        + place * tables.units[_at(unit_row + ROW_BITS)]
        + (order << tables.units[_at(unit_row + ENTRY_SHIFT)])
    )


@borrowing_kernel
def read_change(is_bits: int, address: int, value_before: int) -> int:
    """Return by how much the distance at a bit address differs from that before the move of a tile."""
    byte = load_byte(address >> 3)
    if is_bits == 0:
        return byte - value_before
    # The distance is one more or one less; bit 1 decides which.
    bit = byte >> (address & 7)
    return 1 - 2 * ((((value_before + 1) >> 1) ^ bit) & 1)
