"""Damaged tables that are opened without verification, see also `tests.faults.damaged_tables`."""

from contextlib import AbstractContextManager

import numpy as np
import pytest

from pdb_core.errors import TableFileDamagedError
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Tiles
from pdb_query import Database
from solver.graph_search.graph_search import GraphSolver
from solver.progress import Limits
from solver.solve import Solver
from tests.pdb_query.test_lookup import with_table_bytes
from tests.solving import HARDEST_8, S3, database_for, engine_for

PARTITION = "1,2,5/3,4,6/7,8"


def cells_of(board: Tiles, pattern: Pattern) -> list[int]:
    return [board.index(tile) for tile in pattern.tiles]


def with_raised_distances(database: Database, n_entries: int, rise: int) -> AbstractContextManager[Database]:
    """Add `rise` to the first distances of HARDEST_8, by all symmetries, in a table of bytes."""
    content = database.lookup_tables.memory.copy()
    entries = {
        entry.offset + int(database.index(index).rank([cells_of(mapping.apply(HARDEST_8), entry.pattern)])[0])
        for mapping in database.mappings()
        for index, entry in enumerate(database.header.patterns)
    }
    content[sorted(entries)[:n_entries]] += np.uint8(rise)
    return with_table_bytes(database, content)


def test_distance_of_the_wrong_parity_is_rejected() -> None:
    """No threshold of the wrong parity has a solution: IDA* would search without an end."""
    with database_for(PARTITION, "3x3") as sound, with_raised_distances(sound, 1, 1) as database:
        with pytest.raises(TableFileDamagedError, match="no distance"):
            database.probe(HARDEST_8)
        ida_star = engine_for([database])
        with pytest.raises(TableFileDamagedError, match="contradicts"):
            ida_star.search(HARDEST_8, Limits(max_nodes=100_000))


@pytest.mark.parametrize("search", ["a-star", "greedy"])
def test_solution_below_a_lower_bound_is_rejected(search: str) -> None:
    with database_for(PARTITION, "3x3") as sound, with_raised_distances(sound, 100, 20) as database:
        solver = GraphSolver(S3, database.goal, algorithm=search, databases=[database])
        with pytest.raises(TableFileDamagedError, match=r"3x3.* is damaged: a solution has .* moves, fewer than"):
            solver.solve(HARDEST_8)


@pytest.mark.parametrize(("at_goal", "elsewhere"), [(0, 7), (9, 0), (0, 0), (40, 40)])
def test_constructor_rejects_the_table(at_goal: int, elsewhere: int) -> None:
    """A limited search loads the kernels when a solver is made: the first board does not wait for compilation.

    Distances differ only at the goal.
    """
    with database_for("1,2,3/4,5,6/7,8,9/10,11,12/13,14,15", "4x4") as sound:
        content = np.full_like(sound.lookup_tables.memory, elsewhere)
        for index, entry in enumerate(sound.header.patterns):
            content[entry.offset + sound.index(index).rank([cells_of(sound.goal, entry.pattern)])] = at_goal
        with with_table_bytes(sound, content) as database, pytest.raises(TableFileDamagedError, match="is damaged"):
            Solver(database)
