"""Kernels of fitted values: the table of all pairs from one value for each class, and the values of boards."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.jit import kernel

Int16s = npt.NDArray[np.int16]


class FittedValues(NamedTuple):
    """Values of pieces and of pairs of pieces. A piece is the number of its goal cell.

    singles  int16[n, n]        of piece p on cell c
    pairs    int16[n, n, n, n]  of piece p on cell c and piece q on cell d, at [p, c, d, q]; 0 if p == q or c == d, and
                                if q is the blank. Empty if there are no values: then every value is 0.
    """

    singles: Int16s
    pairs: Int16s


@kernel
def unfold(classes: Int16s, images: Any, values: Int16s) -> int:
    """Fill `values` (int16[n, n, n, n], of p, c, q, d) with the values of the classes of equivalent pairs.

    Entries of one piece twice, and of two pieces on one cell, are 0. Two other pairs are in one class if a symmetry of
    the board (a row of `images`, int64[s, n]: the image of each cell), an exchange of goal cells and cells, or an
    exchange of the pieces takes one to the other. Classes are numbered in the order of their first pair. Returns the
    number of classes; those beyond `classes` get the value 0.
    """
    n = images.shape[1]
    flat = values.reshape(-1)
    n_classes = 0
    for p in range(n):
        for c in range(n):
            for q in range(n):
                for d in range(n):
                    here = ((p * n + c) * n + q) * n + d
                    if p == q or c == d:
                        flat[here] = 0
                        continue
                    first = here
                    for s in range(len(images)):
                        pp, cc, qq, dd = images[s, p], images[s, c], images[s, q], images[s, d]
                        first = min(first, ((pp * n + cc) * n + qq) * n + dd, ((cc * n + pp) * n + dd) * n + qq)
                        first = min(first, ((qq * n + dd) * n + pp) * n + cc, ((dd * n + qq) * n + cc) * n + pp)
                    if first == here:
                        flat[here] = classes[n_classes] if n_classes < len(classes) else 0
                        n_classes += 1
                    else:
                        # The first pair of a class comes before the others.
                        flat[here] = flat[first]
    return n_classes


@kernel
def value_of_board(fitted: FittedValues, cells: Any, blank_cell: int) -> int:
    """Return the value of the board `cells`: the sum over its pieces without the blank, and over all pairs of them."""
    value = 0
    if len(fitted.pairs) == 0:
        return value
    for c in range(len(cells)):
        if c != blank_cell:
            value += fitted.singles[cells[c], c]
            for d in range(c):
                if d != blank_cell:
                    value += fitted.pairs[cells[c], c, d, cells[d]]
    return value


@kernel
def value_change(fitted: FittedValues, cells: Any, piece: Any, near: int, here: int) -> Any:
    """Return the change of the board's value when `piece` moves from the cell `near` to the blank on `here`."""
    if len(fitted.pairs) == 0:
        return 0
    after, before = fitted.pairs[piece, here], fitted.pairs[piece, near]
    change = np.int64(fitted.singles[piece, here]) - np.int64(fitted.singles[piece, near])
    for cell in range(len(cells)):
        # Entries of the piece itself are 0.
        change += np.int64(after[cell, cells[cell]]) - np.int64(before[cell, cells[cell]])
    # The pair with the blank, which has no value.
    return change - (np.int64(after[here, cells[here]]) - np.int64(before[here, cells[here]]))
