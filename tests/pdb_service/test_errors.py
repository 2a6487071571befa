"""Errors of the service: problems, faults in the log, request ids, a failed start, invalid settings."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from pdb_core import errors
from pdb_core.errors import PROBLEM_TYPE, BusyError, InputError, LimitReachedError, ServiceError, TableFileDamagedError
from pdb_query import Database
from pdb_service import server
from pdb_service.app import create_app
from pdb_service.responses import problem, status_of
from pdb_service.server import open_socket
from pdb_service.settings import ServiceSettings
from tests.pdb_service.app_requests import (
    BOARDS,
    AppRequest,
    HeldSolvers,
    ask_moves,
    ask_solve,
    in_event_loop,
    ready_app,
    running_app,
)
from tests.tables import table_file

# Requests


@in_event_loop
@pytest.mark.parametrize("error", [KeyError("secret.h5"), TableFileDamagedError("secret.h5 is damaged")])
@pytest.mark.parametrize("route", ["solve", "events", "moves", "lookup", "batch"])
async def test_every_fault_is_logged_with_the_id_of_the_request(
    database: Database, error: Exception, route: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    solving = HeldSolvers()
    solving.fail = error
    solving.release.set()
    headers = [("Host", "localhost"), ("Content-Type", "application/octet-stream")]
    async with running_app(database, solving) as app:
        if route in ("lookup", "batch"):
            monkeypatch.setattr(Database, "probe_batch", Mock(side_effect=error))
        make: dict[str, Callable[[], AppRequest]] = {
            "solve": lambda: ask_solve(app, BOARDS[0]),
            "events": lambda: ask_solve(app, BOARDS[0], events=True),
            "moves": lambda: ask_moves(app, BOARDS[0]),
            "lookup": lambda: AppRequest(app, "/v1/lookup", board="1 2 3 4 5 6 7 8 0"),
            "batch": lambda: AppRequest(app, "/v1/lookup", body=bytes(BOARDS[0]), headers=headers, size="3x3"),
        }
        reply = await make[route]().reply()
    problem = json.loads(reply.body.decode().rpartition("data: ")[2])
    assert (reply.status, problem["status"]) == (200 if route == "events" else 500, 500)
    assert problem["request_id"] == reply.headers["x-request-id"]
    assert b"secret" not in reply.body
    for logged in (f"request {problem['request_id']} failed", "Traceback", "secret.h5"):
        assert logged in caplog.text


@in_event_loop
async def test_refusal_is_not_logged(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    solving = HeldSolvers()
    solving.fail = BusyError("later")
    solving.release.set()

    async with running_app(database, solving) as app:
        refused = await ask_solve(app, BOARDS[0]).reply()
        assert (refused.status, "request_id" in refused.json) == (503, False)
        assert b"later" in (await ask_solve(app, BOARDS[0], events=True).reply()).body
    assert not caplog.records


@in_event_loop
@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("", False), ("a-1.B_2", True), ("0" * 64, True), ("0" * 65, False), ("a b", False), ("a\u00e9", False)],
)
async def test_every_answer_has_the_id_of_the_proxy_or_a_new_one(database: Database, given: str, is_kept: bool) -> None:
    app = ready_app(database)
    for path in ("/healthz", "/v1/databases", "/v1/nowhere", "/v1/lookup", "/"):
        ids = [
            (await AppRequest(app, path, headers=[("Host", "localhost"), ("X-Request-Id", given)]).reply()).headers[
                "x-request-id"
            ]
            for _ in range(2)
        ]
        assert (ids[0] == given) == (ids[1] == given) == is_kept
        assert is_kept or all(re.fullmatch("[0-9a-f]{32}", number) for number in ids)
        assert is_kept or ids[0] != ids[1]


def test_every_error_has_a_status_and_hides_internal_details() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.PdbError):
            found = problem(kind("cannot read /etc/secret"))
            assert found.status == status_of(kind("")) >= 400
            assert found.type == f"{PROBLEM_TYPE}{kind.__name__}"
            assert found.status < 500 or found.status == 503 or "secret" not in found.detail


# The start


class LateSolvers(HeldSolvers):
    """Stand-in for solvers that are made when `release` is set; then `fail` is raised."""

    def solver(self, _: Database) -> None:
        self.release.wait(20)
        if self.fail is not None:
            raise self.fail


@in_event_loop
@pytest.mark.parametrize("fails", [False, True])
async def test_only_health_is_answered_while_tables_are_loaded(database: Database, fails: bool) -> None:
    app = create_app([database])
    app.state.service.solver = (solvers := LateSolvers()).solver
    solvers.fail = RuntimeError("secret") if fails else None
    async with app.router.lifespan_context(app):
        assert (await AppRequest(app, "/healthz").reply()).status == 200
        loading = await AppRequest(app, "/readyz").reply()
        assert (loading.status, loading.headers["retry-after"]) == (503, "5")
        lookup = AppRequest(app, "/v1/lookup", board="1 2 3 4 5 6 7 8 0")
        assert not (await asyncio.wait({lookup.task}, timeout=0.2))[0]
        solvers.release.set()
        assert (await lookup.reply()).status == (503 if fails else 200)
        ready = await AppRequest(app, "/readyz").reply()
        assert ready.status == (503 if fails else 200)
        assert (b"could not be loaded" in ready.body, b"secret" in ready.body) == (fails, False)


@in_event_loop
async def test_without_the_lifespan_nothing_waits(database: Database) -> None:
    app = create_app([database])
    for path in ("/readyz", "/v1/lookup", "/v1/moves", "/v1/solve"):
        assert (await AppRequest(app, path, board="1 2 3 4 5 6 7 8 0").reply()).status == 503


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (TableFileDamagedError("8.h5 is damaged"), TableFileDamagedError),
        (RuntimeError("no memory for 8.h5"), ServiceError),
        (SystemExit(0), ServiceError),
    ],
)
def test_failed_start_ends_the_server_with_the_cause(
    error: BaseException, raised: type[Exception], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "raise_file_limit", lambda: None)  # it is for the whole process
    app = create_app([])
    app.state.service.load = Mock(side_effect=error)
    with open_socket("127.0.0.1", 0) as listener, pytest.raises(raised, match=str(error)):
        server.serve(app, listener, lambda: None)
    assert str(error) in caplog.text
    # Errors of the project say all in one sentence.
    assert ("Traceback" in caplog.text) == (not isinstance(error, errors.PdbError))


_FAILING = """
import solver
def fail(self, database):
    raise RuntimeError("no kernels today")
solver.Solver.__init__ = fail
from tilepdb.commands.main import run
run()
"""


def test_failed_start_sends_systemd_only_the_exit_code(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(address)
        notified.setblocking(False)
        words = ["serve", "--port", "0", "--db", str(table_file("8", "3x3"))]
        environment = {**os.environ, "NOTIFY_SOCKET": address, "PYTHONWARNINGS": "error"}
        command = [sys.executable, "-c", _FAILING, *words]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == 1
        assert "pdb: ready" not in ended.stderr
        assert "pdb: the service could not be made ready: RuntimeError: no kernels today" in ended.stderr
        with pytest.raises(BlockingIOError):
            notified.recv(100)


def test_start_without_threads_raises_limit_reached_error(limit_threads: Callable[[int], None]) -> None:
    app = create_app([], ServiceSettings(n_solves=1))
    limit_threads(0)
    with open_socket("127.0.0.1", 0) as listener, pytest.raises(LimitReachedError, match="starts no more threads"):
        server.serve(app, listener, lambda: None)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
@pytest.mark.parametrize("name", ["solve_s", "wait_s", "grace_s"])
def test_invalid_limit_is_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"^{name} is {value}; "):
        ServiceSettings(**{name: value})


@in_event_loop
async def test_databases_lists_the_limits(database: Database) -> None:
    settings = ServiceSettings(solve_s=7.0, short_s=0.5, wait_s=3.0, max_boards=10, max_body_bytes=1000)
    app = create_app([database], settings)
    limits = (await AppRequest(app, "/v1/databases").reply()).json["limits"]
    assert limits == {
        "solve_seconds_limit": 7.0, "short_seconds_limit": 0.5, "wait_seconds_limit": 3.0,
        "body_bytes_limit": 1000, "batch_boards_limit": 10,
    }  # fmt: skip


@pytest.mark.parametrize("host", ["a..b", ".", "x" * 64 + ".org", "\xe4" * 80])
def test_invalid_host_is_refused(host: str) -> None:
    with pytest.raises(InputError, match=r"choose another with --host and --port$"):
        open_socket(host, 0)
