"""Linear conflicts, corner tiles and last moves, one by one and together (Korf and Taylor 1996).

The first four kernels are the heuristics, of `HeuristicTables`. The others return the moves beyond the Manhattan
distance of `board`, uint8[n_cells].
"""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import popcount, trailing_zeros
from pdb_core.jit import borrowing_kernel, inlined_kernel
from pdb_core.types import Bytes, Int32s, Int64s, UInt16s
from solver.heuristics.manhattan_kernels import manhattan_distance

_index = np.uint64


ROWS, COLUMNS = range(2)


class LinearConflictTables(NamedTuple):
    """Tables of linear conflicts, for kernels. Axis 0 holds rows, axis 1 columns.

    A line's code has a digit for each of its cells: 0 for the blank and tiles that belong into other lines, else the
    tile's position along the line, from 1. A board 6 wide has 7 ** 6 = 117,649 codes of rows.

    parts       int32[2, n_cells * n_cells]  what tile t on cell c adds to the code of its line, at t * n_cells + c
    lines       int64[2, n_cells]            the row, and the column, of each cell
    goal_lines  int64[2, n_cells]            the row, and the column, of each tile's goal cell; -1 for the blank
    costs       uint8[codes]                 twice the tiles that must leave: by the codes of rows, then of columns
    in_conflict uint8[codes]                 the cells of the line, as bits, whose tiles are in a conflict
    starts      int64[2]                     the index of the first cost of each axis
    """

    parts: Int32s
    lines: Int64s
    goal_lines: Int64s
    costs: Bytes
    in_conflict: Bytes
    starts: Int64s
    width: int
    height: int


class LastMoveTables(NamedTuple):
    """Tables of the possible last moves, for kernels. An ending is a bit, from the lowest; there are 2 (on 2x2) to 12.

    detours      uint16[2, n_cells * n_cells]  the endings in which tile t on cell c is x (0), or y (1), and makes two
                                               moves more, at t * n_cells + c
    leaves       uint16[2, 2, n_cells]         the endings in which tile t is x (0), or y (1), and those two moves take
                                               it out of its row (0), or its column (1)
    all_endings                                the bits of all endings
    """

    detours: UInt16s
    leaves: UInt16s
    all_endings: int


@borrowing_kernel
def corner_tiles(tables: Any, board: Bytes) -> int:
    """Return Manhattan distance, and two moves for each tile that has to make way for a corner."""
    return manhattan_distance(tables.manhattan, board) + 2 * popcount(corner_tile_cells(tables.corner_pairs, board))


@borrowing_kernel
def last_move(tables: Any, board: Bytes) -> int:
    """Return Manhattan distance, and the moves for the ending."""
    h = manhattan_distance(tables.manhattan, board)
    # With h at most 1, no more than one move is left: all tiles but one in place, and that one beside its own.
    return h + last_moves(tables.last_move, board) if h > 1 else h


@borrowing_kernel
def linear_conflict(tables: Any, board: Bytes) -> int:
    """Return Manhattan distance, and the moves for linear conflicts."""
    return manhattan_distance(tables.manhattan, board) + conflicts(tables.linear_conflict, board)


@borrowing_kernel
def korf_taylor(tables: Any, board: Bytes) -> int:
    """Return Manhattan distance, and the moves for linear conflicts, corner tiles and the ending."""
    h = manhattan_distance(tables.manhattan, board)
    if h <= 1:  # as in `last_move`
        return h
    return h + all_corrections(tables.linear_conflict, tables.last_move, tables.corner_pairs, board)


@borrowing_kernel
def line_code(tables: LinearConflictTables, board: Bytes, axis: int, line: int) -> int:
    """Return the index in `costs` of a row (axis 0) or column (axis 1)."""
    n_cells = len(board)
    code = tables.starts[_index(axis)]
    first = line * tables.width if axis == ROWS else line
    end = first + tables.width if axis == ROWS else n_cells
    for cell in range(first, end, 1 if axis == ROWS else tables.width):
        code += np.int64(tables.parts[_index(axis), _index(np.int64(board[_index(cell)]) * n_cells + cell)])
    return code  # type: ignore[no-any-return]


@borrowing_kernel
def conflicts(tables: LinearConflictTables, board: Bytes) -> int:
    """Return the moves for linear conflicts."""
    cost = 0
    for row in range(tables.height):
        cost += np.int64(tables.costs[_index(line_code(tables, board, ROWS, row))])  # type: ignore[assignment]
    for column in range(tables.width):
        cost += np.int64(tables.costs[_index(line_code(tables, board, COLUMNS, column))])  # type: ignore[assignment]
    return cost


@inlined_kernel
def conflicts_after_move(tables: LinearConflictTables, board: Bytes, from_cell: int, to_cell: int) -> int:
    """Return the change of `conflicts`, -2, 0 or 2, when the tile on `from_cell` slides to the blank on `to_cell`.

    The board is that before the move, or that after it.

    A tile that slides along a line passes no other, so that line keeps its conflicts. Across, it leaves one line and
    enters another, and at most one of these is its goal's: only that one is looked at.
    """
    n_cells = len(board)
    # The other of the two cells is the blank, 0.
    tile = np.int64(board[_index(from_cell)]) + np.int64(board[_index(to_cell)])
    is_sideways = abs(to_cell - from_cell) == 1
    axis = COLUMNS if is_sideways else ROWS
    goal_line = tables.goal_lines[_index(axis), _index(tile)]
    if goal_line == tables.lines[_index(axis), _index(from_cell)]:
        own_cell = from_cell
    elif goal_line == tables.lines[_index(axis), _index(to_cell)]:
        own_cell = to_cell
    else:
        return 0
    first = goal_line if is_sideways else goal_line * tables.width
    step = tables.width if is_sideways else 1
    others = tables.starts[_index(axis)]
    for i in range(tables.height if is_sideways else tables.width):
        cell = first + i * step
        if cell != own_cell:
            others += np.int64(tables.parts[_index(axis), _index(np.int64(board[_index(cell)]) * n_cells + cell)])
    all_tiles = others + np.int64(tables.parts[_index(axis), _index(tile * n_cells + own_cell)])
    change = np.int64(tables.costs[_index(all_tiles)]) - np.int64(tables.costs[_index(others)])
    return -change if own_cell == from_cell else change  # type: ignore[return-value]


@borrowing_kernel
def corner_tile_cells(pairs: Int64s, board: Bytes) -> int:
    """Return the cells, as bits, whose tile is on its goal cell beside a corner and has to move.

    pairs: int64[m, 4], see `korf_taylor.corner_pairs`.
    """
    cells = 0
    for i in range(len(pairs)):
        in_corner, beside = np.int64(board[_index(pairs[i, 0])]), pairs[i, 2]
        if np.int64(board[_index(beside)]) == pairs[i, 3] and in_corner != 0 and in_corner != pairs[i, 1]:
            cells |= np.int64(1) << np.int64(beside)  # type: ignore[assignment]
    return cells


@borrowing_kernel
def cheapest_ending(x_bits: int, y_bits: int, all_endings: int) -> int:
    """Return the moves of the ending that adds least. Each of `x_bits` and `y_bits` adds two moves to its endings."""
    if (x_bits | y_bits) != all_endings:
        return 0
    return 2 if (x_bits & y_bits) != all_endings else 4


@borrowing_kernel
def last_moves(tables: LastMoveTables, board: Bytes) -> int:
    """Return the moves for the ending; `board` is two or more moves from the goal."""
    n_cells = len(board)
    x_bits = y_bits = 0
    for cell in range(n_cells):
        entry = np.int64(board[_index(cell)]) * n_cells + cell
        x_bits |= np.int64(tables.detours[0, _index(entry)])  # type: ignore[assignment]
        y_bits |= np.int64(tables.detours[1, _index(entry)])  # type: ignore[assignment]
    return cheapest_ending(x_bits, y_bits, tables.all_endings)


@borrowing_kernel
def all_corrections(
    conflict_tables: LinearConflictTables, last_move_tables: LastMoveTables, pairs: Int64s, board: Bytes
) -> int:
    """Return the moves for linear conflicts, corner tiles and the ending; `board` is two or more moves from the goal.

    Each of them counts moves of certain tiles along one axis (conflicts and last moves) or along either (corner tiles).
    They add up if the tiles or the axes differ. If both are the same, one of them is left out:

    - A corner tile counts only if it is in no linear conflict. Then other tiles make the moves of the conflicts,
      whichever tiles leave the lines.
    - The last moves of a tile along an axis are left out if it is in a linear conflict whose moves are along that axis,
      since it may be the tile that leaves the line, and if it counts as a corner tile.
    - The remaining last moves are counted for each ending, and the ending that adds least is taken.
    """
    n_cells, width, height = len(board), conflict_tables.width, conflict_tables.height
    # Step 1. Linear conflicts, and the cells whose tiles are in one in their row, or in their column.
    added = 0
    in_row_conflict = in_column_conflict = 0
    for row in range(height):
        code = line_code(conflict_tables, board, ROWS, row)
        added += np.int64(conflict_tables.costs[_index(code)])  # type: ignore[assignment]
        in_row_conflict |= np.int64(conflict_tables.in_conflict[_index(code)]) << np.int64(row * width)  # type: ignore[assignment]
    for column in range(width):
        code = line_code(conflict_tables, board, COLUMNS, column)
        added += np.int64(conflict_tables.costs[_index(code)])  # type: ignore[assignment]
        cells: Any = np.int64(conflict_tables.in_conflict[_index(code)])
        while cells != 0:
            row = trailing_zeros(cells)
            cells &= cells - 1
            in_column_conflict |= 1 << (row * width + column)

    # Step 2. Corner tiles.
    making_way = corner_tile_cells(pairs, board) & ~(in_row_conflict | in_column_conflict)
    added += 2 * popcount(making_way)

    # Step 3. Last moves.
    x_bits = y_bits = 0
    for cell in range(n_cells):
        tile = np.int64(board[_index(cell)])
        x = np.int64(last_move_tables.detours[0, _index(tile * n_cells + cell)])
        y = np.int64(last_move_tables.detours[1, _index(tile * n_cells + cell)])
        if (x | y) == 0 or (making_way >> cell) & 1 == 1:
            continue
        if (in_row_conflict >> cell) & 1 == 1:
            x &= ~np.int64(last_move_tables.leaves[0, ROWS, _index(tile)])
            y &= ~np.int64(last_move_tables.leaves[1, ROWS, _index(tile)])
        if (in_column_conflict >> cell) & 1 == 1:
            x &= ~np.int64(last_move_tables.leaves[0, COLUMNS, _index(tile)])
            y &= ~np.int64(last_move_tables.leaves[1, COLUMNS, _index(tile)])
        x_bits |= x  # type: ignore[assignment]
        y_bits |= y  # type: ignore[assignment]
    return added + cheapest_ending(x_bits, y_bits, last_move_tables.all_endings)
