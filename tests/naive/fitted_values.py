"""Slow, simple versions of the kernels of fitted values."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Pair = tuple[int, int, int, int]


def naive_unfold(classes: Sequence[int], side: int) -> dict[Pair, int]:
    """Return the value of each pair (piece, its cell, other piece, its cell) by growing its class step by step."""
    last = side - 1

    def cell_map(change: Callable[[int, int], tuple[int, int]]) -> Callable[[Pair], Pair]:
        def image(cell: int) -> int:
            row, column = change(*divmod(cell, side))
            return row * side + column

        return lambda pair: (image(pair[0]), image(pair[1]), image(pair[2]), image(pair[3]))

    steps = [
        cell_map(lambda row, column: (column, row)),
        cell_map(lambda row, column: (row, last - column)),
        lambda pair: (pair[1], pair[0], pair[3], pair[2]),
        lambda pair: (pair[2], pair[3], pair[0], pair[1]),
    ]
    values: dict[Pair, int] = {}
    left = list(classes)
    for p, c, q, d in itertools.product(range(side * side), repeat=4):
        if p == q or c == d or (p, c, q, d) in values:
            continue
        value, todo = left.pop(0), [(p, c, q, d)]
        while todo:
            pair = todo.pop()
            if pair not in values:
                values[pair] = value
                todo += [step(pair) for step in steps]
    assert not left
    return values


def naive_value(
    singles: npt.NDArray[np.int16], pairs: npt.NDArray[np.int16], cells: Sequence[int], blank_piece: int
) -> int:
    """Return the value of the board `cells` by all its pieces and pairs; `pairs` as in `FittedValues`."""
    placed = [(piece, cell) for cell, piece in enumerate(cells) if piece != blank_piece]
    value = sum(int(singles[piece, cell]) for piece, cell in placed)
    for (p, c), (q, d) in itertools.combinations(placed, 2):
        value += int(pairs[p, c, d, q])
    return value
