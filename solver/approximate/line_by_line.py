"""Solve a board line by line, as people do: rows and columns one by one, from the border inwards.

A rest of at most 3x3 is solved by search. It contains the goal cell of the blank, so every goal is possible.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.moves import blank_moves_of
from pdb_core.types import Bytes, Int32s
from solver.approximate.line_by_line_kernels import (
    CORNER_DEPTH,
    CORNER_WIDTH,
    Work,
    solve_part,
)
from solver.beams.pieces import Pieces, geometry
from solver.board_arrays import manhattan_distances
from solver.textbook import a_star

_REST_SIDE = 3
# Approximate number of pieces in a part of a line.
_PART_PIECES = 5


@dataclass(frozen=True, eq=False)
class Part:
    """Pieces of a line that are placed together.

    cells   int32[k]  their cells, along the line
    corner  int32[m]  in the last part of a line: its last two cells and those behind them; else empty
    """

    cells: Int32s
    corner: Int32s

    @property
    def steps(self) -> "list[Part]":
        """Return the part piece by piece; the last two of a line stay together."""
        last = len(self.cells) - (CORNER_WIDTH if len(self.corner) else 1)
        steps = [Part(self.cells[i : i + 1], self.corner[:0]) for i in range(last)]
        return [*steps, Part(self.cells[last:], self.corner)]


@dataclass(frozen=True, eq=False)
class Plan:
    """Order in which a board is solved: parts of lines, then the rest.

    line_of  int32[n]  the number of the line of each cell; in the rest, the number of lines
    rest     int32[h, w]  the cells of the rest
    """

    parts: tuple[Part, ...]
    n_lines: int
    line_of: Int32s
    rest: Int32s


@lru_cache(maxsize=64)
def plan_lines(size: BoardSize, blank: int) -> Plan:
    """Return lines from the border inwards, along the shorter side, without the goal cell of the blank."""
    rest = np.arange(size.n_cells, dtype=np.int32).reshape(size.height, size.width)
    parts: list[Part] = []
    line_of, n_lines = np.zeros(size.n_cells, dtype=np.int32), 0
    while max(rest.shape) > _REST_SIDE:
        takes_row = rest.shape[0] >= rest.shape[1]
        lines = rest if takes_row else rest.T
        takes_last = blank in lines[0]
        inwards = lines[::-1] if takes_last else lines
        line, corner = inwards[0].copy(), inwards[:CORNER_DEPTH, -CORNER_WIDTH:].flatten()
        n_parts = max(1, round(len(line) / _PART_PIECES))
        for k, cells in enumerate(np.array_split(line, n_parts), start=1):
            parts.append(Part(cells, corner[: len(corner) * (k == n_parts)]))
        line_of[line] = n_lines
        n_lines += 1
        left = lines[:-1] if takes_last else lines[1:]
        rest = left if takes_row else left.T
    line_of[rest] = n_lines
    return Plan(tuple(parts), n_lines, line_of, rest)


def path_of_part(pieces: Pieces, size: BoardSize, part: Part, locked: Bytes) -> list[int]:
    """Return a path, far from optimal, that places the part. Pieces on cells with `locked` 1 stay."""
    work = Work(
        cells=pieces.cells.copy(),
        places=np.argsort(pieces.cells).astype(np.int32),
        blank=pieces.blank,
        neighbours=geometry(size).neighbours,
        locked=locked.copy(),
        # A piece that crosses the board takes about five moves per cell, after the walk of the blank to it.
        path=np.empty(8 * (len(part.cells) + 2) * (size.width + size.height + 8), dtype=np.uint8),
        counts=np.zeros(1, dtype=np.int32),
    )
    solve_part(work, part.cells, part.corner)
    return work.path[: work.counts[0]].tolist()  # type: ignore[no-any-return]


def solve_rest(pieces: Pieces, plan: Plan) -> list[int]:
    """Return an optimal path within the rest, for a board with all lines solved."""
    cells = plan.rest.flatten().tolist()
    rest = BoardSize(*plan.rest.T.shape)
    # The blank is tile 0.
    tiles = {piece: tile for tile, piece in enumerate(sorted(cells, key=lambda cell: cell != pieces.blank))}
    board, goal = (tuple(tiles[piece] for piece in pieces_) for pieces_ in (pieces.cells[cells].tolist(), cells))
    distances = manhattan_distances(rest, goal).tolist()
    solution = a_star(board, lambda here: sum(distances[tile][cell] for cell, tile in enumerate(here)), goal, rest)
    return list(blank_moves_of(board, solution.moves or (), rest))
