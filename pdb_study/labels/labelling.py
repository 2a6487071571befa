"""Labels of boards in chunks, for datasets that do not fit into memory or that take long."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import as_choice, as_count, as_threads, check_kind
from pdb_core.puzzle import BoardLike
from pdb_query.database import board_rows
from pdb_study.labels.sources import BoardSource, in_chunks
from solver.solve import Solver

# Labels of each board: its distance; or also its optimal first moves and the distances after each move.
Content = Literal["distances", "moves"]


@dataclass(frozen=True)
class LabelledBoards:
    """Boards and their labels.

    boards       uint8[m, n_cells]: the tile on each cell, 0 for the blank
    distances    int16[m]: optimal lengths; -1 for a board that cannot be solved
    first_moves  uint8[m]: bit k is set if moving the blank in direction k (0 up, 1 left, 2 right, 3 down) begins an
                 optimal solution. None if `content` is "distances"
    after        int16[m, 4]: distance after the blank moved in each direction; -1 if there is no cell, or if the board
                 cannot be solved. None if `content` is "distances"
    """

    boards: npt.NDArray[np.uint8]
    distances: npt.NDArray[np.int16]
    first_moves: npt.NDArray[np.uint8] | None = None
    after: npt.NDArray[np.int16] | None = None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that are present, by name."""
        return {name: array for name, array in vars(self).items() if array is not None}


def label(
    source: BoardSource | npt.ArrayLike,
    solver: Solver,
    *,
    goal: BoardLike | None = None,
    first: int = 0,
    chunk: int = 1000,
    content: Content = "moves",
    n_threads: int | None = None,
) -> Iterator[LabelledBoards]:
    """Yield the labels of boards in their order, `chunk` boards at a time.

    Parameters
    ----------
    source
        A `BoardSource`; or integers of shape (m, n_cells) or (m, height, width), or a sequence of strings.
    goal
        By default that of the solver. A `BoardSource` has a goal, and `goal` is not used.
    first
        Number of boards to skip.
    content
        "distances"; or "moves" for distances, first moves and the distances after each move.
    n_threads
        Number of threads, which also share hard boards. By default all cores.

    Raises
    ------
    InputError
        An argument is invalid.
    BoardError
        A row is not a board of the tables.
    GoalError
        The tables cannot serve the goal.
    TableFileDamagedError, LimitReachedError
        As in `Solver.solve_many`.

    Examples
    --------
    >>> from pdb_study.labels import RandomBoards
    >>> source = RandomBoards("4x4", n_boards=100)
    >>> sum(len(labelled.boards) for labelled in label(source, Solver("data/663.h5"), chunk=40))
    100
    """
    check_kind(solver, Solver, "solver", "a Solver")
    first, chunk, n_threads = as_count(first, "first"), as_count(chunk, "chunk", 1), as_threads(n_threads)
    as_choice(content, "content", get_args(Content))
    if isinstance(source, BoardSource):
        blocks, goal = source.blocks(first), source.goal
    else:
        blocks = iter([board_rows(source, solver.ida_star.engine.size)[first:]])
    for boards in in_chunks(blocks, chunk):
        labels = solver.label(boards, goal, n_threads=n_threads, moves=content == "moves")
        yield LabelledBoards(boards, labels.distances, labels.first_moves, labels.after)
