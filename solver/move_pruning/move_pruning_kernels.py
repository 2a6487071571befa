"""Kernel that plays sequences of moves on a board without borders, to see what they do."""

from typing import Any

from pdb_core.jit import kernel

# The grid has room for any sequence from its middle.
GRID = 64
MIDDLE = GRID // 2


@kernel
def play_sequences(codes: Any, length: int, keys: Any, grid: Any, effects: Any, boxes: Any) -> None:
    """Play sequences of moves of the blank, each from the same start.

    codes    int64[m]            two bits a move, the first move highest: 0 up, 1 left, 2 right, 3 down
    length   moves of each sequence
    keys     int64[2 * GRID * GRID]  random numbers of 31 bits, for the cell a piece came from and the cell it is on
    grid     int64[GRID * GRID]  scratch; grid[c] = c before and after
    effects  int64[m]            mutated: combined keys of the displaced pieces, the blank among them; equal for equal
             effects
    boxes    int64[m, 4]         mutated: highest and lowest row, leftmost and rightmost column that the blank visits
    """
    start = MIDDLE * GRID + MIDDLE
    for i in range(codes.shape[0]):
        blank = start
        top, bottom, left, right = MIDDLE, MIDDLE, MIDDLE, MIDDLE
        for step in range(length - 1, -1, -1):
            move = (codes[i] >> (2 * step)) & 3
            target = blank + (-GRID if move == 0 else -1 if move == 1 else 1 if move == 2 else GRID)
            grid[blank], grid[target] = grid[target], grid[blank]
            blank = target
            row, column = blank // GRID, blank % GRID
            top, bottom = min(top, row), max(bottom, row)
            left, right = min(left, column), max(right, column)
        boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3] = top, bottom, left, right
        # Every displaced piece is on a cell of the box.
        effect = 0
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                cell = row * GRID + column
                if grid[cell] != cell:
                    effect ^= keys[grid[cell]] * keys[GRID * GRID + cell]
                grid[cell] = cell
        effects[i] = effect
