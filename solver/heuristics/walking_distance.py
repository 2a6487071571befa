"""Walking distance (Ken'ichiro Takahashi): moves of all tiles between rows, and between columns.

Take only the row of each tile and of the blank, and the goal row of each tile: a board becomes a table of counts, the
number of tiles of each goal row in each row. A vertical move takes a tile of a row beside the blank's into the blank's
row; a horizontal move changes nothing. The least number of vertical moves from any counts to the goal's is found once
by breadth-first search. So is the least number of horizontal moves, from counts by column. No move is both, so the two
add up. Unlike Manhattan distance, the sum takes into account that a tile can leave its row only for the blank's.

The index of the counts has no gaps. The lines (rows or columns) are taken in order, and offsets[rest, line] is the
number of tables of counts that begin with a smaller line. `rest` are the tiles of each goal line that are still to be
placed. Both are numbers of as many digits as there are lines, one digit per goal line. So a line is removed by a
subtraction, and a move changes the index by four offsets.
"""

from functools import lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.errors import InputError
from pdb_core.puzzle import Tiles
from pdb_core.types import BLANK, Bytes
from solver.cache_file import cached_array
from solver.heuristics.walking_distance_kernels import (
    UNREACHED,
    WalkingTable,
    WalkingTables,
    rank_of_keys,
    spread_level,
)

# States per call of a kernel: below a second.
_SLICE_STATES = 1 << 20
# Read-only, as cached distances are, so that both have one type for the compiler.
_NO_DISTANCES = np.frombuffer(b"", dtype=np.uint8)


def no_walking_tables() -> WalkingTables:
    """Return empty tables of the types of `walking_tables`, if the heuristic is not chosen."""
    empty = np.zeros(0, dtype=np.int64)
    table = WalkingTable(0, 0, 0, 0, empty, empty, empty.astype(np.int32), empty.astype(np.uint32), _NO_DISTANCES)
    return WalkingTables(empty, empty, table, table)


def walking_tables(size: BoardSize, goal: Tiles) -> WalkingTables:
    """Return the tables of a goal. They are kept in memory and in the cache folder.

    Raises `InputError` for a size whose counts are too many: 4x6, 5x6, 6x6 and 6x4, 6x5 have hundreds of millions and
    more.
    """
    if max(size.width, size.height) > 5 and min(size.width, size.height) > 3:
        raise InputError(
            f"walking-distance exists for boards up to 5x5 and for those of 6 by 2 or 3, not for {size}: its tables "
            "would hold hundreds of millions of entries; use another heuristic, such as manhattan"
        )
    blank_row, blank_column = divmod(goal.index(BLANK), size.width)
    vertical = walking_table(size.height, size.width, blank_row)
    horizontal = walking_table(size.width, size.height, blank_column)
    rows, columns = np.divmod(np.argsort(goal), size.width)
    row_keys, column_keys = vertical.radices[rows], horizontal.radices[columns]
    row_keys[BLANK] = column_keys[BLANK] = 0
    return WalkingTables(row_keys, column_keys, vertical, horizontal)


@lru_cache(maxsize=8)
def walking_table(n_lines: int, n_in_line: int, blank_line: int) -> WalkingTable:
    """Return the table for `n_lines` lines of `n_in_line` cells, the goal's blank in `blank_line`."""
    table, n_states = _index_function(n_lines, n_in_line, blank_line)
    # In the goal each line holds its own tiles.
    is_blank_line = np.arange(n_lines) == blank_line
    goal = rank_of_keys(table, table.radices * (n_in_line - is_blank_line))
    distances = cached_array(
        f"walking/{n_lines}-{n_in_line}-{blank_line}",
        __file__,
        np.uint8,
        lambda: _search(table, n_lines, n_states, goal),
    )
    return table._replace(distances=distances)


def _index_function(n_lines: int, n_in_line: int, blank_line: int) -> tuple[WalkingTable, int]:
    """Return the table without its distances, and the number of its states.

    Whether the blank's line is still to come shows in the sum of `rest`: it is one below a multiple of the length.
    """
    radix = n_in_line + 1
    radices = radix ** np.arange(n_lines - 1, -1, -1, dtype=np.int64)
    rests = np.arange(radix**n_lines)
    digits = rests[:, None] // radices % radix
    sums = digits.sum(axis=1)
    full, with_blank = np.flatnonzero(sums == n_in_line), np.flatnonzero(sums == n_in_line - 1)
    keys = np.r_[full, with_blank].astype(np.int64)
    # Step 1. How often a rest can be placed line by line, from few tiles to many.
    n_ways = np.zeros(len(rests), dtype=np.int64)
    n_ways[0] = 1
    for n_left in range(1, n_lines + 1):
        for total, lines in ((n_left * n_in_line, full), (n_left * n_in_line - 1, keys)):
            chosen = np.flatnonzero(sums == total)
            for key in lines:
                fits = chosen[np.all(digits[chosen] >= digits[key], axis=1)]
                n_ways[fits] += n_ways[fits - key]
    # Step 2. The ranks below each line.
    offsets = np.zeros((len(rests), len(keys)), dtype=np.uint32)
    below = np.zeros(len(rests), dtype=np.int64)
    for i, key in enumerate(keys):
        offsets[:, i] = below
        fits = np.flatnonzero(np.all(digits >= digits[key], axis=1))
        below[fits] += n_ways[fits - key]
    ids = np.zeros(len(rests), dtype=np.int32)
    ids[keys] = np.arange(len(keys))
    full_key = int(n_in_line * radices.sum() - radices[blank_line])
    table = WalkingTable(radix, len(keys), len(full), full_key, radices, keys, ids, offsets.reshape(-1), _NO_DISTANCES)
    return table, int(n_ways[full_key])


def _search(table: WalkingTable, n_lines: int, n_states: int, goal: int) -> Bytes:
    """Search all counts breadth first, level by level."""
    distances = np.full(n_states, UNREACHED, dtype=np.uint8)
    distances[goal] = 0
    keys = np.zeros(n_lines, dtype=np.int64)
    for depth in range(UNREACHED - 1):
        n_reached = 0
        for start in range(0, n_states, _SLICE_STATES):
            stop = min(start + _SLICE_STATES, n_states)
            n_reached += spread_level(table, distances, depth, start, stop, keys)
        if n_reached == 0:
            break
    return distances
