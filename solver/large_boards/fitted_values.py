"""Fitted values of boards up to 6x6: an estimate of the moves to the goal that ranks boards for beam search.

The estimate is the Manhattan distance plus a value of each piece on its cell plus a value of each pair of pieces on
their cells. Values were fitted to the lengths of suboptimal solutions of random boards, so the estimate is not a lower
bound (docs/design/large-boards.md). A piece is named by its goal cell, and the values do not depend on the goal cell
of the blank: one table serves every goal, and every board between two others of a path.

A smaller board is embedded in 6x6: the cells outside have their own pieces, which do not move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pdb_core.puzzle import BoardSize
from solver.large_boards.fitted_values_kernels import FittedValues, Int16s
from solver.large_boards.line_by_line import Pieces, geometry_within
from solver.large_boards.line_by_line_kernels import Geometry, Int32s

FITTED_SIZE = BoardSize(6, 6)
# Units of a move. The fitted values are in these units too.
MOVE_UNITS = 16
FITTED_FILE = Path(__file__).with_name("fitted_values.npz")


@cache
def no_fitted_values() -> FittedValues:
    """Return the tables for a search without fitted values."""
    return FittedValues(np.zeros((0, 0), dtype=np.int16), np.zeros((0, 0, 0, 0), dtype=np.int16))


@cache
def fitted_values() -> FittedValues:
    """Return the tables for 6x6. They are unfolded from `FITTED_FILE` in 0.1 s, and kept in memory (3.4 MB).

    The file has `singles`, int16[36, 36], and `classes`, int16[m], one value per class, see `unfold`.
    """
    with np.load(FITTED_FILE) as file:
        singles, classes = file["singles"], file["classes"]
    values = unfold(classes, FITTED_SIZE.width)
    return FittedValues(singles, np.ascontiguousarray(values.transpose(0, 1, 3, 2)))


def unfold(classes: Int16s, side: int) -> Int16s:
    """Return the value of piece p on cell c and piece q on cell d, at [p, c, q, d], from the values of all classes.

    Two pairs are in one class if a symmetry of the square board, an exchange of goal cells and cells, or an exchange of
    the pieces takes one to the other. Classes are in the order of their first pairs. Entries of one piece twice, and of
    two pieces on one cell, are 0.
    """
    n = side * side
    cells = np.arange(n).reshape(side, side)
    # The index of the first pair of the class: the least after each symmetry and exchange, and after both.
    first = np.arange(n**4, dtype=np.int32).reshape((n,) * 4)
    for image in (cells[::-1], cells[:, ::-1], cells.T):
        first = np.minimum(first, first[np.ix_(*[image.reshape(-1)] * 4)])
    for exchange in ((1, 0, 3, 2), (2, 3, 0, 1)):
        first = np.minimum(first, first.transpose(exchange))
    p, c, q, d = np.indices(first.shape, sparse=True)
    is_pair = (p != q) & (c != d)
    number = np.cumsum(np.bincount(first[is_pair], minlength=first.size) > 0) - 1
    return np.where(is_pair, classes[number[first]], np.int16(0))


@dataclass(frozen=True, eq=False)
class Embedding:
    """Rectangle of the board's cells, embedded in the upper left corner of a 6x6 board.

    image_of  int32[n]   the cell on the 6x6 board of each cell of the rectangle; -1 outside
    cell_of   int32[36]  the cell of the rectangle for each cell of the 6x6 board; -1 outside
    geometry  6x6, with neighbours inside the rectangle only
    """

    image_of: Int32s
    cell_of: Int32s
    geometry: Geometry

    def embed(self, pieces: Pieces) -> Pieces:
        """Return the rectangle of the board `pieces` as a 6x6 board. The pieces in the rectangle must belong there."""
        cells = np.arange(FITTED_SIZE.n_cells, dtype=np.int32)
        is_inside = self.cell_of >= 0
        cells[is_inside] = self.image_of[pieces.cells[self.cell_of[is_inside]]]
        return Pieces(cells, int(self.image_of[pieces.blank]))

    def original_path(self, path: list[int]) -> list[int]:
        """Return the path on the board for a path on the 6x6 board."""
        return self.cell_of[path].tolist()  # type: ignore[no-any-return]


def embedding(size: BoardSize, rows: Sequence[int], columns: Sequence[int]) -> Embedding:
    """Return the embedding of a rectangle of at most 6x6 cells."""
    cells = np.arange(size.n_cells).reshape(size.height, size.width)[np.ix_(rows, columns)]
    images = np.arange(FITTED_SIZE.n_cells).reshape(FITTED_SIZE.height, -1)[: len(rows), : len(columns)]
    image_of = np.full(size.n_cells, -1, dtype=np.int32)
    cell_of = np.full(FITTED_SIZE.n_cells, -1, dtype=np.int32)
    image_of[cells], cell_of[images] = images, cells
    return Embedding(image_of, cell_of, geometry_within(FITTED_SIZE, (cell_of >= 0).astype(np.uint8)))
