"""Kernels of fitted values: the values of all pairs from those of their classes, or from those of a smaller board."""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.jit import kernel
from pdb_core.types import Int8s, Int16s, Int32s

# Length of the tables that bytes are looked up in.
BYTE_VALUES = 64
_UNKNOWN = np.int16(-(2**15))


class FittedValues(NamedTuple):
    """Changes of the estimate when a piece moves along an edge, from its first cell to its second. All are 0 without
    edges. A piece is the number of its goal cell.

    edge_of  int32[n, 4]        the edge from each cell above, left, right and below, else -1
    singles  int16[n, m]        of piece p along edge e, for the piece alone
    pairs    int8[n, m, k, 64]  of piece p along edge e, with piece q on cell d, at [p, e, d, q]; 0 if q == p, and for
                                cells and pieces from n on; k is the next multiple of 8
    """

    edge_of: Int32s
    singles: Int16s
    pairs: Int8s


@kernel
def unfold(classes: Int16s, smaller: Int16s, images: Int32s, width: int) -> Int16s:
    """Return the value of piece p on cell c and piece q on cell d, at [p, c, q, d].

    Two pairs are in one class if a symmetry of the board, an exchange of goal cells and cells, or an exchange of
    the pieces takes one to the other. `classes` has their values, in the order of their first pairs. If it is empty,
    they are means of `smaller`, see `mean_of_smaller`. Entries of two pieces on one cell, and of one piece on two
    cells, are 0. If p == q and c == d, the value is that of the piece alone; with `classes`, 0.

    images  int32[k, n]  the cell that each symmetry takes each cell to
    """
    n = images.shape[1]
    values = np.full((n, n, n, n), _UNKNOWN, dtype=np.int16)
    n_classes = 0
    for p in range(n):
        for c in range(n):
            for q in range(n):
                for d in range(n):
                    if values[p, c, q, d] != _UNKNOWN:
                        continue
                    value = np.int16(0)
                    if len(classes) == 0:
                        if (p == q) == (c == d):
                            value = np.int16(mean_of_smaller(smaller, (p, c, q, d), width, n // width))
                    elif p != q and c != d:
                        value = classes[n_classes]
                        n_classes += 1
                    for image in images:
                        a, b, x, y = image[p], image[c], image[q], image[d]
                        values[a, b, x, y] = values[b, a, y, x] = value
                        values[x, y, a, b] = values[y, x, b, a] = value
    return values


@kernel
def mean_of_smaller(smaller: Int16s, cells: Any, width: int, height: int) -> float:
    """Return the mean value over all ways to take off a column without the four cells, rounded to an integer.

    If the smaller board is lower, too, a row without these cells is taken off as well.
    """
    a, b, x, y = cells
    # No cell is in a row below the board.
    first_row, last_row = (0, height) if len(smaller) < height * (width - 1) else (height, height + 1)
    total = ways = 0
    for row in range(first_row, last_row):
        if row in (a // width, b // width, x // width, y // width):
            continue
        for column in range(width):
            if column in (a % width, b % width, x % width, y % width):
                continue
            p, c = _without(a, row, column, width), _without(b, row, column, width)
            q, d = _without(x, row, column, width), _without(y, row, column, width)
            total += smaller[p, c, q, d]
            ways += 1
    return np.rint(total / ways)  # type: ignore[no-any-return]


@kernel
def _without(cell: Any, row: int, column: int, width: int) -> Any:
    """Return the number of a cell on the board without a row and a column."""
    above, left = cell // width, cell % width
    return (above - (above > row)) * (width - 1) + left - (left > column)
