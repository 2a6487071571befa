"""Constructors of solvers end with any damaged table: the searches that load kernels are limited."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from pdb_cluster.solve_worker import WorkerTables, search_boards
from pdb_core.errors import ClusterError, TableFileDamagedError
from pdb_core.puzzle import blank_last
from pdb_query import Database, open_database
from solver import Limits, Solver
from tests.solving import S4
from tests.tables import table_file


def damaged_copy(path: Path, folder: Path, *, at_goal: int, elsewhere: int) -> Path:
    """Return a copy of a table file in bytes with other distances, which differ only at the goal."""
    copy = folder / "damaged.h5"
    shutil.copyfile(path, copy)
    with open_database(path) as database:
        content = np.fromfile(copy, dtype=np.uint8)
        for index, entry in database.header.tables.items():
            start = database.header.patterns[index].offset
            content[start : start + entry.n_bytes] = elsewhere
            cells = [[database.goal.index(tile) for tile in entry.pattern.tiles]]
            content[start + database.index(index).rank(cells)] = at_goal
    content.tofile(copy)
    return copy


@pytest.fixture(params=[(0, 7), (9, 0), (0, 0), (40, 40)], ids=lambda values: f"goal {values[0]} others {values[1]}")
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the path of a damaged table file of the 15-puzzle."""
    at_goal, elsewhere = request.param
    sound = table_file("1,2,3/4,5,6/7,8,9/10,11,12/13,14,15", "4x4")
    return damaged_copy(sound, tmp_path, at_goal=at_goal, elsewhere=elsewhere)


def test_constructor_rejects_a_damaged_table(damaged: Path) -> None:
    for frontier_bytes in (None, 1 << 20):
        with open_database(damaged) as database, pytest.raises(TableFileDamagedError, match=r"damaged\.h5 is damaged"):
            Solver(database, frontier_bytes=frontier_bytes)


def test_worker_of_a_cluster_rejects_the_table(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digests are those of the client, which has the same damaged file and has not verified it."""
    monkeypatch.setattr(Database, "verify", lambda _: None)
    with open_database(damaged) as database:
        digest = database.header.digest()
    tables = WorkerTables((str(damaged),), (digest,), load="map")
    with pytest.raises(ClusterError, match=r"damaged\.h5 is damaged"):
        search_boards([blank_last(S4)], tables, limits=Limits(), seconds=1.0)
