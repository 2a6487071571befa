"""Requests to an app without a server, and a solver whose searches last as long as a test needs."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import wraps
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import numpy as np
from fastapi import FastAPI
from prometheus_client import generate_latest

from pdb_core.puzzle import Tiles, is_solvable, parse_size, random_boards
from pdb_query import Database
from pdb_service.app import create_app
from pdb_service.served_databases import Served
from pdb_service.settings import ServiceSettings
from solver import Iteration, Limits
from tests.pdb_service.server import Reply

S3 = parse_size("3x3")
GOAL: Tiles = (1, 2, 3, 4, 5, 6, 7, 8, 0)
BOARDS: list[Tiles] = [tuple(board) for board in random_boards(S3, GOAL, 120, 5).tolist()]
UNSOLVABLE: Tiles = (2, 1, 3, 4, 5, 6, 7, 8, 0)
assert not is_solvable(UNSOLVABLE, GOAL, S3)


def answer_for(board: Tiles) -> tuple[int, ...]:
    """Return the solution that `HeldSolvers` finds for a board. Boards have different ones."""
    return tuple(int(tile) for tile in np.array(board)[:5])


class HeldSolvers:
    """Stand-in for the solvers of a service, whose searches go on until `release` is set or their time is over.

    begun    the boards of all searches
    seconds  their time limits

    fail     raised by a search when it is released
    wait_s   the seconds that searches of a board take, instead of waiting for `release`
    reports  what each search reports at its start; the last is repeated
    """

    reports = (Iteration(threshold=3, generated=7, expanded=5, seconds=0.1),)

    def __init__(self) -> None:
        self.release = threading.Event()
        self.fail: Exception | None = None
        self.wait_s: Callable[[Tiles], float] | None = None
        self.begun: list[Tiles] = []
        self.seconds: list[float] = []
        self._lock = threading.Lock()
        self._running: Counter[bool] = Counter()
        self.most_running: Counter[bool] = Counter()

    def solve(self, board: Tiles, served: Served, limits: Limits, report: Any) -> Any:
        assert is_solvable(board, served.goal, S3)
        seconds = limits.seconds
        assert seconds is not None
        is_short = seconds <= 2
        with self._lock:
            self.begun.append(board)
            self.seconds.append(seconds)
            self._running[is_short] += 1
            self.most_running[is_short] = max(self.most_running[is_short], self._running[is_short])
        try:
            return self._search(board, seconds, report)
        finally:
            with self._lock:
                self._running[is_short] -= 1

    def _search(self, board: Tiles, seconds: float, report: Any) -> Any:
        started = time.monotonic()
        for progress in self.reports:
            report(progress)
        while True:
            report(self.reports[-1])
            passed = time.monotonic() - started
            is_over = self.release.is_set() if self.wait_s is None else passed >= self.wait_s(board)
            if is_over and self.fail is not None:
                raise self.fail
            if is_over or passed >= seconds:
                break
            time.sleep(0.001)
        tiles = answer_for(board) if is_over else None
        return SimpleNamespace(
            tiles=tiles, length=None if tiles is None else len(tiles), is_optimal=is_over, h=3, lower_bound=5,
            generated=7, expanded=5, seconds=passed, iterations=[],
        )  # fmt: skip

    def solver(self, _: Database) -> None:
        pass


class AppRequest:
    """A request to an app, started when it is made. Its client may leave before the answer.

    method   by default POST with a body, else GET
    headers  by default only Host
    query    the raw query string; by default the other parameters, encoded
    reading  the client reads no more of the answer until this is set
    """

    def __init__(
        self,
        app: FastAPI,
        path: str,
        *,
        method: str | None = None,
        body: bytes | None = None,
        events: bool = False,
        headers: Iterable[tuple[str, str]] | None = None,
        query: bytes | None = None,
        reading: asyncio.Event | None = None,
        **parameters: Any,
    ) -> None:
        named = [("Host", "localhost")] if headers is None else list(headers)
        named += [("Accept", "text/event-stream")] if events else []
        self._scope = {
            "type": "http", "http_version": "1.1", "scheme": "http", "path": path, "raw_path": path.encode(),
            "method": method or ("GET" if body is None else "POST"),
            "query_string": urlencode(parameters).encode() if query is None else query,
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in named],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "root_path": "",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
        }  # fmt: skip
        self._body, self._reading = body or b"", reading
        self._is_read = False
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
        if self._reading is not None and message.get("body"):
            await self._reading.wait()

    def leave(self) -> None:
        """Close the connection."""
        self._has_left.set()

    async def reply(self) -> Reply:
        """Wait for the whole answer."""
        await self.task
        start = next(message for message in self.sent if message["type"] == "http.response.start")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
        return Reply(start["status"], headers, b"".join(message.get("body", b"") for message in self.sent))


def ask(
    app: FastAPI, address: str, *headers: tuple[str, str | None], method: str | None = None, body: bytes | None = None
) -> Reply:
    """Return the answer to one request, in an event loop of its own.

    Without a header Host, the request names localhost. A header without a value is left out.
    """
    path, _, query = address.partition("?")
    named = headers if "Host" in dict(headers) else (("Host", "localhost"), *headers)
    given = [(name, value) for name, value in named if value is not None]

    async def work() -> Reply:
        return await AppRequest(app, path, method=method, body=body, headers=given, query=query.encode()).reply()

    return asyncio.run(work())


def metrics(app: FastAPI) -> dict[str, float]:
    """Return the value of each series of the metrics."""
    lines = generate_latest(app.state.service.metrics.registry).decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def ask_solve(app: FastAPI, board: Tiles, **named: Any) -> AppRequest:
    """Begin a request for a solve."""
    return AppRequest(app, "/v1/solve", board=" ".join(map(str, board)), **named)


def ask_moves(app: FastAPI, board: Tiles, **named: Any) -> AppRequest:
    """Begin a request for a list of moves."""
    return AppRequest(app, "/v1/moves", board=" ".join(map(str, board)), **named)


def ready_app(*databases: Database, **settings: Any) -> FastAPI:
    """Return an app that answers without its lifespan; `settings` are fields of `ServiceSettings`."""
    app = create_app(databases, ServiceSettings(**settings))
    app.state.service.loaded.set_result(None)
    return app


@asynccontextmanager
async def running_app(database: Database, solvers: Any, **settings: Any) -> AsyncIterator[FastAPI]:
    """Run an app with these solvers; at its end no search and no task may be left."""
    app = create_app([database], ServiceSettings(**settings))
    service = app.state.service
    service.solve, service.solver = solvers.solve, solvers.solver
    async with app.router.lifespan_context(app):
        await until(service.loaded.done)
        yield app
    assert (service.searches.n_running, service.searches.n_waiting) == (0, 0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, left


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a test in an event loop. It fails on errors that asyncio only logs."""
    unread: list[Any] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unread.append(context))
        async with asyncio.timeout(60):
            await work

    asyncio.run(watched())
    assert not unread


def in_event_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Return a test that runs a coroutine function."""

    @wraps(test)
    def wrapped(*args: Any, **named: Any) -> None:
        run(test(*args, **named))

    return wrapped


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so. Raises `TimeoutError` after 20 seconds."""
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.002)
