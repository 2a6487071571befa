"""Solve a board line by line, as people do: rows and columns one by one, from the border inwards.

A rest of at most 3x3 is solved by search. It contains the goal cell of the blank, so every goal is possible.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from pdb_core.puzzle import BLANK, BoardSize, Tiles
from solver.board_arrays import neighbours_by_move
from solver.large_boards.line_by_line_kernels import (
    CORNER_DEPTH,
    CORNER_WIDTH,
    Bytes,
    Geometry,
    Int32s,
    Work,
    find_path,
    play,
    solve_line,
)

_REST_SIDE = 3
# More than the maximum depth of a rest: 31 on 3x3.
_REST_MOVES = 40
# Approximate number of pieces in a part of a line.
_PART_PIECES = 5


@lru_cache(maxsize=8)
def geometry(size: BoardSize) -> Geometry:
    """Return the arrays for `size`."""
    rows, columns = np.divmod(np.arange(size.n_cells, dtype=np.int32), np.int32(size.width))
    return Geometry(rows, columns, neighbours_by_move(size).astype(np.int32))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Board of pieces: the number of a piece is its goal cell.

    cells   int32[n]  the piece on each cell
    blank   the piece that is the blank
    """

    cells: Int32s
    blank: int

    @property
    def blank_cell(self) -> int:
        return int(np.flatnonzero(self.cells == self.blank)[0])

    def after(self, path: list[int]) -> "Pieces":
        """Return the board after the blank has moved to each cell of `path`."""
        cells = self.cells.copy()
        play(cells, self.blank_cell, np.array(path, dtype=np.int32))
        return Pieces(cells, self.blank)


def in_pieces(board: Tiles, goal: Tiles) -> Pieces:
    """Return the board with each tile replaced by its goal cell."""
    place = np.argsort(np.array(goal))
    return Pieces(place[np.array(board)].astype(np.int32), goal.index(BLANK))


@dataclass(frozen=True, eq=False)
class Part:
    """Pieces of a line that are placed together.

    line     number of the line
    cells    int32[k]  their cells, along the line
    corner   int32[m]  in the last part of a line: its last two cells and those behind them; else empty
    """

    line: int
    cells: Int32s
    corner: Int32s


@dataclass(frozen=True, eq=False)
class Plan:
    """Order in which a board is solved: parts of lines, then the rest.

    line_of  int32[n]  the number of the line of each cell; in the rest, the number of lines
    """

    parts: tuple[Part, ...]
    n_lines: int
    line_of: Int32s
    rest_rows: range
    rest_columns: range


@lru_cache(maxsize=64)
def plan_lines(size: BoardSize, blank: int) -> Plan:
    """Return lines from the border inwards, along the shorter side, without the goal cell of the blank."""
    blank_row, blank_column = size.row_and_column(blank)
    rows, columns = range(size.height), range(size.width)
    parts: list[Part] = []
    lines: list[list[int]] = []
    while max(len(rows), len(columns)) > _REST_SIDE:
        takes_row = len(rows) >= len(columns)
        across, blank_place = (rows, blank_row) if takes_row else (columns, blank_column)
        takes_last = across[0] == blank_place
        inwards = list(across[::-1] if takes_last else across)
        along = columns if takes_row else rows
        cells = [[size.cell(a, b) if takes_row else size.cell(b, a) for b in along] for a in inwards[:CORNER_DEPTH]]
        corner = [cell for line in cells for cell in line[-CORNER_WIDTH:]]
        parts += _parts_of(len(lines), cells[0], corner)
        lines.append(cells[0])
        left = across[:-1] if takes_last else across[1:]
        rows, columns = (left, columns) if takes_row else (rows, left)
    line_of = np.full(size.n_cells, len(lines), dtype=np.int32)
    for number, line in enumerate(lines):
        line_of[line] = number
    return Plan(tuple(parts), len(lines), line_of, rows, columns)


def _parts_of(number: int, line: list[int], corner: list[int]) -> list[Part]:
    n_parts = max(1, round(len(line) / _PART_PIECES))
    bounds = [round(i * len(line) / n_parts) for i in range(n_parts + 1)]
    return [
        Part(number, np.array(line[start:stop], dtype=np.int32), np.array(corner * (stop == len(line)), dtype=np.int32))
        for start, stop in pairwise(bounds)
    ]


def solve_part(pieces: Pieces, size: BoardSize, part: Part, locked: Bytes) -> list[int]:
    """Return a path, far from optimal, that places the part. Pieces on cells with `locked` 1 stay."""
    work = Work(
        cells=pieces.cells.copy(),
        places=np.argsort(pieces.cells).astype(np.int32),
        blank=pieces.blank,
        neighbours=geometry(size).neighbours,
        locked=locked.copy(),
        # A piece that crosses the board takes about five moves per cell, after the walk of the blank to it.
        path=np.empty(8 * (len(part.cells) + 2) * (size.width + size.height + 8), dtype=np.int32),
        counts=np.zeros(1, dtype=np.int32),
    )
    solve_line(work, part.cells, part.corner)
    return work.path[: work.counts[0]].tolist()  # type: ignore[no-any-return]


def solve_rest(pieces: Pieces, size: BoardSize, plan: Plan) -> list[int]:
    """Return an optimal path within the rest, for a board with all lines solved."""
    arrays = geometry(size)
    # The last entry is that of the neighbour -1.
    is_rest = np.append(np.isin(arrays.rows, plan.rest_rows) & np.isin(arrays.columns, plan.rest_columns), False)
    is_inside = is_rest[arrays.neighbours] & is_rest[:-1, np.newaxis]
    inside = arrays._replace(neighbours=np.where(is_inside, arrays.neighbours, -1).astype(np.int32))
    path = np.empty(_REST_MOVES + 1, dtype=np.int32)
    length = find_path(pieces.cells.copy(), pieces.blank_cell, inside, path)
    return path[:length].tolist()  # type: ignore[no-any-return]


def solve_by_lines(pieces: Pieces, size: BoardSize) -> list[int]:
    """Return a path to the goal, far from optimal. The board must be solvable."""
    plan = plan_lines(size, pieces.blank)
    locked = np.zeros(size.n_cells, dtype=np.uint8)
    path: list[int] = []
    for part in plan.parts:
        part_path = solve_part(pieces, size, part, locked)
        pieces = pieces.after(part_path)
        locked[part.cells] = 1
        path += part_path
    return path + solve_rest(pieces, size, plan)
