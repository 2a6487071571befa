"""Boards of *pieces*, whose numbers are their goal cells: beams and line-by-line solutions serve any goal."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.moves import make_moves
from pdb_core.puzzle import Tiles
from pdb_core.types import BLANK, Bytes, Int32s
from solver.beams.pieces_kernels import Geometry
from solver.board_arrays import neighbours_by_move


@lru_cache(maxsize=8)
def geometry(size: BoardSize) -> Geometry:
    """Return the arrays for `size`."""
    rows, columns = np.divmod(np.arange(size.n_cells, dtype=np.int32), np.int32(size.width))
    return Geometry(rows, columns, neighbours_by_move(size).astype(np.int32))


def geometry_within(size: BoardSize, is_open: Bytes) -> Geometry:
    """Return the arrays for `size`, in which only the cells with `is_open` 1 are neighbours."""
    whole = geometry(size)
    # The last entry is that of the neighbour -1.
    has_both = np.append(is_open, 0)[whole.neighbours] & is_open[:, np.newaxis]
    return whole._replace(neighbours=np.where(has_both, whole.neighbours, -1).astype(np.int32))


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

    def after(self, path: list[int], size: BoardSize) -> "Pieces":
        """Return the board after these moves of the blank."""
        cells = self.cells.tolist()
        for _tile in make_moves(cells, path, size, self.blank):
            pass
        return Pieces(np.array(cells, dtype=np.int32), self.blank)


def in_pieces(board: Tiles, goal: Tiles) -> Pieces:
    """Return the board with each tile replaced by its goal cell."""
    place = np.argsort(np.array(goal))
    return Pieces(place[np.array(board)].astype(np.int32), goal.index(BLANK))
