"""Kernels for searches that users compile: the distances of a board, and those after each move of the blank."""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import prefetch
from pdb_core.jit import inlined_kernel, kernel
from pdb_query.descent_kernels import DESCENT_FIELDS, WORD_FIELDS, probe_bits
from pdb_query.lookup_kernels import move_state, probe_bytes, state_address

N_DIRECTIONS = 4
# Unsigned indices spare numba its test for negative ones.
_at = np.uint64


@kernel
def begin(tables: Any, board: Any, units: Any) -> int:
    """Look up a board that can be solved; see `CompiledLookups`. Returns its lower bound."""
    lookup, n_units = tables.lookup, units.shape[0] // 2
    values = np.empty(n_units, dtype=np.uint8)
    if lookup.is_bits != 0:
        cells = np.empty(lookup.n_cells, dtype=np.int64)
        descents = np.empty((n_units, DESCENT_FIELDS), dtype=np.int64)
        moves = np.empty((n_units, 2, lookup.n_words, WORD_FIELDS), dtype=np.int64)
        memo = np.zeros(2, dtype=np.int64)
        probe_bits(board, tables.unit_maps, lookup, units[:n_units], values, cells, descents, moves, memo)
    else:
        probe_bytes(board, tables.unit_maps, lookup, units[:n_units], values)
    units[n_units:] = values
    return lower_bound(tables, units)


@inlined_kernel
def expand(tables: Any, board: Any, blank: int, last: int, units: Any, children: Any, bounds: Any) -> None:
    """Look up the boards after the moves of the blank, but for the one that undoes `last`; see `CompiledLookups`."""
    lookup, n_cells, n_units = tables.lookup, tables.lookup.n_cells, units.shape[0] // 2
    base = lookup.memory.ctypes.data
    # Step 1. The addresses, in the place of the distances: all are prefetched before the first one is read.
    for direction in range(N_DIRECTIONS):
        cell = tables.neighbours[_at(blank), _at(direction)]
        if (cell < 0) | (direction == N_DIRECTIONS - 1 - last):
            bounds[_at(direction)] = -1
            continue
        bounds[_at(direction)] = 0
        child, tile = children[_at(direction)], np.int64(board[_at(cell)])
        for i in range(2 * n_units):
            child[_at(i)] = units[_at(i)]
        for i in range(tables.first_unit[_at(tile)], tables.first_unit[_at(tile + 1)]):
            unit = tables.changed_units[_at(i)]
            view = unit * 2 * n_cells
            source, target = tables.unit_maps[_at(view + cell)], tables.unit_maps[_at(view + blank)]
            state, record = units[_at(unit)], tables.records[_at(unit)]
            # If every move counts, the tile may be one of another pattern.
            if (state >> source) & 1:
                state = move_state(lookup, record, tables.moves[_at(source), _at(target)], state)
            address = state_address(lookup, record, state, source)
            prefetch(base + (address >> 3))
            child[_at(unit)], child[_at(n_units + unit)] = state, address
    # Step 2. The distances.
    for direction in range(N_DIRECTIONS):
        if bounds[_at(direction)] < 0:
            continue
        child, tile = children[_at(direction)], np.int64(board[_at(tables.neighbours[_at(blank), _at(direction)])])
        for i in range(tables.first_unit[_at(tile)], tables.first_unit[_at(tile + 1)]):
            place = n_units + tables.changed_units[_at(i)]
            address = child[_at(place)]
            value = np.int64(lookup.memory[_at(address >> 3)])
            if lookup.is_bits != 0:
                # A move changes the distance by 1, and the entry is bit 1 of the new distance.
                nearer = units[_at(place)] - 1
                value = nearer + 2 * (((value >> (address & 7)) ^ (nearer >> 1)) & 1)
            child[_at(place)] = value
        bounds[_at(direction)] = lower_bound(tables, child)


@inlined_kernel
def lower_bound(tables: Any, units: Any) -> int:
    """Return the largest sum of the distances of a partition; if patterns share moves, the largest distance."""
    n_partitions, n_patterns = tables.is_in_sum.shape
    largest = 0
    for first in range(units.shape[0] // 2, units.shape[0], n_patterns):
        for partition in range(n_partitions):
            total = 0
            for pattern in range(n_patterns):
                if tables.is_in_sum[_at(partition), _at(pattern)]:
                    value = units[_at(first + pattern)]
                    total = max(total, value) if tables.lookup.counts_every_move != 0 else total + value
            largest = max(largest, total)
    return largest
