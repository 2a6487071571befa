"""Walking distance: rank a board's counts, and search all counts."""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.jit import kernel
from pdb_core.types import Bytes, Int32s, Int64s, UInt32s

UNREACHED = 255

_index = np.uint64


class WalkingTable(NamedTuple):
    """Distances of all counts, for lines of one length and the goal's blank in one of them.

    radices     int64[n_lines]             what a tile of each goal line adds to the key of a line
    keys        int64[n_ids]               each line as a number, one digit per goal line; full lines first, then those
                                           with the blank, each kind ascending
    ids         int32[radix ** n_lines]    the id of each key
    offsets     uint32[radix ** n_lines * n_ids]  ranks below a line of each id, if `rest` is still to be placed, at
                                           rest * n_ids + id
    distances   uint8[n_states]            moves from each counts to the goal's
    """

    radix: int
    n_ids: int
    n_full_ids: int
    full_key: int
    radices: Int64s
    keys: Int64s
    ids: Int32s
    offsets: UInt32s
    distances: Bytes


class WalkingTables(NamedTuple):
    """Both problems of a goal; row_keys, column_keys  int64[n_cells]  what each tile adds to the key of its line."""

    row_keys: Int64s
    column_keys: Int64s
    vertical: WalkingTable
    horizontal: WalkingTable


@kernel
def walking_distance(tables: Any, board: Bytes) -> int:
    """Return the moves that rows and columns need."""
    walking, width, height = tables.walking, tables.width, tables.height
    vertical = walking_rank(walking.vertical, walking.row_keys, board, height, width, width, 1)
    horizontal = walking_rank(walking.horizontal, walking.column_keys, board, width, height, 1, width)
    h = 0
    h += np.int64(walking.vertical.distances[_index(vertical)])  # type: ignore[assignment]
    h += np.int64(walking.horizontal.distances[_index(horizontal)])  # type: ignore[assignment]
    return h


@kernel
def walking_rank(
    table: WalkingTable,
    tile_keys: Int64s,
    board: Bytes,
    n_lines: int,
    n_in_line: int,
    line_step: int,
    cell_step: int,
) -> int:
    """Return the index in `distances` of the counts of `board`.

    tile_keys  int64[n_cells]  what each tile adds to the key of its line: the radix of its goal line; 0 for the blank
    line_step, cell_step  from a line's first cell to the next line's, and from a cell to the next one of the line
    """
    rank = 0
    rest = table.full_key
    for line in range(n_lines):
        key = 0
        cell = line * line_step
        for _ in range(n_in_line):
            key += tile_keys[_index(board[_index(cell)])]
            cell += cell_step
        rank += np.int64(table.offsets[_index(rest * table.n_ids + table.ids[_index(key)])])  # type: ignore[assignment]
        rest -= key
    return rank


@kernel
def rank_of_keys(table: WalkingTable, keys: Int64s) -> int:
    """Return the index in `distances` of the counts with these keys of lines, int64[n_lines]."""
    rank = 0
    rest = table.full_key
    for key in keys:
        rank += np.int64(table.offsets[_index(rest * table.n_ids + table.ids[_index(key)])])  # type: ignore[assignment]
        rest -= key
    return rank


@kernel
def unrank_lines(table: WalkingTable, rank: int, keys: Int64s) -> int:
    """Fill the key of each line (`keys`, int64[n_lines]) for a rank. Returns the blank's line.

    The offsets of one rest never fall from id to id, so the line is the last id whose offset is not above what is left
    of the rank; ids that do not fit take no ranks and are skipped.
    """
    rest = table.full_key
    blank_line = 0
    for line in range(len(keys)):
        low, high = 0, table.n_ids
        while high - low > 1:
            middle = (low + high) // 2
            if np.int64(table.offsets[_index(rest * table.n_ids + middle)]) <= rank:
                low = middle
            else:
                high = middle
        rank -= np.int64(table.offsets[_index(rest * table.n_ids + low)])  # type: ignore[assignment]
        keys[line] = table.keys[low]
        rest -= table.keys[low]
        if low >= table.n_full_ids:
            blank_line = line
    return blank_line


@kernel
def spread_level(table: WalkingTable, distances: Bytes, depth: int, start: int, stop: int, keys: Int64s) -> int:
    """Give `depth` + 1 to the unreached neighbours of the states at `depth` among the ranks `start` to `stop`.

    distances  uint8[n_states]  mutated; UNREACHED before the search gets there
    keys       int64[n_lines]   scratch
    Returns how many were reached.
    """
    n_reached = 0
    for rank in range(start, stop):
        if distances[_index(rank)] != depth:
            continue
        blank_line = unrank_lines(table, rank, keys)
        for line in range(blank_line - 1, blank_line + 2, 2):
            if not 0 <= line < len(keys):
                continue
            for radix in table.radices:
                if keys[line] // radix % table.radix == 0:
                    continue
                keys[line] -= radix
                keys[blank_line] += radix
                near = rank_of_keys(table, keys)
                keys[line] += radix
                keys[blank_line] -= radix
                if distances[_index(near)] == UNREACHED:
                    distances[_index(near)] = depth + 1
                    n_reached += 1
    return n_reached
