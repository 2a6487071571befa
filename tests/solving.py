"""Databases, boards and node counts for the tests of the solver."""

from collections.abc import Iterable
from typing import TypeVar

from numba import config

from pdb_core.encoding import DEFAULT_COST, Cost, Encoding
from pdb_core.puzzle import Board, BoardSize, random_boards
from pdb_query import Database, open_database, read_instances
from solver import Iteration
from tests.tables import table_file

S3, S4 = BoardSize(3, 3), BoardSize(4, 4)
Item = TypeVar("Item")


def database_for(
    partition: str, size: str, goal: str = "blank-last", encoding: Encoding = "bytes", cost: Cost = DEFAULT_COST
) -> Database:
    return open_database(table_file(partition, size, goal, encoding, cost))


def solvable_boards(size: BoardSize, goal: Board, n: int, seed: int) -> list[Board]:
    return [tuple(row.tolist()) for row in random_boards(size, goal, n, seed)]


def share(items: Iterable[Item], one_in: int) -> list[Item]:
    """Return all items; with the JIT off, when tests take a hundred times as long, one in `one_in`."""
    return list(items)[:: one_in if config.DISABLE_JIT else 1]


def hard_board() -> Board:
    """Return a board of the 15-puzzle with an optimal length of 80 moves."""
    return next(read_instances("hardest80", None)).board


def node_counts(iterations: Iterable[Iteration]) -> list[tuple[int, int, int]]:
    """Return (threshold, generated, expanded) of each iteration."""
    return [(i.threshold, i.generated, i.expanded) for i in iterations]
