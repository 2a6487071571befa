"""Boards at each distance from the goal, with their labels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import as_all, as_count, as_function, check_kind, refusal
from pdb_core.errors import InputError
from pdb_core.puzzle import BoardLike, Boards, as_goal
from pdb_query.board_rows import board_rows
from solver.board_arrays import blank_moved, neighbours_by_move
from solver.labels import Labels
from solver.progress import Report
from solver.solve import Solver

# Boards of each distance from which the next ones are drawn: more of them reach farther, but take minutes on boards of
# more cells.
_LEAST_BOARDS, _MAX_CELLS_OF_MANY = (1, 4, 16, 100, 10_000), 10
_DISTANCES = "one or more distances from the goal"


@dataclass(frozen=True, repr=False)
class LabelledBoards(Labels):
    """Boards, uint8[m, n_cells], and their labels; without moves if `content` is "distances"."""

    boards: npt.NDArray[np.uint8]


def label_by_distance(
    solver: Solver,
    max_distance: int,
    n_each: int = 100,
    *,
    goal: BoardLike | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    report: Report | None = None,
) -> Iterator[LabelledBoards]:
    """Yield labelled boards of distance 0, 1, 2 and so on, up to `n_each` different ones of each distance.

    The boards of a distance are drawn from the neighbours of those one nearer that a move takes away from the goal. So
    it works also far above the distances of random boards. Each board at a distance can be drawn, but not all are
    equally likely. Near the largest distance of the puzzle there may be fewer boards, and the iteration ends when no
    board drawn has a neighbour that is farther away; with more boards of each distance, it reaches farther.

    Parameters
    ----------
    solver
        The solver that labels the boards.
    max_distance
        Largest distance.
    n_each
        Most boards of a distance.
    goal
        By default that of the solver.
    seed
        Equal seeds give equal boards.
    n_threads
        By default all cores.
    report
        As in `Solver.label`.

    Raises
    ------
    InputError, GoalError
        An argument is invalid.

    Examples
    --------
    >>> solver = Solver("data/8.h5")
    >>> [len(labelled.boards) for labelled in label_by_distance(solver, 6, 30)]
    [1, 2, 4, 8, 16, 20, 30]
    """
    check_kind(solver, Solver, "solver", "a Solver")
    max_distance, n_each = as_count(max_distance, "max_distance"), as_count(n_each, "n_each", 1)
    generator, size = np.random.default_rng(as_count(seed, "seed")), solver.size
    boards = board_rows([solver.goal if goal is None else as_goal(goal, size)], size)
    cells = neighbours_by_move(size)
    for distance in range(max_distance + 1):
        labels = solver.label(boards, goal, n_threads=n_threads, report=report)
        yield LabelledBoards(**vars(labels), boards=boards)
        rows, moves = np.nonzero(np.asarray(labels.after) == distance + 1)
        if not len(rows):
            return
        near = boards[rows]
        farther = np.unique(blank_moved(near, cells[near.argmin(axis=1), moves]), axis=0)
        boards = farther[generator.permutation(len(farther))[:n_each]]


def boards_at_distances(
    solver: Solver,
    distances: int | Sequence[int],
    n_each: int = 1,
    *,
    goal: BoardLike | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    report: Report | None = None,
) -> Boards:
    """Return up to `n_each` different boards of each of some distances from the goal, uint8[m, n_cells].

    They are drawn as in `label_by_distance`. `progress` is called with each distance that is reached. Raises what it
    raises, and `InputError` if it draws no board of the largest distance.
    """
    check_kind(solver, Solver, "solver", "a Solver")
    progress = as_function(progress, "progress")
    wanted = [as_count(distance, "distance") for distance in as_all(distances, Integral, "distances", _DISTANCES)]
    if not wanted:
        raise refusal(distances, "distances", _DISTANCES)
    n_each, farthest = as_count(n_each, "n_each", 1), max(wanted)
    attempts = _LEAST_BOARDS if solver.size.n_cells <= _MAX_CELLS_OF_MANY else _LEAST_BOARDS[:-1]
    for n_drawn in dict.fromkeys(max(n_each, least) for least in attempts):
        layers: list[LabelledBoards] = []
        for labelled in label_by_distance(
            solver, farthest, n_drawn, goal=goal, seed=seed, n_threads=n_threads, report=report
        ):
            progress(len(layers))
            layers.append(labelled)
        if len(layers) > farthest and len(layers[farthest].boards) >= n_each:
            break
    if len(layers) <= farthest:
        raise InputError(
            f"no board at distance {farthest} was found; the farthest board that was drawn is at distance "
            f"{len(layers) - 1}: give a smaller distance, or draw more boards, which reaches farther"
        )
    return np.concatenate([layers[distance].boards[:n_each] for distance in wanted])
