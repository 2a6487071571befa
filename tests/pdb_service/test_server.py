"""A running `pdb serve`: connections, limits, memory, signals, options."""

import contextlib
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pdb_core.errors import TokenError
from pdb_service.client import Client
from tests import wait_until
from tests.command_line import pdb, refused
from tests.pdb_service.conftest import STRICT
from tests.pdb_service.server import Server, serving
from tests.tables import table_file

LOOKUP = "/v1/lookup?board=1+2+3+4/5+6+7+8/9+10+11+12/13+14+0+15"
# This search outlasts a test.
SOLVE = "/v1/solve?time_limit=60&board=0+12+9+13/15+11+10+14/3+7+2+5/4+8+6+1"


def head(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def connect(server: Server, data: bytes = b"", timeout: float = 20) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=timeout)
    connection.sendall(data)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Return all data until the server closes or resets the connection."""
    answer = b""
    with contextlib.suppress(ConnectionError):
        while received := connection.recv(1 << 16):
            answer += received
    return answer


def wait_for_searches(server: Server, n: int) -> None:
    wait_until(lambda: server.n_running() == n, 20)


def test_used_port_is_refused(server: Server) -> None:
    refused(pdb("serve", "--port", str(server.port)), 2, "choose another with --host and --port")


def test_too_large_head_is_refused(server: Server) -> None:
    # The time limits of this server are longer than the timeout of this connection.
    with connect(server, timeout=8) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 400_000)
        answer = read_all(connection)
        assert answer == b"" or int(answer[9:12]) in (400, 408, 414, 431), answer[:200]


def test_missing_body_is_refused(strict: Server) -> None:
    with connect(strict, head("POST /v1/lookup", "Content-Length: 100") + b"[1", timeout=5) as connection:
        answer = connection.recv(100)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400 "), answer


def test_idle_connections_are_closed(strict: Server) -> None:
    n_files = psutil.Process(strict.process.pid).num_fds
    before = n_files()
    crowd = [connect(strict, b"GET /he" if number % 2 else b"") for number in range(150)]
    assert strict.ask(LOOKUP, timeout=10).json["h"] == 1
    assert n_files() <= before + STRICT["max_connections"] + 1
    assert [read_all(connection) for connection in crowd[:2]] == [b"", b""]
    for connection in crowd:
        connection.close()


def test_lookups_stay_fast_during_hard_solves_which_end_when_their_clients_leave(server: Server) -> None:
    with (
        connect(server, head(f"GET {SOLVE}")),
        connect(server, head(f"GET {SOLVE}", "Accept: text/event-stream")),
    ):
        wait_for_searches(server, 2)
        started = time.perf_counter()
        assert {server.ask(LOOKUP).json["h"] for _ in range(100)} == {1}
        # A loose bound, for a loaded machine. A lookup that waited for a search would take seconds.
        assert time.perf_counter() - started < 20
        assert server.n_running() == 2
    wait_for_searches(server, 0)


def test_sigterm_ends_solves_after_the_time_of_grace() -> None:
    """A solve is answered; requests that its client has sent behind it are not."""
    with (
        serving(table_file("663", "4x4"), options=["--grace", "1"]) as server,
        ThreadPoolExecutor(1) as pool,
        connect(server, head(f"GET {SOLVE}") + head("GET /healthz") * 3) as connection,
    ):
        solve = pool.submit(server.ask, SOLVE)
        wait_for_searches(server, 2)
        server.process.send_signal(signal.SIGTERM)
        assert not solve.done()
        assert (solve.result(20).status, solve.result().json["type"]) == (503, "urn:tile-pdb:BusyError")
        answers = read_all(connection).lower()
        assert answers.startswith(b"http/1.1 503 ")
        assert b"\r\nconnection: close\r\n" in answers
        assert answers.count(b"http/1.1 ") == 1
        assert server.process.wait(20) == 0


def test_options_set_token_and_origins_and_ctrl_c_cuts_an_unfinished_request_without_a_traceback(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    options = ["--grace", "0", "--host", "0.0.0.0", "--token-file", str(token), "--cors-origin", "https://example.org"]
    with serving(table_file("8", "3x3"), options=options) as server:
        with Client(server.url, token="s3cret") as client:
            assert client.probe(client.goal).h == 0
        with pytest.raises(TokenError, match="Bearer"):
            Client(server.url, token="wrong")
        reply = server.ask("/metrics", Authorization="Bearer s3cret", Origin="https://example.org")
        assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "https://example.org")
        unfinished = head("POST /v1/lookup", "Content-Length: 1000", "Authorization: Bearer s3cret") + b"[[1"
        with connect(server, unfinished):
            server.ask("/healthz")
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(20) == -signal.SIGINT
        assert "Traceback" not in server.log.read_text()
