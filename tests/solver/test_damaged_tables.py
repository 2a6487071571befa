"""Damaged tables that are opened without verification, see also `tests.faults.damaged_tables`."""

from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from pdb_cluster.worker import WorkerTables, search_boards
from pdb_core.errors import ClusterError, TableFileDamagedError
from pdb_core.puzzle import blank_last
from pdb_query import Database, open_database
from solver import GraphSolver, Limits, Solver
from solver.engine.tuning import TUNING
from tests.pdb_query.test_lookup import with_table_bytes
from tests.solving import HARDEST_8, S3, S4, database_for, engine_for
from tests.tables import sign_tables, table_file

PARTITION = "1,2,5/3,4,6/7,8"


def with_raised_distances(database: Database, n_entries: int, rise: int) -> AbstractContextManager[Database]:
    """Add `rise` to the first distances of HARDEST_8, by all symmetries, in a table of bytes."""
    content = database.lookup_tables.memory.copy()
    entries = {
        entry.offset
        + int(database.index(index).rank(np.argsort(mapping.apply(HARDEST_8))[list(entry.pattern.tiles)][None])[0])
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


# Searches that load the kernels when a solver is made are limited


@pytest.fixture(params=[(0, 7), (9, 0), (0, 0), (40, 40)], ids=lambda values: f"goal {values[0]} others {values[1]}")
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a table file of the 15-puzzle with other distances, which differ only at the goal."""
    at_goal, elsewhere = request.param
    path = table_file("1,2,3/4,5,6/7,8,9/10,11,12/13,14,15", "4x4")
    content = np.fromfile(path, dtype=np.uint8)
    with open_database(path) as database:
        for index, entry in database.header.tables.items():
            start = database.header.patterns[index].offset
            content[start : start + entry.n_bytes] = elsewhere
            cells = [[database.goal.index(tile) for tile in entry.pattern.tiles]]
            content[start + database.index(index).rank(cells)] = at_goal
    content.tofile(tmp_path / "damaged.h5")
    return tmp_path / "damaged.h5"


def test_constructor_and_worker_of_a_cluster_reject_the_table(damaged: Path) -> None:
    """The digests are right: the client has the same damaged file."""
    sign_tables(damaged)
    with open_database(damaged) as database:
        with pytest.raises(TableFileDamagedError, match=r"damaged\.h5 is damaged"):
            Solver(database)
        digest = database.header.digest()
    tables = WorkerTables(((damaged, digest),), "map", TUNING)
    with pytest.raises(ClusterError, match=r"damaged\.h5 is damaged"):
        search_boards([blank_last(S4)], tables, limits=Limits(), seconds=1.0)
