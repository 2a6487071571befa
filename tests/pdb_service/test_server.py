"""A running `pdb serve`: connections, limits, hostile requests, memory, signals."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pdb_core.errors import TokenError
from pdb_service.client import Client
from pdb_service.server import open_socket
from tests import wait_until
from tests.pdb_service.conftest import STRICT
from tests.pdb_service.hostile_requests import (
    EASY,
    WORST,
    Hostile,
    hostile_requests,
    request,
    send_all,
)
from tests.pdb_service.server import Server, serving
from tests.tables import table_file

LOOKUP, SOLVE = f"/v1/lookup?board={EASY}", f"/v1/solve?time_limit=60&board={WORST}"


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
    wait_until(lambda: server.n_running() == n, 5)


# Connections and limits


def test_connections_send_the_end_of_a_file_at_once() -> None:
    with (
        open_socket("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_head_has_the_headers_of_get_and_no_body(server: Server) -> None:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        for path in ("/", "/v1/nowhere"):
            replies = []
            for method in ("GET", "HEAD", "GET"):  # over one connection: a body would be read as the next answer
                connection.request(method, path)
                response = connection.getresponse()
                replies.append((response.status, {**dict(response.getheaders()), "date": ""}, response.read()))
            get, head, again = replies
            assert head == (*get[:2], b"")
            assert again == get


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nX: "])
def test_connection_with_an_incomplete_head_is_closed(strict: Server, sent: bytes) -> None:
    with connect(strict, sent, timeout=5) as connection:
        assert read_all(connection) == b""


def test_too_large_head_is_refused(server: Server) -> None:
    # The time limits of this server are longer than the timeout of this connection.
    with connect(server, timeout=8) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 400_000)
        answer = read_all(connection)
        assert answer == b"" or int(answer[9:12]) in (400, 408, 414, 431), answer[:200]


def test_missing_body_is_refused(strict: Server) -> None:
    with connect(strict, request("/v1/lookup?size=4x4", b"[1", length="100"), timeout=5) as connection:
        answer = connection.recv(100)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400 "), answer


def test_idle_connections_are_closed(strict: Server) -> None:
    before = strict.n_files()
    crowd = [connect(strict, b"GET /he" if number % 2 else b"") for number in range(150)]
    assert strict.ask(LOOKUP, timeout=10).json["h"] == 1
    assert strict.n_files() <= before + STRICT["max_connections"] + 1
    for connection in crowd:
        connection.close()


# Searches


def test_lookups_stay_fast_during_hard_solves_which_end_when_their_clients_leave(server: Server) -> None:
    with connect(server, request(SOLVE)), connect(server, request(SOLVE, None, "Accept: text/event-stream")):
        wait_for_searches(server, 2)
        started = time.perf_counter()
        assert {server.ask(LOOKUP).json["h"] for _ in range(100)} == {1}
        # A loose bound, for a loaded machine. A lookup that waited for a search would take seconds.
        assert time.perf_counter() - started < 20
        assert server.n_running() == 2
    wait_for_searches(server, 0)


# Hostile requests and memory


@pytest.mark.parametrize("n_requests", [1500, pytest.param(100_000, marks=pytest.mark.slow)])
def test_hostile_requests_cause_no_error_and_no_leak(server: Server, n_requests: int) -> None:
    # The first requests fill caches; growth is measured after them.
    send_all(server.port, hostile_requests(300, 4))
    n_files, n_bytes = server.n_files(), server.resident_bytes()
    statuses = send_all(server.port, hostile_requests(n_requests, 5))
    assert max(statuses.keys() - {503}) < 500
    assert {200, 400, 404, 413, 422} <= set(statuses)
    assert server.ask(LOOKUP).json["h"] == 1
    wait_until(lambda: server.n_files() <= n_files + 2, 40)
    assert server.resident_bytes() - n_bytes < 100e6
    assert not [line for line in server.log if "ERROR" in line]


@pytest.mark.parametrize(("item", "status"), [(b"[]", 413), (b"-9", 422), (b"[-9]", 413)])
def test_large_bodies_take_little_memory(server: Server, item: bytes, status: int) -> None:
    body = b'{"boards": [%s]}' % b",".join([item] * (999_000 // (len(item) + 1)))
    sent = Hostile(request("/v1/lookup?size=4x4", body, "Content-Type: application/json"), 20.0)
    before = server.reset_peak()
    assert send_all(server.port, [sent] * 4, n_threads=2) == {status: 4}
    assert server.peak_bytes() - before < 150e6


# Start, options and signals


@pytest.mark.slow
def test_first_start_tells_what_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    with serving() as server:
        told = re.findall("listening on|building .+? for|reading(?= /)|compiling kernels|ready", "".join(server.log))
    built = ["listening on", "building 8 for", "building 78 for"]
    assert told == [*built, "reading", "compiling kernels", "reading", "ready"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, -signal.SIGINT)])
def test_signal_ends_solves_after_the_time_of_grace(number: int, code: int) -> None:
    """A solve is answered; requests that its client has sent behind it are not."""
    requests = b"".join(map(request, (SOLVE, *["/healthz"] * 3)))
    sent = requests.replace(b"Connection: close\r\n", b"")
    with serving(table_file("663", "4x4"), options=["--grace", "1"]) as server, ThreadPoolExecutor(1) as pool:
        with connect(server, sent) as connection:
            solve = pool.submit(server.ask, SOLVE)
            wait_for_searches(server, 2)
            server.process.send_signal(number)
            assert not solve.done()
            assert (solve.result(20).status, solve.result().json["type"]) == (503, "urn:tile-pdb:BusyError")
            answers = read_all(connection).lower()
        assert answers.startswith(b"http/1.1 503 ")
        assert b"\r\nconnection: close\r\n" in answers
        assert answers.count(b"http/1.1 ") == 1
        assert server.process.wait(20) == code


def test_log_that_is_not_read_stops_neither_answers_nor_the_end() -> None:
    missing = Hostile(request("/" + 400 * "a"), 5.0)
    with serving(table_file("8", "3x3"), options=["--access-log"], reads_log=False) as server:
        assert send_all(server.port, [missing] * 300) == {404: 300}
    assert 100 < len(server.log) < 300


def test_ctrl_c_cuts_an_unfinished_request_without_a_traceback() -> None:
    with serving(table_file("8", "3x3"), options=["--grace", "0"]) as server:
        body = b"POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n[[1"
        with connect(server, body):
            server.ask("/healthz")
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(20) == -signal.SIGINT
    assert "Traceback" not in "".join(server.log)


@pytest.mark.usefixtures("hangup_ends")
def test_options_set_token_origins_and_hosts_and_sighup_ends_the_server(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    options = ["--host", "0.0.0.0", "--token-file", str(token), "--cors-origin", "https://example.org"]
    with serving(table_file("8", "3x3"), options=[*options, "--access-log"]) as server:
        assert [line for line in server.log if "Name the hosts that clients use with --allowed-host" in line]
        with Client(server.url, token="s3cret") as client:
            assert client.probe(client.goal).h == 0
        with pytest.raises(TokenError, match="Bearer"):
            Client(server.url, token="wrong")
        reply = server.ask("/metrics", Authorization="Bearer s3cret", Origin="https://example.org")
        assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "https://example.org")
        server.process.send_signal(signal.SIGHUP)
        assert server.process.wait(20) == 0
    assert [line for line in server.log if " GET /metrics 200" in line]


def test_shortened_table_file_ends_the_server_with_a_line_in_the_log(tmp_path: Path) -> None:
    path = Path(shutil.copy(table_file("8", "3x3"), tmp_path))
    no_core = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
    with serving(path, prelude=no_core) as server:
        os.truncate(path, 0)
        with pytest.raises(ConnectionError):
            server.ask("/v1/lookup?board=8+6+7/2+5+4/3+0+1")
        assert server.process.wait(20) == -signal.SIGBUS
    assert "Fatal Python error: Bus error\n" in server.log
