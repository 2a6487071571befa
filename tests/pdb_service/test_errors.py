"""Faults of the service: a failed start ends it; every 500 is logged with its traceback and the id of the request."""

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pdb_core.errors import BusyError, InputError, PdbError, ServiceError, TableFileDamagedError
from pdb_query import Database, open_database
from pdb_service import server
from pdb_service.app import create_app
from pdb_service.server import open_socket, serve
from pdb_service.settings import ServiceSettings
from pdb_service.start_up import StartUp
from tests.pdb_service.held_solving import BOARDS, AppRequest, HeldSolving, ask_moves, ask_solve, running_app, until
from tests.pdb_service.server import Reply
from tests.tables import table_file


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with open_database(table_file("1,2,5/3,4,6/7,8", "3x3")) as opened:
        yield opened


# Requests


def check_fault(reply: Reply, log: str) -> None:
    """Check a 500: the client gets an id and no details, the log has both."""
    assert reply.status == 500
    check_problem(reply.json, reply, log)


def check_problem(problem: Any, reply: Reply, log: str) -> None:
    assert problem["status"] == 500
    assert problem["request_id"] == reply.headers["x-request-id"]
    assert b"secret" not in reply.body
    assert f"request {problem['request_id']} failed" in log
    assert "Traceback" in log
    assert "secret.h5" in log


@pytest.mark.parametrize("error", [KeyError("secret.h5"), TableFileDamagedError("secret.h5 is damaged")])
@pytest.mark.parametrize("route", ["solve", "events", "moves", "lookup", "batch"])
def test_every_fault_is_logged_with_the_id_that_the_client_gets(
    database: Database, error: Exception, route: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    solving = HeldSolving()
    solving.fail = error
    solving.release.set()

    def fail(*_: Any, **__: Any) -> None:
        raise error

    async def work() -> Reply:
        async with running_app(database, solving) as app:
            if route in ("lookup", "batch"):
                monkeypatch.setattr(Database, "probe_batch", fail)
            if route == "moves":
                return await ask_moves(app, BOARDS[0]).reply()
            if route == "lookup":
                return await AppRequest(app, "/v1/lookup", board="1 2 3 4 5 6 7 8 0").reply()
            if route == "batch":
                headers = {"content-type": "application/octet-stream"}
                body = bytes(BOARDS[0])
                return await AppRequest(app, "/v1/lookup", body=body, headers=headers, size="3x3").reply()
            return await ask_solve(app, BOARDS[0], events=route == "events").reply()

    reply = asyncio.run(work())
    if route == "events":
        name, data = reply.body.decode().strip().splitlines()[-2:]
        assert name == "event: problem"
        check_problem(Reply(0, {}, data.removeprefix("data: ").encode()).json, reply, caplog.text)
    else:
        check_fault(reply, caplog.text)


def test_a_refusal_is_not_logged(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    solving = HeldSolving()
    solving.fail = BusyError("later")
    solving.release.set()

    async def work() -> None:
        async with running_app(database, solving) as app:
            refused = await ask_solve(app, BOARDS[0]).reply()
            assert (refused.status, "request_id" in refused.json) == (503, False)
            assert b"later" in (await ask_solve(app, BOARDS[0], events=True).reply()).body

    asyncio.run(work())
    assert not caplog.records


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("", False), ("a-1.B_2", True), ("0" * 64, True), ("0" * 65, False), ("a b", False), ("a\u00e9", False)],
)
def test_every_answer_has_an_id_of_its_own_or_the_one_of_a_proxy(database: Database, given: str, is_kept: bool) -> None:
    async def work() -> None:
        app = create_app([database], HeldSolving())
        for path in ("/healthz", "/v1/databases", "/v1/nowhere", "/v1/lookup", "/"):
            ids = [
                (await AppRequest(app, path, headers={"x-request-id": given}).reply()).headers["x-request-id"]
                for _ in range(2)
            ]
            assert (ids[0] == given) == (ids[1] == given) == is_kept
            assert is_kept or all(re.fullmatch("[0-9a-f]{32}", number) for number in ids)
            assert is_kept or ids[0] != ids[1]

    asyncio.run(work())


# The start


class FailingSolving(HeldSolving):
    """A solver that cannot be made ready."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    def warm(self, _: Database) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (TableFileDamagedError("8.h5 is damaged"), TableFileDamagedError),
        (RuntimeError("no memory for 8.h5"), ServiceError),
        (SystemExit(0), ServiceError),
    ],
)
def test_a_server_that_cannot_be_made_ready_ends_with_the_cause(
    database: Database,
    error: BaseException,
    raised: type[PdbError],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_give_back_memory", "_raise_file_limit"):  # they are for the whole process
        monkeypatch.setattr(server, name, lambda: None)
    told: list[bool] = []
    app = create_app([database], FailingSolving(error), on_ready=lambda: told.append(True))
    with open_socket("127.0.0.1", 0) as listener, pytest.raises(raised, match=str(error)):
        serve(app, listener)
    assert not told
    assert not app.state.service.start_up.is_ready
    assert "Traceback" in caplog.text


def test_a_service_that_could_not_be_made_ready_says_so(database: Database) -> None:
    async def work() -> None:
        app = create_app([database], FailingSolving(RuntimeError("secret")))
        async with app.router.lifespan_context(app):
            await until(lambda: app.state.service.start_up.failure is not None)
            reply = await AppRequest(app, "/readyz").reply()
            assert (reply.status, "could not be made ready" in reply.json["detail"]) == (503, True)
            assert b"secret" not in reply.body

    asyncio.run(work())


@pytest.mark.parametrize("fails", ["first", "second", "on_ready", None])
def test_a_start_is_ready_after_all_of_its_steps(fails: str | None) -> None:
    done: list[str] = []

    def step(name: str) -> None:
        done.append(name)
        if name == fails:
            raise OSError(name)

    async def work() -> None:
        start = StartUp()
        start.on_failure = lambda: done.append("failed")
        assert not start.is_ready
        start.begin(lambda: step("first"), lambda: step("second"), on_ready=lambda: step("on_ready"))
        await until(lambda: done[-1] in ("failed", "on_ready" if fails is None else "failed"))
        assert start.is_ready == (fails is None)

    asyncio.run(work())
    names = ["first", "second", "on_ready"]
    assert done == (names if fails is None else [*names[: names.index(fails) + 1], "failed"])


_FAILING = """
import solver
def fail(self, database):
    raise RuntimeError("no kernels today")
solver.Solver.__init__ = fail
from pdb_cli.main import run
run()
"""


def test_systemd_hears_nothing_of_a_failed_start_but_the_exit_code(tmp_path: Path) -> None:
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
        assert "Traceback" in ended.stderr
        assert "pdb: the service could not be made ready: RuntimeError: no kernels today" in ended.stderr
        with pytest.raises(BlockingIOError):
            notified.recv(100)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
@pytest.mark.parametrize("name", ["solve_s", "wait_s", "grace_s"])
def test_a_limit_that_is_none_is_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"^{name} is {value}; "):
        ServiceSettings(**{name: value})


def test_settings_of_the_queues_are_readable(database: Database) -> None:
    async def work() -> None:
        settings = ServiceSettings(solve_s=7.0, short_s=0.5, wait_s=3.0, max_boards=10, max_body_bytes=1000)
        app = create_app([database], HeldSolving(), settings)
        limits = (await AppRequest(app, "/v1/databases").reply()).json["limits"]
        assert limits == {
            "solve_seconds_limit": 7.0, "short_seconds_limit": 0.5, "wait_seconds_limit": 3.0,
            "body_bytes_limit": 1000, "batch_boards_limit": 10,
        }  # fmt: skip

    asyncio.run(work())
