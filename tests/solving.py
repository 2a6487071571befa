"""Databases, boards and node counts for the tests of the solver."""

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numba import config

from pdb_core.board_size import BoardSize
from pdb_core.encoding import DEFAULT_COST, Cost, Encoding
from pdb_core.puzzle import BoardLike, Tiles, random_boards
from pdb_core.types import BLANK
from pdb_query import Database, open_database, read_instances
from solver.engine.database_engine import CATALOGUE, ROWS, SCALAR, VECTOR, WIDE, database_engine
from solver.engine.search import IdaStar
from solver.engine.sums import DatabaseSums
from solver.engine.tuning import TUNING, Tuning
from solver.progress import Iteration
from solver.pruning.fsm import find_duplicates, pruning_fsm
from solver.solve import Solver
from tests import ROOT
from tests.tables import table_file

S3, S4 = BoardSize(3, 3), BoardSize(4, 4)
# The sizes of tables and of optimal searches.
SIZES = [BoardSize(width, height) for width in range(2, 7) for height in range(2, 7)]
# Boards of the 8-puzzle: one with an optimal length of 31 moves, one that cannot be solved, and a goal.
HARDEST_8: Tiles = (8, 6, 7, 2, 5, 4, 3, 0, 1)
UNSOLVABLE: Tiles = (2, 1, 3, 4, 5, 6, 7, 8, 0)
CENTRE: Tiles = (1, 2, 3, 8, 0, 4, 7, 6, 5)
Item = TypeVar("Item")


def database_for(
    partition: str, size: str, goal: str = "blank-last", encoding: Encoding = "bytes", cost: Cost = DEFAULT_COST
) -> Database:
    return open_database(table_file(partition, size, goal, encoding, cost))


def solver_for(partition: str, size: str, encoding: Encoding = "bytes", tuning: Tuning = TUNING) -> Solver:
    """Return IDA* with a new database."""
    return Solver(database_for(partition, size, encoding=encoding), tuning=tuning)


def solvable_boards(size: BoardSize, n: int, seed: int, goal: BoardLike = "blank-last") -> list[Tiles]:
    return [tuple(row.tolist()) for row in random_boards(size, goal, n, seed)]


def goal_with_blank(cell: int, size: BoardSize) -> Tiles:
    """Return the goal with the tiles in order and the blank on a cell."""
    return (*range(1, cell + 1), BLANK, *range(cell + 1, size.n_cells))


def walked(goal: Tiles, size: BoardSize, n_moves: int, generator: np.random.Generator) -> Tiles:
    """Return the board after `n_moves` random moves. No move undoes the one before."""
    cells, blank, before = list(goal), goal.index(BLANK), -1
    for _ in range(n_moves):
        cell = int(generator.choice([near for near in size.neighbours[blank] if near != before]))
        cells[blank], cells[cell] = cells[cell], BLANK
        blank, before = cell, blank
    return tuple(cells)


def share(items: Iterable[Item], one_in: int) -> list[Item]:
    """Return all items; with the JIT off, when tests take a hundred times as long, one in `one_in`."""
    return list(items)[:: one_in if config.DISABLE_JIT else 1]


def hard_board() -> Tiles:
    """Return a board of the 15-puzzle with an optimal length of 80 moves."""
    return next(read_instances("hardest80", None)).board


def golden_rows(name: str, **where: str) -> list[dict[str, str]]:
    """Return the rows of a file of tests/golden that have these values; there are some."""
    with (ROOT / "tests" / "golden" / name).open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if where.items() <= row.items()]
    assert rows
    return rows


# Slices so small that threads exchange work all the time.
TINY_SLICES = Tuning(slice_nodes=300)


def divided_early(above: float, most_divided: int, ratio: float, slice_nodes: int = TUNING.slice_nodes) -> Tuning:
    """Divide each threshold that follows one of `above` nodes at a speed of 1, and find no solutions by beams."""
    return Tuning(
        slice_nodes=slice_nodes,
        long_nodes=above,
        most_divided=most_divided,
        least_ratio=ratio,
        beams=lambda *_: None,
    )


def node_counts(iterations: Iterable[Iteration]) -> list[tuple[int, int, int]]:
    """Return (threshold, generated, expanded) of each iteration."""
    return [(i.threshold, i.generated, i.expanded) for i in iterations]


ROUNDS = {kind.name: kind for kind in (VECTOR, ROWS, CATALOGUE, WIDE, SCALAR)}


def sums_for(database: Database, goal: Tiles, *, in_rows: bool = False) -> DatabaseSums:
    return DatabaseSums(database.lookup_tables, database.views(goal), database.arrangement_rows if in_rows else None)


def engine_for(
    databases: Sequence[Database], max_duplicate: int = 12, source: str = "the table", **tuning: Any
) -> IdaStar:
    """Return IDA* with databases, for the goal of the first."""
    in_rows = ROWS in tuning.get("rounds", ())
    heuristics = [sums_for(database, databases[0].goal, in_rows=in_rows) for database in databases]
    fsm = pruning_fsm(max_duplicate)
    return IdaStar(database_engine(databases[0].size, heuristics, fsm, source=source, tuning=Tuning(**tuning)))


@cache
def duplicates_up_to(max_length: int, *, keeps_equals: bool = False) -> list[str]:
    """Return the duplicates of `find_duplicates`, which has a naive twin, in letters."""
    return [
        "".join("ULRD"[int(code) >> (2 * step) & 3] for step in range(length - 1, -1, -1))
        for length, codes in find_duplicates(max_length, keeps_equals=keeps_equals).items()
        for code in codes
    ]
