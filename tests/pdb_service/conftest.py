"""A database and running servers that tests of the service share."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from pdb_query import Database
from tests.pdb_service.app_requests import HeldSolvers
from tests.pdb_service.browsing import Visit, browser, visiting
from tests.pdb_service.server import Server, serving
from tests.solving import database_for
from tests.tables import table_file

STRICT = {"max_body_bytes": 200_000, "head_s": 0.5, "request_s": 1.0, "max_head_bytes": 8_192, "max_connections": 100}
# pdb serve has no options for these settings. The app is imported first: its annotations need the class.
_WITH_STRICT = f"""
from functools import partial
from pdb_service import app, settings
settings.ServiceSettings = partial(settings.ServiceSettings, **{STRICT})
"""


@pytest.fixture
def anyio_backend() -> str:
    """Return the event loop of tests that are coroutines; errors that it would only log fail the test."""
    return "asyncio"


@pytest.fixture(scope="session")
def database() -> Iterator[Database]:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as opened:
        yield opened


@pytest.fixture
def solvers(database: Database) -> HeldSolvers:
    return HeldSolvers(database)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    files = table_file("663", "4x4"), table_file("8", "3x3"), table_file("1,2,5/3,4,6/7,8", "3x3", "blank-first")
    with serving(*files, options=["--grace", "0"]) as running:
        yield running


@pytest.fixture(scope="session")
def strict() -> Iterator[Server]:
    """Yield a server with small limits."""
    with serving(table_file("663", "4x4"), options=["--solves", "1", "--grace", "0"], prelude=_WITH_STRICT) as running:
        yield running


@pytest.fixture(scope="module")  # while it runs, no other test of the process can run an event loop
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture
def visit(chromium: Browser, server: Server) -> Iterator[Visit]:
    with visiting(chromium, server.url) as visit:
        yield visit
