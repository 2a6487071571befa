"""Solve a board line by line, as people do: rows and columns one by one, from the border inwards.

A rest of at most 3x3 is solved by search. It contains the goal cell of the blank, so every goal is possible.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.types import BLANK
from solver.approximate.line_by_line_kernels import (
    CORNER_DEPTH,
    CORNER_WIDTH,
    Work,
    solve_part,
)
from solver.beams.pieces import Pieces, geometry
from solver.beams.pieces_kernels import Bytes, Int32s
from solver.board_arrays import manhattan_distances
from solver.textbook import a_star

_REST_SIDE = 3
# Approximate number of pieces in a part of a line.
_PART_PIECES = 5


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

    @property
    def steps(self) -> "list[Part]":
        """Return the part piece by piece; the last two of a line stay together."""
        n_single = len(self.cells) - (CORNER_WIDTH if len(self.corner) else 0)
        steps = [Part(self.line, self.cells[i : i + 1], self.corner[:0]) for i in range(n_single)]
        return steps + [Part(self.line, self.cells[n_single:], self.corner)] * (len(self.corner) > 0)


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
        n_parts = max(1, round(len(along) / _PART_PIECES))
        for k, cells_of_part in enumerate(np.array_split(np.array(cells[0], dtype=np.int32), n_parts), start=1):
            parts.append(Part(len(lines), cells_of_part, np.array(corner * (k == n_parts), dtype=np.int32)))
        lines.append(cells[0])
        left = across[:-1] if takes_last else across[1:]
        rows, columns = (left, columns) if takes_row else (rows, left)
    line_of = np.full(size.n_cells, len(lines), dtype=np.int32)
    for number, line in enumerate(lines):
        line_of[line] = number
    return Plan(tuple(parts), len(lines), line_of, rows, columns)


def path_of_part(pieces: Pieces, size: BoardSize, part: Part, locked: Bytes) -> list[int]:
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
    solve_part(work, part.cells, part.corner)
    return work.path[: work.counts[0]].tolist()  # type: ignore[no-any-return]


def solve_rest(pieces: Pieces, size: BoardSize, plan: Plan) -> list[int]:
    """Return an optimal path within the rest, for a board with all lines solved."""
    cells = [size.cell(row, column) for row in plan.rest_rows for column in plan.rest_columns]
    rest = BoardSize(len(plan.rest_columns), len(plan.rest_rows))
    # The blank is tile 0.
    tiles = {piece: tile for tile, piece in enumerate(sorted(cells, key=lambda cell: cell != pieces.blank))}
    board, goal = (tuple(tiles[piece] for piece in pieces_) for pieces_ in (pieces.cells[cells].tolist(), cells))
    distances = manhattan_distances(rest, goal).reshape(rest.n_cells, -1).tolist()
    solution = a_star(board, lambda at: sum(distances[tile][cell] for cell, tile in enumerate(at)), goal, rest)
    return [cells[board.index(BLANK)] for board in solution.boards()[1:]]
