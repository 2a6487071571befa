"""Labels of boards in chunks, for datasets that do not fit into memory or that take long."""

from collections.abc import Iterator
from typing import Literal, get_args

import numpy.typing as npt

from pdb_core.arguments import as_choice, as_count, as_threads, check_kind
from pdb_core.puzzle import BoardLike
from pdb_query.board_rows import board_rows
from pdb_study.labels.sources import BoardSource, GivenBoards, in_chunks
from solver.distances import LabelledBoards
from solver.progress import Report
from solver.solve import Solver

# Labels of each board: its distance; or also its optimal first moves and the distances after each move.
Content = Literal["distances", "moves"]


def label(
    source: BoardSource | npt.ArrayLike,
    solver: Solver,
    *,
    goal: BoardLike | None = None,
    first: int = 0,
    chunk: int = 1000,
    content: Content = "moves",
    n_threads: int | None = None,
    report: Report | None = None,
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
    report
        As in `Solver.label`.

    Raises
    ------
    InputError
        An argument is invalid.
    BoardError
        A row is not a board of the tables.
    TableMismatchError, GoalError
        The tables are for boards of another size, or cannot serve the goal.
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
    if not isinstance(source, BoardSource):
        source = GivenBoards(solver.size, solver.goal if goal is None else goal, source)
    for database in solver.databases:
        database.check_size(source.size)
    goal = source.goal
    blocks = (board_rows(block, source.size) for block in source.blocks(first))
    for boards in in_chunks(blocks, chunk):
        labels = solver.label(boards, goal, n_threads=n_threads, moves=content == "moves", report=report)
        yield LabelledBoards(**vars(labels), boards=boards)
