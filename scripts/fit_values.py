"""Fit the values that rank boards up to 6x6 in the beam search of `pdb approximate` to lengths of solutions.

    python scripts/fit_values.py values.npz --boards 500 --seed 1

Solves random boards by beams with the present values, and shortens windows of the solutions. Each pair of boards on a
solution is an example: the second is the goal of the first, at the number of moves between them. Stochastic gradient
descent fits the value of each piece on its cell and of each pair of pieces. The value of a pair is the sum of two: one
for pairs that a symmetry of the board maps onto each other, and one for pairs of equal displacements, which has more
examples per value. Prints the error on boards that were left out. Repeat it with the values it wrote, as
solver/large_boards/fitted_values.npz; docs/decisions/0051-values-fitted-to-solutions.md has the results.
"""

import argparse
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import blank_last, random_boards
from solver.board_arrays import cell_distances
from solver.large_boards.fitted_values import FITTED_SIZE, MOVE_UNITS, embedding, symmetry_images
from solver.large_boards.line_by_line import Pieces, in_pieces
from solver.large_boards.suboptimal import find, fitted_aim, shorten_each_window

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# The boards of a solution, in pieces: int64[moves + 1, 36].
Boards = Ints
_WIDTH, _WINDOWS = 2000, ((60, 500), (100, 1000))
_N = FITTED_SIZE.n_cells
# Examples per step. With many more, the steps for pairs of equal displacements add up to too much.
_BATCH = 8
_FIRST_RATE, _LAST_RATE = 0.1, 0.003
# Share of a step that goes to values by symmetry, and the decay of these values.
_SYMMETRY_SHARE, _DECAY = 0.3, 1e-4
_LEAST_MOVES = 5


def solutions(n_boards: int, seed: int) -> Iterator[Boards]:
    """Yield the boards of a good solution of each random board."""
    goal = blank_last(FITTED_SIZE)
    aim = fitted_aim(embedding(FITTED_SIZE, range(6), range(6)))
    for board in random_boards(FITTED_SIZE, goal, n_boards, seed):
        pieces = in_pieces(tuple(board.tolist()), goal)
        path = find(pieces, aim, _WIDTH, 500, math.inf)
        if path is None:
            continue
        for length, width in _WINDOWS:
            for first in (0, length // 2):
                path = shorten_each_window(aim, pieces, path, first, length, width, math.inf)
        yield np.array([cells.cells for cells in _boards_of(pieces, path)], dtype=np.int64)


def _boards_of(pieces: Pieces, path: list[int]) -> Iterator[Pieces]:
    yield pieces
    for cell in path:
        pieces = pieces.after([cell])
        yield pieces


def pair_classes() -> tuple[Ints, Ints]:
    """Return the class of each pair by the symmetries of `unfold`, and by displacements: int64[36, 36, 36, 36] each.

    Indices are those of a piece, its cell, another piece, its cell.
    """
    grid = np.meshgrid(*[np.arange(_N)] * 4, indexing="ij")
    first = first_moved = np.full((_N,) * 4, np.iinfo(np.int64).max)
    side = FITTED_SIZE.width
    for image in symmetry_images(FITTED_SIZE):
        a, b, c, d = (image[cells] for cells in grid)
        for p, at_p, q, at_q in ((a, b, c, d), (b, a, d, c), (c, d, a, b), (d, c, b, a)):
            first = np.minimum(first, ((p * _N + at_p) * _N + q) * _N + at_q)
            moved = np.zeros_like(first)
            for start, stop in ((p, q), (p, at_p), (q, at_q)):
                moved = moved * 32 + (stop // side - start // side + side)
                moved = moved * 32 + (stop % side - start % side + side)
            first_moved = np.minimum(first_moved, moved)
    by_symmetry, by_displacement = (
        np.unique(codes, return_inverse=True)[1].reshape(codes.shape) for codes in (first, first_moved)
    )
    return by_symmetry, by_displacement


class Fit:
    """Values being fitted, in moves: of pieces by cell, and the two of pairs."""

    def __init__(self) -> None:
        self._classes = pair_classes()
        self._pairs = [np.zeros(classes.max() + 1) for classes in self._classes]
        images = symmetry_images(FITTED_SIZE)
        codes = np.min([images[:, None].T * _N + images.T[None], images.T[None] * _N + images[:, None].T], axis=(0, 3))
        self._single_classes = np.unique(codes, return_inverse=True)[1].reshape(_N, _N)
        self._distances = cell_distances(FITTED_SIZE)
        self._singles = np.zeros(self._single_classes.max() + 1)
        self._upper = np.triu_indices(_N - 1, 1)

    def step(self, paths: list[Boards], rng: np.random.Generator, rate: float) -> Floats:
        """Move the values towards those of a batch of random examples. Returns the errors before, in moves."""
        errors = np.empty(_BATCH)
        pairs: list[list[Ints]] = [[], []]
        singles = []
        for i in range(_BATCH):
            path = paths[rng.integers(len(paths))]
            moves = int(rng.integers(_LEAST_MOVES, len(path)))
            start = int(rng.integers(len(path) - moves))
            tiles = path[start] != _N - 1
            names, cells = np.argsort(path[start + moves])[path[start]][tiles], np.flatnonzero(tiles)
            u, v = self._upper
            single = self._single_classes[names, cells]
            found = [classes[names[u], cells[u], names[v], cells[v]] for classes in self._classes]
            value = self._distances[names, cells].sum() + self._singles[single].sum()
            errors[i] = value + sum(self._pairs[k][found[k]].sum() for k in range(2)) - moves
            singles.append(single)
            for k in range(2):
                pairs[k].append(found[k])
        if rate:
            steps = rate * errors / len(self._upper[0])
            _descend(self._singles, singles, steps, 0.0)
            _descend(self._pairs[0], pairs[0], _SYMMETRY_SHARE * steps, _DECAY * rate)
            _descend(self._pairs[1], pairs[1], steps, 0.0)
        return errors

    def save(self, file: Path) -> None:
        """Write the values in the form of `fitted_values`."""
        first, moved = self._classes
        grid = np.indices(first.shape)
        is_pair = (grid[0] != grid[2]) & (grid[1] != grid[3])
        places = np.unique(first[is_pair], return_index=True)[1]
        values = (self._pairs[0][first] + self._pairs[1][moved])[is_pair][places]
        in_units = [np.rint(MOVE_UNITS * x).astype(np.int16) for x in (self._singles[self._single_classes], values)]
        np.savez_compressed(file, singles=in_units[0], classes=in_units[1])


def _descend(values: Floats, classes: list[Ints], steps: Floats, decay: float) -> None:
    size = len(classes[0])
    indices = np.concatenate(classes)
    values -= np.bincount(indices, np.repeat(steps, size), len(values))
    if decay:
        values *= 1 - decay * np.bincount(indices, minlength=len(values))


def main() -> None:
    """Fit values and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, help="file to write, .npz")
    parser.add_argument("--boards", type=int, default=500, help="random boards; a tenth is left out of the fit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60_000, help=f"steps of {_BATCH} examples")
    options = parser.parse_args()
    paths = list(solutions(options.boards, options.seed))
    n_left_out = max(1, len(paths) // 10)
    fit, rng = Fit(), np.random.default_rng(options.seed)
    error = partial(fit.step, paths[:n_left_out], rng, 0.0)
    for number in range(options.steps):
        if number % (options.steps // 10 or 1) == 0:
            rmse = math.sqrt(np.mean([error() ** 2 for _ in range(200)]))
            print(f"{number} steps: error {rmse:.2f} moves on {n_left_out} boards left out", flush=True)
        rate = _FIRST_RATE * (_LAST_RATE / _FIRST_RATE) ** (number / options.steps)
        fit.step(paths[n_left_out:], rng, rate)
    fit.save(options.out)


if __name__ == "__main__":
    main()
