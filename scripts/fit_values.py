"""Fit values that rank boards in `pdb approximate`, from nothing.

    python scripts/fit_values.py values.npz

A round solves random boards of 6x6 by beams with the values of the round before, at first by Manhattan distance alone,
and shortens windows of the solutions. Any two boards on a solution are an example: the second is the goal of the first,
at the number of moves between them. Stochastic gradient descent then fits the value of each piece on its cell and of
each pair of pieces. The value of a pair is the sum of two: one for pairs that a symmetry of the board maps onto each
other, and one for pairs of equal displacements, which has more examples.

The result depends on the seeds alone: all is computed in integers, or in a fixed order.
"""

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BoardSize, blank_last, random_boards
from pdb_core.resources import available_cores
from solver.board_arrays import cell_distances
from solver.engine.worker_pool import in_parallel
from solver.large_boards.beam_search import find_path
from solver.large_boards.beam_search_kernels import Aim
from solver.large_boards.fitted_values import (
    FIRST_SIDE,
    FITTED_FILE,
    MOVE_UNITS,
    changes_of,
    embedding,
    images_of_cells,
    values_of_classes,
)
from solver.large_boards.line_by_line import Pieces, in_pieces
from solver.large_boards.suboptimal import find_from_both_ends, fitted_aim

Int32s = npt.NDArray[np.int32]

_SIDE = FIRST_SIDE
_N = _SIDE * _SIDE
_SIZE = BoardSize(_SIDE, _SIDE)
# Boards of each round and the width of their beams. The number of a round is the seed of its boards and examples.
_ROUNDS = ((100, 1000), (200, 1000), (400, 1000), (800, 2000), (1400, 2000))
# Windows of a solution that are searched again: length and width of the beam.
_WINDOWS = ((60, 500), (100, 1000))
_MOST_MOVES = 600
_EXAMPLES = 2_000_000
_FIRST_RATE, _LAST_RATE = 0.1, 0.003
# Share of a step that goes to the values by symmetry, and the fewest moves of an example.
_SYMMETRY_SHARE, _LEAST_MOVES = 0.3, 5


def aim_of(singles: npt.NDArray[np.int16], classes: npt.NDArray[np.int16]) -> Aim:
    """Return the aim of beams with fitted values."""
    present = fitted_aim(embedding(_SIZE, range(_SIDE), range(_SIDE)))
    return present._replace(fitted=changes_of(values_of_classes(singles, classes), _SIDE))


def solutions(aim: Aim, n_boards: int, width: int, seed: int) -> Iterator[Int32s]:
    """Yield the boards of a good solution of each random board that beams solve, int32[moves + 1, 36] in pieces."""
    goal = blank_last(_SIZE)
    boards = [in_pieces(tuple(board.tolist()), goal) for board in random_boards(_SIZE, goal, n_boards, seed)]

    def solve(board: Pieces, _report: object, _pool: object) -> Int32s | None:
        path = find_from_both_ends(board, aim, width, _MOST_MOVES, math.inf)
        if path is None:
            return None
        for length, window_width in _WINDOWS:
            for first in (0, length // 2):
                path = shorten_windows(board, path, aim, first, length, window_width)
        return np.array([each.cells for each in boards_on(board, path)], dtype=np.int32)

    for found in in_parallel(boards, solve, n_threads=available_cores()):
        if found is not None:
            yield found


def boards_on(board: Pieces, path: list[int]) -> Iterator[Pieces]:
    """Yield the boards on a path, the first and the last included."""
    yield board
    for cell in path:
        board = board.after([cell])
        yield board


def shorten_windows(board: Pieces, path: list[int], aim: Aim, first: int, length: int, width: int) -> list[int]:
    """Return the path with each window of `length` moves, from move `first` on, searched again by a beam."""
    shorter = path[:first]
    for start in range(first, len(path), length):
        window = path[start : start + length]
        before, after = board.after(path[:start]), board.after(path[: start + len(window)])
        relative = Pieces(np.argsort(after.cells).astype(np.int32)[before.cells], after.blank_cell)
        shorter += find_path(relative, aim, width, len(window) - 2, math.inf) or window
    return shorter


def pair_classes() -> tuple[Int32s, Int32s]:
    """Return the class of each pair by symmetries, and by displacements: int32[36, 36, 36, 36] each.

    Indices are those of a piece, its cell, another piece, its cell.
    """
    grid = np.indices((_N,) * 4)
    first = first_moved = np.full((_N,) * 4, np.iinfo(np.int64).max)
    for image in images_of_cells(_SIDE):
        a, b, c, d = (image[cells] for cells in grid)
        for p, at_p, q, at_q in ((a, b, c, d), (b, a, d, c), (c, d, a, b), (d, c, b, a)):
            first = np.minimum(first, ((p * _N + at_p) * _N + q).astype(np.int64) * _N + at_q)
            moved = np.zeros_like(first)
            for start, stop in ((p, q), (p, at_p), (q, at_q)):
                moved = moved * 32 + (stop // _SIDE - start // _SIDE + _SIDE)
                moved = moved * 32 + (stop % _SIDE - start % _SIDE + _SIDE)
            first_moved = np.minimum(first_moved, moved)
    by_symmetry, by_displacement = (
        np.unique(codes, return_inverse=True)[1].reshape(codes.shape).astype(np.int32) for codes in (first, first_moved)
    )
    return by_symmetry, by_displacement


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def descend(
    boards: Any, firsts: Any, distances: Any, classes: Any, values: Any, n_examples: int, rates: Any, seed: int
) -> float:
    """Fit values to random examples, and return the root mean square of the errors before each step, in moves.

    boards     int32[m, 36]: boards of all solutions; those of one begin at `firsts` and end before the next one
    classes    class of a piece on its cell, and of a pair by symmetry and by displacement
    values     float64 of each class of these three kinds
    rates      first and last rate of the descent; with rates of 0, values do not change
    """
    single_of, symmetric_of, displaced_of = classes
    singles, symmetric, displaced = values
    np.random.seed(seed)
    n = boards.shape[1]
    squares = 0.0
    goal_of = np.empty(n, dtype=np.int64)
    pieces, cells = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64)
    for number in range(n_examples):
        solution = np.random.randint(len(firsts) - 1)
        length = firsts[solution + 1] - firsts[solution] - 1
        moves = np.random.randint(_LEAST_MOVES, length + 1)
        start = firsts[solution] + np.random.randint(length + 1 - moves)
        for cell in range(n):
            goal_of[boards[start + moves, cell]] = cell
        k = 0
        estimate = 0.0
        for cell in range(n):
            if boards[start, cell] != n - 1:
                pieces[k], cells[k] = goal_of[boards[start, cell]], cell
                estimate += distances[pieces[k], cell] + singles[single_of[pieces[k], cell]]
                k += 1
        for i in range(k):
            for j in range(i + 1, k):
                estimate += symmetric[symmetric_of[pieces[i], cells[i], pieces[j], cells[j]]]
                estimate += displaced[displaced_of[pieces[i], cells[i], pieces[j], cells[j]]]
        error = estimate - moves
        squares += error * error
        rate = rates[0] * (rates[1] / rates[0]) ** (number / n_examples) if rates[0] > 0 else 0.0
        if rate == 0:
            continue
        step = rate * error / (k * (k - 1) // 2)
        for i in range(k):
            singles[single_of[pieces[i], cells[i]]] -= step
            for j in range(i + 1, k):
                symmetric[symmetric_of[pieces[i], cells[i], pieces[j], cells[j]]] -= _SYMMETRY_SHARE * step
                displaced[displaced_of[pieces[i], cells[i], pieces[j], cells[j]]] -= step
    return math.sqrt(squares / n_examples)


def fit(paths: list[Int32s], seed: int) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
    """Return the values of single pieces and of the classes of pairs that fit solutions, as `values_of_classes` takes
    them. A tenth of the solutions is left out, and the error on them is printed."""
    images = images_of_cells(_SIDE)
    codes = np.min([images[:, :, None] * _N + images[:, None, :], images[:, None, :] * _N + images[:, :, None]], (0, 1))
    single_of = np.unique(codes, return_inverse=True)[1].reshape(_N, _N).astype(np.int32)
    symmetric_of, displaced_of = pair_classes()
    classes = single_of, symmetric_of, displaced_of
    values = tuple(np.zeros(of.max() + 1) for of in classes)
    distances = cell_distances(_SIZE).astype(np.int64)
    n_left_out = max(1, len(paths) // 10)
    left_out, fitted = (
        (np.concatenate(part), np.cumsum([0, *map(len, part)])) for part in (paths[:n_left_out], paths[n_left_out:])
    )
    descend(*fitted, distances, classes, values, _EXAMPLES, (_FIRST_RATE, _LAST_RATE), seed)
    error = descend(*left_out, distances, classes, values, 20_000, (0.0, 0.0), seed)
    print(f"error {error:.2f} moves on {n_left_out} boards left out", flush=True)
    grid = np.indices(symmetric_of.shape)
    is_pair = (grid[0] != grid[2]) & (grid[1] != grid[3])
    places = np.unique(symmetric_of[is_pair], return_index=True)[1]
    of_pairs = (values[1][symmetric_of] + values[2][displaced_of])[is_pair][places]
    singles, of_classes = (np.rint(MOVE_UNITS * each).astype(np.int16) for each in (values[0][single_of], of_pairs))
    return singles, of_classes


def main() -> None:
    """Fit values and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, help="file to write, .npz, in the form of fitted_values.npz")
    out = parser.parse_args().out
    with np.load(FITTED_FILE) as file:
        singles, classes = (np.zeros_like(file[name]) for name in ("singles", "classes"))
    start = time.perf_counter()
    for seed, (n_boards, width) in enumerate(_ROUNDS):
        paths = list(solutions(aim_of(singles, classes), n_boards, width, seed))
        moves = sum(map(len, paths)) / max(1, len(paths)) - 1
        print(f"round {seed}: {len(paths)} of {n_boards} boards, {moves:.1f} moves on average, ", end="")
        singles, classes = fit(paths, seed)
        print(f"{time.perf_counter() - start:.0f} s", flush=True)
        np.savez_compressed(out, singles=singles, classes=classes)


if __name__ == "__main__":
    main()
