"""Kernels of fitted values: the values of boards and of moves."""

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
