"""Labels of boards in chunks, for datasets that do not fit into memory or that take long."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BoardLike, Boards
from pdb_query.database import board_rows
from pdb_study.labels.sources import BoardSource, in_chunks
from solver.solve import Solver

# Labels of each board: its distance; also its optimal first moves, and the distances after each move; or its distance
# and one solution.
Content = Literal["distances", "moves", "solutions"]

Int16s = npt.NDArray[np.int16]
Uint8s = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class LabelledBoards:
    """Boards and their labels.

    boards       uint8[m, n_cells]: the tile on each cell, 0 for the blank
    distances    int16[m]: optimal lengths; -1 for a board that cannot be solved
    first_moves  uint8[m]: bit k is set if moving the blank in direction k (0 up, 1 left, 2 right, 3 down) begins an
                 optimal solution. None if `content` is not "moves"
    after        int16[m, 4]: distance after the blank moved in each direction; -1 if there is no cell, or if the board
                 cannot be solved. None if `content` is not "moves"
    tiles        uint8[m, longest length]: the tiles moved in an optimal solution, then zeros. None if `content` is not
                 "solutions"
    """

    boards: Uint8s
    distances: Int16s
    first_moves: Uint8s | None = None
    after: Int16s | None = None
    tiles: Uint8s | None = None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that are present, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: array for name, array in named.items() if array is not None}


def joined(parts: Sequence[LabelledBoards]) -> LabelledBoards:
    """Return the labels of several arrays of boards as those of one."""
    arrays = [part.arrays() for part in parts]
    longest = max(each["tiles"].shape[1] for each in arrays) if "tiles" in arrays[0] else 0
    for each in arrays:
        if "tiles" in each:
            each["tiles"] = np.pad(each["tiles"], ((0, 0), (0, longest - each["tiles"].shape[1])))
    return LabelledBoards(**{name: np.concatenate([each[name] for each in arrays]) for name in arrays[0]})


def label(
    source: BoardSource | npt.ArrayLike,
    solver: Solver,
    *,
    goal: BoardLike | None = None,
    first: int = 0,
    chunk: int = 1000,
    content: Content = "moves",
    n_threads: int = 1,
) -> Generator[LabelledBoards, None, None]:
    """Yield the labels of boards in their order, `chunk` boards at a time.

    source     a `BoardSource`; or integers of shape (m, n_cells) or (m, height, width), or a sequence of strings
    goal       by default that of the solver; a `BoardSource` has a goal, and `goal` is not used
    first      number of boards to skip
    content    "distances"; "moves" for distances, first moves and the distances after each move; or "solutions" for
               distances and one solution of each board
    n_threads  number of threads, which also share hard boards

    Raises `ValueError` if `chunk` or `n_threads` is less than 1, `BoardError` for a row that is not a board of the
    tables, `GoalError` if the tables cannot serve the goal, and the other errors of `Solver.solve_many`.

    >>> from pdb_core.puzzle import BoardSize, blank_last
    >>> from pdb_study.labels import RandomBoards
    >>> from pdb_query import open_database
    >>> source = RandomBoards(BoardSize(4, 4), blank_last(BoardSize(4, 4)), 100, seed=1)
    >>> with open_database("data/663.h5") as database:
    ...     sum(len(labelled.boards) for labelled in label(source, Solver(database), chunk=40))
    100
    """
    if chunk < 1:
        raise ValueError(f"chunk is {chunk}; give 1 or more")
    if isinstance(source, BoardSource):
        blocks, goal = source.blocks(first), source.goal
    else:
        blocks = iter([board_rows(source, solver.ida_star.engine.size)[first:]])
    for boards in in_chunks(blocks, chunk):
        yield label_chunk(solver, boards, goal, content, n_threads=n_threads)


def label_chunk(
    solver: Solver, boards: Boards, goal: BoardLike | None, content: Content, *, n_threads: int = 1
) -> LabelledBoards:
    """Return the labels of an array of boards. Parameters and errors are those of `label`."""
    if content == "solutions":
        solved = solver.solve_many(boards, goal, n_threads=n_threads, moves=True)
        return LabelledBoards(boards, solved.lengths, tiles=solved.tiles)
    labels = solver.label(boards, goal, n_threads=n_threads, moves=content == "moves")
    return LabelledBoards(boards, labels.distances, labels.first_moves, labels.after)
