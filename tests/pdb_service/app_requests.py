"""Requests to an app without a server, and a solver whose searches last as long as a test needs."""

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import numpy as np
from prometheus_client import generate_latest

from pdb_core.puzzle import Board, Tiles, blank_last, is_solvable
from pdb_query import Database
from pdb_service.app import App
from pdb_service.settings import ServiceSettings
from solver.engine.checkpoint import Checkpoint
from solver.progress import Iteration, Limits
from tests.pdb_service.server import Reply
from tests.solving import S3, solvable_boards

GOAL: Tiles = blank_last(S3)
BOARDS = solvable_boards(S3, 120, 5)
_PATIENCE_S = 300  # kernels may have to be compiled


class HeldSolvers:
    """Stand-in for the solvers of a service, whose searches go on until `release` is set or their time is over.

    database  the database of the service
    begun     the boards of all searches
    seconds   their time limits

    easy      boards whose searches end at once
    error     what searches raise when they are over, if anything
    reports   what each search reports at its start; the last is repeated
    """

    reports = (Iteration(threshold=3, generated=7, expanded=5, seconds=0.1),)

    def __init__(self, database: Database) -> None:
        self.database = database
        self.release = threading.Event()
        self.easy: Collection[Tiles] = ()
        self.error: Exception | None = None
        self.begun: list[Tiles] = []
        self.seconds: list[float] = []

    def solve(self, board: Tiles, goal: Tiles, *, limits: Limits, report: Any, **_: Any) -> Any:
        assert is_solvable(board, goal, S3)
        self.begun.append(board)
        self.seconds.append(limits.time_limit)
        started = time.monotonic()
        for progress in self.reports:
            report(progress)
        while True:
            report(self.reports[-1])
            passed = time.monotonic() - started
            is_over = self.release.is_set() or board in self.easy
            if is_over or passed >= limits.time_limit:
                break
            time.sleep(0.001)
        if self.error is not None:
            raise self.error
        tiles = board[:5] if is_over else None
        return SimpleNamespace(
            moves=tiles, length=None if tiles is None else len(tiles), optimal=is_over, h=3, lower_bound=5,
            generated=7, expanded=5, seconds=passed, thresholds=(), directions=lambda: None,
        )  # fmt: skip

    def label(self, boards: list[Board], goal: Board, *, n_threads: int, report: Any) -> Any:
        """Return the length of the solution of a board, and one more after each move."""
        assert n_threads == 1
        found = self.solve(boards[0], goal, limits=Limits(math.inf), report=report)
        after = [found.length + 1] * len(boards[0].moves())
        return SimpleNamespace(distances=np.array([found.length]), after=np.array([after]))

    async def begin(self, n: int) -> None:
        """Wait until the n-th search has begun."""
        await until(lambda: len(self.begun) == n)


class AppRequest:
    """A request to an app, started when it is made. Its client may leave before the answer.

    address  the path and the query
    headers  Host is localhost if it is not given; a header without a value is left out
    method   by default POST with a body, else GET
    """

    def __init__(
        self,
        app: App,
        address: str,
        *headers: tuple[str, str | None],
        method: str | None = None,
        body: bytes | None = None,
    ) -> None:
        path, _, query = address.partition("?")
        named = headers if "Host" in dict(headers) else (("Host", "localhost"), *headers)
        self._scope = {
            "type": "http", "path": path, "method": method or ("GET" if body is None else "POST"),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in named if value is not None],
        }  # fmt: skip
        self._body, self._is_read = body or b"", False
        self._has_left = asyncio.Event()
        self.sent: list[Any] = []
        self.task = asyncio.ensure_future(app(self._scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await asyncio.sleep(0)
        self.sent.append(message)

    def leave(self) -> None:
        """Close the connection."""
        self._has_left.set()

    async def reply(self) -> Reply:
        """Wait for the whole answer."""
        await asyncio.wait_for(self.task, _PATIENCE_S)
        start = next(message for message in self.sent if message["type"] == "http.response.start")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
        return Reply(start["status"], headers, b"".join(message.get("body", b"") for message in self.sent))


def ask(app: App, address: str, *headers: tuple[str, str | None], **named: Any) -> Reply:
    """Return the answer to an `AppRequest`, in a new event loop."""

    async def work() -> Reply:
        return await AppRequest(app, address, *headers, **named).reply()

    return asyncio.run(work())


def ask_search(path: str, app: App, board: Tiles, events: bool = False, **parameters: float) -> AppRequest:
    """Begin a request for a search."""
    query = urlencode({"board": " ".join(map(str, board)), **parameters})
    return AppRequest(app, f"{path}?{query}", ("Accept", "text/event-stream" if events else "*/*"))


ask_solve, ask_moves = (partial(ask_search, f"/v1/{name}") for name in ("solve", "moves"))


def metrics(app: App) -> dict[str, float]:
    """Return the value of each series of the metrics."""
    lines = generate_latest(app.service.metrics.registry).decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def n_running(app: App) -> float:
    return metrics(app)["tile_pdb_solves_running"]


def n_waiting(app: App) -> float:
    return metrics(app)["tile_pdb_solves_waiting"]


def ready_app(*databases: Database, **settings: Any) -> App:
    """Return an app; `settings` are fields of `ServiceSettings`."""
    return App(databases, ServiceSettings(**settings))


@asynccontextmanager
async def running_app(solvers: HeldSolvers, **settings: Any) -> AsyncIterator[App]:
    """Run an app with these solvers; at its end no search and no task may be left."""
    tasks = asyncio.all_tasks()
    app = App([solvers.database], ServiceSettings(**settings))
    service = app.service
    service.solver = lambda _: solvers
    service.solve_easy = lambda _, boards: [Checkpoint()] * len(boards)
    async with app.router.lifespan_context(app):
        yield app
    assert (n_running(app), n_waiting(app)) == (0, 0)
    # The lookup of a client that has left may still be about to end.
    await until(lambda: asyncio.all_tasks() == tasks)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so. Raises `TimeoutError` after a long time."""
    async with asyncio.timeout(_PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.002)
