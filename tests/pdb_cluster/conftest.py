"""Cluster of two worker processes for the tests of a file."""

from collections.abc import Iterator

import pytest
from distributed import Client, Scheduler

from pdb_query import Database
from solver.solve import Solver
from tests.pdb_cluster.two_workers import N_WORKERS, WAIT_S, started_cluster
from tests.solving import S4, database_for, solvable_boards


@pytest.fixture(scope="session")
def large() -> Iterator[Database]:
    """A database of the 15-puzzle."""
    with database_for("663", "4x4", encoding="bits") as opened:
        yield opened


# Not for all files: workers without work take a tenth of a core.
@pytest.fixture(scope="module")
def cluster(large: Database) -> Iterator[Scheduler]:
    """The scheduler of two worker processes. Those that a test kills are replaced.

    With an empty cache, both would compile the same kernels at the same time, so they are compiled first.
    """
    Solver(large).solve(solvable_boards(S4, 1, 3)[0])
    with started_cluster(N_WORKERS) as scheduler:
        yield scheduler


@pytest.fixture
def client(cluster: Scheduler) -> Iterator[Client]:
    """A client of `cluster` with both workers."""
    with Client(cluster.address, set_as_default=False, timeout=WAIT_S) as connected:
        connected.wait_for_workers(N_WORKERS, timeout=WAIT_S)
        yield connected
