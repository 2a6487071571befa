"""Damaged tables that are opened without verification, see also `tests.faults.damaged_tables`."""

import numpy as np
import numpy.typing as npt
import pytest

from pdb_core.errors import TableFileDamagedError
from pdb_core.puzzle import Tiles
from pdb_query import Database, open_database
from solver import GraphSolver, Limits
from solver.engine import subtree_list
from tests.pdb_query.test_descent import with_table_bytes
from tests.solving import S3, database_for, engine_for, solvable_boards
from tests.tables import table_file

PARTITION = "1,2,5/3,4,6/7,8"


def entries_of(database: Database, board: Tiles) -> list[int]:
    """Return the indices in memory of the distances of `board`, by all symmetries, in a table of bytes."""
    places = []
    for mapping in database.mappings():
        cells = np.argsort(mapping.apply(board))
        for index, entry in enumerate(database.header.patterns):
            rank = database.index(index).rank(cells[list(entry.pattern.tiles)][None])[0]
            places.append(database.header.patterns[index].offset + int(rank))
    return sorted(set(places))


def raised(database: Database, board: Tiles, rise: int) -> npt.NDArray[np.uint8]:
    """Return a copy of the memory of a database in which `rise` is added to the distances of `board`."""
    content = database.lookup_tables.memory.copy()
    content[entries_of(database, board)] += np.uint8(rise)
    return content


def test_distance_of_the_wrong_parity_is_rejected() -> None:
    """No threshold of the wrong parity has a solution: IDA* would search without an end."""
    board = solvable_boards(S3, (1, 2, 3, 4, 5, 6, 7, 8, 0), 1, 5)[0]
    with open_database(table_file(PARTITION, "3x3", encoding="bytes")) as sound:
        first = entries_of(sound, board)[:1]
        content = sound.lookup_tables.memory.copy()
        content[first] += np.uint8(1)
        with with_table_bytes(sound, content) as database:
            with pytest.raises(TableFileDamagedError, match="no distance"):
                database.probe(board)
            ida_star = engine_for([database])
            with pytest.raises(TableFileDamagedError, match="contradicts"):
                ida_star.search(board, Limits(nodes=100_000))


def test_solution_of_a_star_below_a_lower_bound_is_rejected() -> None:
    board = solvable_boards(S3, (1, 2, 3, 4, 5, 6, 7, 8, 0), 1, 5)[0]
    with database_for(PARTITION, "3x3") as sound, with_table_bytes(sound, raised(sound, board, 20)) as database:
        for search in ("a-star", "greedy"):
            solver = GraphSolver(S3, database.goal, search=search, databases=[database])
            with pytest.raises(TableFileDamagedError, match=r"3x3.* is damaged: a solution has .* moves, fewer than"):
                solver.solve(board)


def test_threshold_below_a_sum_is_rejected() -> None:
    """Such a node would have a negative slack, which would overwrite its moves."""
    with database_for(PARTITION, "3x3") as database:
        ida_star = engine_for([database])
        roots = ida_star.engine.roots(solvable_boards(S3, database.goal, 1, 5))
        with ida_star.stacks.borrowed() as stack, pytest.raises(TableFileDamagedError, match="contradicts"):
            stack.begin(roots, 0, int(roots.h[0]) - 2)


def test_shares_of_subtrees_are_finite() -> None:
    """In damaged tables a threshold may have any number of times the nodes of the one before."""
    moves_left, h = np.array([600, 590, 90]), np.array([90, 90, 90])
    shares = subtree_list.shares_of(moves_left, h, 1e8)
    assert np.isfinite(shares).all()
    assert shares.sum() == pytest.approx(1)
    assert list(shares) == sorted(shares, reverse=True)
    small = subtree_list.shares_of(np.array([14, 12, 10]), np.array([10, 10, 8]), 6.0)
    weights = np.array([6.0**2, 6.0**1, 6.0**1 * np.exp(0.05 * 1 * -2)])
    assert small == pytest.approx(weights / weights.sum())
