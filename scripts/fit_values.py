"""Fit the values that rank boards in `pdb approximate`, from nothing.

    scripts/fit_values values.npz

A round solves random boards of 6x6 by beams with the values of the round before, at first by Manhattan distance alone,
and shortens windows of the solutions. Every round takes the boards of the round before and more, and keeps the shortest
solution of each. Any two boards on a solution are an example: the second is the goal of the first, at the number of
moves between them. Stochastic gradient descent then fits, from zero, the value of each piece on its cell and of each
pair of pieces. The value of a pair is the sum of two: one for pairs that a symmetry of the board maps onto each other,
and one for pairs of equal displacements, which has more examples. The result is the mean of the values of the last two
rounds.

A beam keeps boards that are estimated too near to the goal. So later rounds take some examples from strays, boards of a
beam, with solutions of their own. Some strays are more than 100 moves too near: no error counts for more than 5 moves.

The result depends on the seeds alone: all is computed in integers, or in a fixed order by additions, multiplications
and divisions.
"""

import math
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import numba
import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.moves import make_moves
from pdb_core.puzzle import blank_last, cell_distances, random_boards
from pdb_core.resources import available_cores
from pdb_core.types import Int16s, Int32s
from solver.approximate.suboptimal import find_from_both_ends
from solver.beams.beam_search import find_path, new_beam
from solver.beams.beam_search_kernels import NOT_FOUND, Aim, grow_beam, start_beam
from solver.beams.fitted_values import (
    FIRST_SIDE,
    FITTED_FILE,
    MOVE_UNITS,
    changes_of,
    embedding,
    images_of_cells,
    values_of_classes,
)
from solver.beams.pieces import Pieces, in_pieces
from solver.beams.solutions import fitted_aim
from solver.engine.worker_pool import in_parallel

# A path of the blank, or None; and the boards, in pieces, on it and on the solutions of strays: int32[moves + 1, 36].
Solved = tuple[list[int] | None, list[Int32s]]

_N = FIRST_SIDE * FIRST_SIDE
_SIZE = BoardSize(FIRST_SIDE, FIRST_SIDE)
# Of each round: boards, width of their beams, whether each board has strays, examples, and first rate of the descent.
_ROUNDS = (
    (100, 1000, False, 2_000_000, 0.05),
    (200, 1000, False, 2_000_000, 0.05),
    (400, 1000, False, 2_000_000, 0.05),
    (800, 2000, True, 2_000_000, 0.05),
    (1500, 2000, True, 2_000_000, 0.05),
    (4000, 2000, True, 2_000_000, 0.05),
    (4000, 2000, True, 4_000_000, 0.1),
)
# Windows of a solution that are searched again: length and width of the beam.
_WINDOWS = ((60, 500), (100, 1000))
# Beams of this width find strays and solve them. A board has one stray from any layer up to the length of its solution,
# and another from the last layers before that length.
_STRAY_WIDTH, _LAST_LAYERS = 1000, 30
_MOST_MOVES = 600
# One in this number of examples begins at a stray.
_STRAY_ONE_IN = 20
_LAST_RATE = 0.0003
# Errors count for at most as many moves.
_MOST_ERROR = 5
# Share of a step that goes to the values by symmetry, and the fewest moves of an example.
_SYMMETRY_SHARE, _LEAST_MOVES = 0.3, 5


def solve_boards(
    values: list[Int16s], n_boards: int, width: int, has_strays: bool, paths: list[list[int] | None]
) -> list[Solved]:
    """Return good solutions of the first random boards: for those with a path, none longer than it."""
    present = fitted_aim(embedding(_SIZE, range(FIRST_SIDE), range(FIRST_SIDE)))
    aim = present._replace(fitted=changes_of(values_of_classes(*values), _SIZE))
    goal = blank_last(_SIZE)
    boards = [in_pieces(tuple(board.tolist()), goal) for board in random_boards(_SIZE, goal, n_boards, seed=0)]

    def solve(number: int, _report: object, _pool: object) -> Solved:
        board = boards[number]
        found = find_from_both_ends(board, aim, width, _MOST_MOVES, math.inf), *paths[number : number + 1]
        path = min((each for each in found if each is not None), key=len, default=None)
        if path is None:
            return None, []
        for length, window_width in _WINDOWS:
            for first in (0, length // 2):
                path = shorten_windows(board, path, aim, first, length, window_width)
        return path, [boards_on(board, path), *(solve_strays(board, aim, len(path), number) if has_strays else ())]

    return list(in_parallel(range(n_boards), solve, n_threads=available_cores()))


def solve_strays(board: Pieces, aim: Aim, length: int, seed: int, width: int = _STRAY_WIDTH) -> list[Int32s]:
    """Return the boards on the solutions of random boards in two layers of a beam, if beams find them."""
    rng = np.random.default_rng(seed)
    beam = new_beam(_N, width, length)
    start_beam(beam, board.cells, board.blank_cell)
    solutions = []
    for depth in sorted((int(rng.integers(1, length)), length - int(rng.integers(_LAST_LAYERS)))):
        if grow_beam(beam, aim, width, depth) != NOT_FOUND or beam.state[0] == 0:
            break
        cells = beam.boards[depth & 1, int(rng.integers(beam.state[0])), :_N].astype(np.int32)
        stray = Pieces(cells, board.blank)
        path = find_from_both_ends(stray, aim, width, _MOST_MOVES, math.inf)
        if path is not None and len(path) >= _LEAST_MOVES:
            solutions.append(boards_on(stray, path))
    return solutions


def boards_on(board: Pieces, path: list[int]) -> Int32s:
    """Return the boards on a path, the first and the last included."""
    cells = board.cells.copy()
    return np.array([board.cells, *(cells.copy() for _ in make_moves(cells, path, _SIZE, board.blank))])


def shorten_windows(board: Pieces, path: list[int], aim: Aim, first: int, length: int, width: int) -> list[int]:
    """Return the path with each window of `length` moves, from move `first` on, searched again by a beam."""
    shorter = path[:first]
    for start in range(first, len(path), length):
        window = path[start : start + length]
        before, after = board.after(path[:start], _SIZE), board.after(path[: start + len(window)], _SIZE)
        relative = Pieces(np.argsort(after.cells).astype(np.int32)[before.cells], after.blank_cell)
        shorter += find_path(relative, aim, width, len(window) - 2, math.inf) or window
    return shorter


@cache
def value_classes() -> tuple[Int32s, Int32s]:
    """Return the number of the value of each piece on its cell, and of the two values of each pair of pieces.

    int32[36, 36], at [piece, cell]; and int32[36, 36, 36, 36, 2], at [piece, its cell, another piece, its cell]: the
    value by symmetry, numbered by first pairs, and the value by displacement.
    """
    shape = (_N,) * 4
    rows, columns = np.divmod(np.arange(_N), FIRST_SIDE)
    displacement = 32 * np.subtract.outer(rows, rows) + np.subtract.outer(columns, columns)
    symmetric = displaced = np.full(shape, np.iinfo(np.int64).max)
    for image in images_of_cells(_SIZE):
        a, b, c, d = image[np.indices(shape)]
        for p, at_p, q, at_q in ((a, b, c, d), (b, a, d, c), (c, d, a, b), (d, c, b, a)):
            symmetric = np.minimum(symmetric, np.ravel_multi_index((p, at_p, q, at_q), shape))
            code = (displacement[p, q] * 1024 + displacement[p, at_p]) * 1024 + displacement[q, at_q]
            displaced = np.minimum(displaced, code)
    # The code of a pair of twice the same piece on its cell.
    single = np.einsum("pcpc->pc", symmetric)
    numbers, n_values = [], 0
    for codes in (single, symmetric, displaced):
        numbers.append(n_values + np.unique(codes, return_inverse=True)[1].reshape(codes.shape).astype(np.int32))
        n_values = numbers[-1].max() + 1
    return numbers[0], np.stack(numbers[1:], axis=-1)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def descend(
    boards: Any, firsts: Any, n_random: int, distances: Any, single_of: Any, pair_of: Any, values: Any, n_examples: int,
    rates: Any, seed: int,
) -> float:  # fmt: skip
    """Fit values to random examples, and return the root mean square of the errors before each step, in moves.

    boards     int32[m, 36]: boards of all solutions; those of one begin at `firsts` and end before the next one
    n_random   the first solutions are those of random boards, the others those of strays
    single_of  see `value_classes`, as for pair_of
    values     float64[m]
    rates      first and last rate of the descent; with rates of 0, values do not change
    """
    np.random.seed(seed)
    n = boards.shape[1]
    squares = 0.0
    goal_of = np.empty(n, dtype=np.int64)
    pieces, cells = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64)
    for number in range(n_examples):
        begins_at_stray = len(firsts) - 1 > n_random and np.random.randint(_STRAY_ONE_IN) == 0
        solution = np.random.randint(n_random, len(firsts) - 1) if begins_at_stray else np.random.randint(n_random)
        length = firsts[solution + 1] - firsts[solution] - 1
        moves = np.random.randint(_LEAST_MOVES, length + 1)
        start = firsts[solution] + (0 if begins_at_stray else np.random.randint(length + 1 - moves))
        for cell in range(n):
            goal_of[boards[start + moves, cell]] = cell
        k = 0
        estimate = 0.0
        for cell in range(n):
            if boards[start, cell] != n - 1:
                pieces[k], cells[k] = goal_of[boards[start, cell]], cell
                estimate += distances[pieces[k], cell] + values[single_of[pieces[k], cell]]
                k += 1
        for i in range(k):
            for j in range(i + 1, k):
                for each in pair_of[pieces[i], cells[i], pieces[j], cells[j]]:
                    estimate += values[each]
        error = estimate - moves
        squares += error * error
        left = 1 - number / n_examples
        rate = rates[1] + (rates[0] - rates[1]) * left * left * left
        step = rate * max(-_MOST_ERROR, min(_MOST_ERROR, error)) / (k * (k - 1) // 2)
        for i in range(k):
            values[single_of[pieces[i], cells[i]]] -= step
            for j in range(i + 1, k):
                symmetric, displaced = pair_of[pieces[i], cells[i], pieces[j], cells[j]]
                values[symmetric] -= _SYMMETRY_SHARE * step
                values[displaced] -= step
    return math.sqrt(squares / n_examples)


def fit(solved: list[Solved], n_examples: int, first_rate: float, seed: int) -> list[Int16s]:
    """Return the values of single pieces and of the classes of pairs that fit solutions, as `values_of_classes` takes
    them. The solutions of the last tenth of the boards are left out, and the error on them is printed."""
    single_of, pair_of = value_classes()
    values, distances = np.zeros(pair_of.max() + 1), cell_distances(_SIZE).astype(np.int64)
    of_random = [boards for _, (boards, *_) in solved]
    n_fitted = len(of_random) - max(1, len(of_random) // 10)
    of_strays = [boards for _, (_, *strays) in solved for boards in strays]
    left_out, fitted = (
        (np.concatenate(part), np.cumsum([0, *map(len, part)]), min(n_fitted, len(part)))
        for part in (of_random[n_fitted:], of_random[:n_fitted] + of_strays)
    )
    descend(*fitted, distances, single_of, pair_of, values, n_examples, (first_rate, _LAST_RATE), seed)
    error = descend(*left_out, distances, single_of, pair_of, values, 20_000, (0.0, 0.0), seed)
    print(f"error {error:.2f} moves on {len(of_random) - n_fitted} boards left out", flush=True)
    pieces, cells, others, other_cells = np.indices(pair_of.shape[:4])
    pairs = pair_of[(pieces != others) & (cells != other_cells)]
    firsts = np.unique(pairs[:, 0], return_index=True)[1]
    of_pairs = values[pairs[firsts]].sum(axis=1)
    return [np.rint(MOVE_UNITS * each).astype(np.int16) for each in (values[single_of], of_pairs)]


def main(out: str, rounds: Sequence[tuple[int, int, bool, int, float]] = _ROUNDS) -> None:
    """Fit values and write them into a file, .npz, in the form of fitted_values.npz."""
    with np.load(FITTED_FILE) as file:
        values = [np.zeros_like(file[name]) for name in ("singles", "classes")]
    paths: list[list[int] | None] = []
    for number, (n_boards, width, has_strays, n_examples, first_rate) in enumerate(rounds):
        solved = solve_boards(values, n_boards, width, has_strays, paths)
        paths = [path for path, _ in solved]
        solved = [each for each in solved if each[1]]
        moves = np.mean([len(path) for path, _ in solved])
        print(f"round {number}: {len(solved)} of {n_boards} boards, {moves:.1f} moves on average, ", end="")
        before, values = values, fit(solved, n_examples, first_rate, seed=number)
        means = [
            np.rint((old + new.astype(float)) / 2).astype(np.int16) for old, new in zip(before, values, strict=True)
        ]
        np.savez_compressed(out, singles=means[0], classes=means[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
