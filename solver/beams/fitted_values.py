"""Fitted values of boards up to 8x8: an estimate of the moves to the goal that ranks boards for beam search.

The estimate is the Manhattan distance plus a value of each piece on its cell plus a value of each pair of pieces on
their cells. Values of 6x6 were fitted to the lengths of suboptimal solutions of random boards, so the estimate is not a
lower bound (docs/design/large-boards.md); those of 7x7 and 8x8 are made from them. A piece is named by its goal cell,
and the values do not depend on the goal cell of the blank: one table serves every goal, and every board between two
others of a path.

A smaller board is embedded in the next square: the cells outside have their own pieces, which do not move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import cell_distances
from pdb_core.symmetry import symmetries
from pdb_core.types import Int16s, Int32s
from solver.beams.fitted_values_kernels import BYTE_VALUES, FittedValues, unfold
from solver.beams.pieces import Pieces, geometry, geometry_within
from solver.beams.pieces_kernels import Geometry

# Sides of the square boards that have values.
FIRST_SIDE, LAST_SIDE = 6, 8
# Units of a move. The fitted values are in these units too.
MOVE_UNITS = 16
FITTED_FILE = Path(__file__).with_name("fitted_values.npz")


@cache
def no_fitted_values() -> FittedValues:
    """Return the tables for a search without fitted values."""
    return FittedValues(
        np.zeros((0, 4), dtype=np.int32), np.zeros((0, 0), dtype=np.int16), np.zeros((0, 0, 0, 0), dtype=np.int8)
    )


@cache
def fitted_values(side: int) -> FittedValues:
    """Return the tables for a square board. They take 0.1 s and 6 MB for 6x6, 0.5 s and 29 MB for 8x8."""
    return changes_of(pair_values(side), side)


def changes_of(values: Int16s, side: int) -> FittedValues:
    """Return the tables for values as those of `pair_values`.

    Raises `ValueError` if a move changes the value of a pair by more than the tables can hold.
    """
    neighbours = geometry(BoardSize(side, side)).neighbours
    firsts, moves = np.nonzero(neighbours[:, 2:] >= 0)
    moves += 2
    seconds = neighbours[firsts, moves]
    edge_of = np.full_like(neighbours, -1)
    edge_of[firsts, moves] = edge_of[seconds, 3 - moves] = np.arange(len(firsts), dtype=np.int32)
    alone = np.einsum("pcpc->pc", values) + MOVE_UNITS * cell_distances(BoardSize(side, side))
    changes = np.subtract(values[:, seconds], values[:, firsts], dtype=np.int16)
    piece = np.arange(side * side)
    changes[piece, :, piece] = 0
    most = max(int(changes.max()), -int(changes.min()))
    if most > np.iinfo(np.int8).max:
        raise ValueError(f"a move changes the value of a pair by {most} units; at most 127 fit the tables")
    n, n_edges = changes.shape[:2]
    pairs = np.zeros((n, n_edges, -(-n // 8) * 8, BYTE_VALUES), dtype=np.int8)
    pairs[:, :, :n, :n] = changes.transpose(0, 1, 3, 2)
    return FittedValues(edge_of, (alone[:, seconds] - alone[:, firsts]).astype(np.int16), pairs)


@cache
def pair_values(side: int) -> Int16s:
    """Return the value of piece p on cell c and piece q on cell d, at [p, c, q, d], and of p alone, at [p, c, p, c].

    Those of 6x6 are in `FITTED_FILE`; those of a larger board are means of those of the next smaller one.
    """
    if side > FIRST_SIDE:
        return unfold(np.zeros(0, dtype=np.int16), pair_values(side - 1), images_of_cells(side))
    with np.load(FITTED_FILE) as file:
        return values_of_classes(file["singles"], file["classes"])


def values_of_classes(singles: Int16s, classes: Int16s) -> Int16s:
    """Return the values of 6x6, as `pair_values`, from int16[36, 36] for single pieces and int16[m], one for each class
    of pairs, see `unfold`."""
    values = unfold(classes, np.zeros((0, 0, 0, 0), dtype=np.int16), images_of_cells(FIRST_SIDE))
    np.einsum("pcpc->pc", values)[:] = singles
    return values


def images_of_cells(side: int) -> Int32s:
    """Return the cell that each symmetry of a square board takes each cell to, int32[8, n]."""
    return np.array(list(symmetries(BoardSize(side, side)).values()), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Rectangle of the board's cells, embedded in the upper left corner of a square board.

    side      of the square
    image_of  int32[n]  the square's cell for each cell of the board, or -1
    cell_of   int32[side**2]  the cell for each of the square's cells, or -1
    geometry  the square, in which only the images are neighbours
    """

    side: int
    image_of: Int32s
    cell_of: Int32s
    geometry: Geometry

    def embed(self, pieces: Pieces) -> Pieces:
        """Return the rectangle of the board `pieces` as a square. The pieces in the rectangle must belong there."""
        cells = np.arange(self.side**2, dtype=np.int32)
        is_inside = self.cell_of >= 0
        cells[is_inside] = self.image_of[pieces.cells[self.cell_of[is_inside]]]
        return Pieces(cells, int(self.image_of[pieces.blank]))

    def original_path(self, path: list[int]) -> list[int]:
        """Return the path on the board for a path on the square board."""
        return self.cell_of[path].tolist()  # type: ignore[no-any-return]


def fitted_side(n_rows: int, n_columns: int) -> int:
    """Return the side of the square that a rectangle is embedded in. It has no values if it is above `LAST_SIDE`."""
    return max(FIRST_SIDE, n_rows, n_columns)


def embedding(size: BoardSize, rows: Sequence[int], columns: Sequence[int]) -> Embedding:
    """Return the embedding of a rectangle of at most 8x8 cells."""
    side = fitted_side(len(rows), len(columns))
    square = BoardSize(side, side)
    cells = np.arange(size.n_cells).reshape(size.height, size.width)[np.ix_(rows, columns)]
    images = np.arange(square.n_cells).reshape(side, side)[: len(rows), : len(columns)]
    image_of = np.full(size.n_cells, -1, dtype=np.int32)
    cell_of = np.full(square.n_cells, -1, dtype=np.int32)
    image_of[cells], cell_of[images] = images, cells
    return Embedding(side, image_of, cell_of, geometry_within(square, (cell_of >= 0).astype(np.uint8)))
