"""Fitted values of boards of up to 64 cells: an estimate of the moves to the goal that ranks boards for beam search.

The estimate is the Manhattan distance plus a value of each piece on its cell plus a value of each pair of pieces on
their cells. Values of 6x6 were fitted to the lengths of suboptimal solutions of random boards, so the estimate is not a
lower bound (docs/design/other-searches.md); those of other sizes are made from them. A piece is named by its goal cell,
and the values do not depend on the goal cell of the blank: one table serves every goal, and every board between two
others of a path.

A board up to 8x8 is embedded in the next square: the cells outside have their own pieces, which do not move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import cell_distances
from pdb_core.symmetry import symmetries
from pdb_core.types import Int16s, Int32s
from solver.beams.fitted_values_kernels import BYTE_VALUES, FittedValues, unfold
from solver.beams.pieces import Pieces, geometry, geometry_within
from solver.beams.pieces_kernels import Geometry

# Side of the board whose values are fitted.
FIRST_SIDE = 6
# Boards with values. On 14x4, beams of usual widths often find no solution.
MOST_CELLS, _LONGEST_SIDE = BYTE_VALUES, 12
# Side of the largest square with values.
_LAST_SIDE = 8
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
def fitted_values(size: BoardSize) -> FittedValues:
    """Return the tables for a `fitted_size`. They take 0.1 s and 6 MB for 6x6, 0.5 s and 29 MB for 8x8."""
    return changes_of(pair_values(size), size)


def changes_of(values: Int16s, size: BoardSize) -> FittedValues:
    """Return the tables for values as those of `pair_values`.

    Raises `ValueError` if a move changes the value of a pair by more than the tables can hold.
    """
    neighbours = geometry(size).neighbours
    firsts, moves = np.nonzero(neighbours[:, 2:] >= 0)
    moves += 2
    seconds = neighbours[firsts, moves]
    edge_of = np.full_like(neighbours, -1)
    edge_of[firsts, moves] = edge_of[seconds, 3 - moves] = np.arange(len(firsts), dtype=np.int32)
    alone = np.einsum("pcpc->pc", values) + MOVE_UNITS * cell_distances(size)
    changes = np.subtract(values[:, seconds], values[:, firsts], dtype=np.int16)
    piece = np.arange(size.n_cells)
    changes[piece, :, piece] = 0
    most = max(int(changes.max()), -int(changes.min()))
    if most > np.iinfo(np.int8).max:
        raise ValueError(f"a move changes the value of a pair by {most} units; at most 127 fit the tables")
    n, n_edges = changes.shape[:2]
    pairs = np.zeros((n, n_edges, -(-n // 8) * 8, BYTE_VALUES), dtype=np.int8)
    pairs[:, :, :n, :n] = changes.transpose(0, 1, 3, 2)
    return FittedValues(edge_of, (alone[:, seconds] - alone[:, firsts]).astype(np.int16), pairs)


@lru_cache(maxsize=2)
def pair_values(size: BoardSize) -> Int16s:
    """Return the value of piece p on cell c and piece q on cell d, at [p, c, q, d], and of p alone, at [p, c, p, c].

    Those of 6x6 are in `FITTED_FILE`; those of a larger square are means of those of the next smaller one. Those of a
    long board are means of those of a board that is one column shorter. The first of these boards is a square, or its
    upper rows, while the pieces below stay on their cells.
    """
    side, no_classes = max(FIRST_SIDE, size.height), np.zeros(0, dtype=np.int16)
    if size.width > side:
        shorter = pair_values(BoardSize(size.width - 1, size.height))
        return unfold(no_classes, shorter, images_of_cells(size)[:1], size.width)
    if size.height < side:
        n, square = size.n_cells, pair_values(BoardSize(side, side))
        values = square[:n, :n, :n, :n].copy()
        np.einsum("pcpc->pc", values)[:] += np.einsum("pcqq->pc", square[:n, :n, n:, n:])
        return values
    if side > FIRST_SIDE:
        smaller = pair_values(BoardSize(side - 1, side - 1))
        return unfold(no_classes, smaller, images_of_cells(size), side)
    with np.load(FITTED_FILE) as file:
        return values_of_classes(file["singles"], file["classes"])


def values_of_classes(singles: Int16s, classes: Int16s) -> Int16s:
    """Return the values of 6x6, as `pair_values`, from int16[36, 36] for single pieces and int16[m], one for each class
    of pairs, see `unfold`."""
    size = BoardSize(FIRST_SIDE, FIRST_SIDE)
    values = unfold(classes, np.zeros((0, 0, 0, 0), dtype=np.int16), images_of_cells(size), FIRST_SIDE)
    np.einsum("pcpc->pc", values)[:] = singles
    return values


def images_of_cells(size: BoardSize) -> Int32s:
    """Return the cell that each symmetry of the board takes each cell to, int32[k, n], the identity first."""
    return np.array(list(symmetries(size).values()), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Rectangle of a board, embedded in the upper left corner of another board, which has fitted values.

    size       of the other board
    is_turned  whether its rows are columns of the rectangle
    image_of   int32[n]  the other board's cell for each cell, or -1
    cell_of    int32[m]  the cell for each cell of the other board, or -1
    geometry   of the other board, in which only the images are neighbours
    """

    size: BoardSize
    is_turned: bool
    image_of: Int32s
    cell_of: Int32s
    geometry: Geometry

    def embed(self, pieces: Pieces) -> Pieces:
        """Return the other board with the rectangle of `pieces`. The pieces in the rectangle must belong there."""
        cells = np.arange(self.size.n_cells, dtype=np.int32)
        is_inside = self.cell_of >= 0
        cells[is_inside] = self.image_of[pieces.cells[self.cell_of[is_inside]]]
        return Pieces(cells, int(self.image_of[pieces.blank]))

    def original_path(self, path: list[int]) -> list[int]:
        """Return the path for a path, the blank's moves, on the other board."""
        return [move ^ self.is_turned for move in path]  # up and left, or right and down, change places


def has_fitted_values(n_rows: int, n_columns: int) -> bool:
    """Return whether a rectangle of this size can be embedded."""
    return n_rows * n_columns <= MOST_CELLS and max(n_rows, n_columns) <= _LONGEST_SIDE


def fitted_size(n_rows: int, n_columns: int) -> BoardSize:
    """Return the size of the board that a rectangle is embedded in: a square, or wider than high.

    It is that of the largest part of a rectangle that cannot be embedded.
    """
    height, width = sorted((n_rows, n_columns))
    height = min(height, _LAST_SIDE)
    width = min(width, MOST_CELLS // height, _LONGEST_SIDE)
    side = max(FIRST_SIDE, width)
    return BoardSize(width, height) if width > _LAST_SIDE else BoardSize(side, side)


def embedding(size: BoardSize, rows: Sequence[int], columns: Sequence[int]) -> Embedding:
    """Return the embedding of a rectangle that has fitted values."""
    fitted = fitted_size(len(rows), len(columns))
    cells = np.arange(size.n_cells).reshape(size.height, size.width)[np.ix_(rows, columns)]
    is_turned = len(rows) > fitted.height
    if is_turned:
        cells = cells.T
    images = np.arange(fitted.n_cells).reshape(fitted.height, fitted.width)[: cells.shape[0], : cells.shape[1]]
    image_of = np.full(size.n_cells, -1, dtype=np.int32)
    cell_of = np.full(fitted.n_cells, -1, dtype=np.int32)
    image_of[cells], cell_of[images] = images, cells
    return Embedding(fitted, is_turned, image_of, cell_of, geometry_within(fitted, (cell_of >= 0).astype(np.uint8)))
