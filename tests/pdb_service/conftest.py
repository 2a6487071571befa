"""A database and a running server that tests of the service share."""

from collections.abc import Iterator

import pytest

from pdb_query import Database, open_database
from tests.pdb_service.server import Server, serving
from tests.tables import table_file


@pytest.fixture(scope="session")
def database() -> Iterator[Database]:
    with open_database(table_file("1,2,5/3,4,6/7,8", "3x3")) as opened:
        yield opened


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    files = table_file("663", "4x4"), table_file("8", "3x3"), table_file("1,2,5/3,4,6/7,8", "3x3", "blank-first")
    with serving(*files, options=["--grace", "0"]) as running:
        yield running
