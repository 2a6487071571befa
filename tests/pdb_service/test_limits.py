"""Limits of one client: sizes, times, connections, searches, the token, and signals, on a running server."""

import http.client
import os
import shutil
import signal
import socket
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pdb_core.errors import TokenError
from pdb_service.client import Client
from tests.pdb_service.hostile_requests import EASY, open_files, request
from tests.pdb_service.server import Reply, Server, serving
from tests.tables import table_file

# With these tables, searches of this board take longer than the tests.
WORST = "0+12+9+13/15+11+10+14/3+7+2+5/4+8+6+1"
LOOKUP = "/v1/lookup?board=" + EASY.replace(" ", "+")
EVENTS = "Accept: text/event-stream"
STRICT = {
    "max_body_bytes": 200_000,
    "max_boards": 1000,
    "head_s": 0.5,
    "request_s": 1.0,
    "max_head_bytes": 8_192,
    "max_connections": 100,
}


def table() -> Path:
    return table_file("663", "4x4")


@pytest.fixture(scope="module")
def strict() -> Iterator[Server]:
    options = ["--solves", "1", "--waiting", "1", "--grace", "0"]
    with serving(table(), options=options, settings=STRICT) as running:
        yield running


def connect(server: Server, *data: bytes, timeout: float = 20) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=timeout)
    for piece in data:
        connection.sendall(piece)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Return all data until the server closes or resets the connection."""
    answer = b""
    try:
        while received := connection.recv(1 << 16):
            answer += received
    except ConnectionError:
        pass
    return answer


def wait_for(server: Server, metric: str, value: float, seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while server.metric(metric) != value:
        assert time.monotonic() < deadline, f"{metric} is {server.metric(metric)}, not {value}"
        time.sleep(0.02)


def is_problem(reply: Reply, status: int) -> bool:
    return (reply.status, reply.headers["content-type"], reply.json["status"]) == (
        status,
        "application/problem+json",
        status,
    )


# Sizes and kinds


def test_too_large_body_is_refused_before_it_is_sent(server: Server) -> None:
    with connect(server, request("/v1/lookup?size=4x4", b"", length="16000001")) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_too_large_body_in_chunks_is_refused(strict: Server) -> None:
    chunks = b"4000\r\n" + bytes(0x4000) + b"\r\n"
    for path, method in (("/v1/lookup?size=4x4", "POST"), ("/v1/solve?board=" + WORST, "GET")):
        head = request(path, None, "Transfer-Encoding: chunked", method=method)
        with connect(strict, head, chunks * 13) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 413 "), path
    wait_for(strict, "tile_pdb_solves_running", 0)


# Heads, connections


def test_connection_with_an_incomplete_head_is_closed(strict: Server) -> None:
    for sent in (b"", b"GET / HTTP/1.1\r\nX: "):
        with connect(strict, sent) as connection:
            started = time.monotonic()
            assert read_all(connection) == b""
            assert time.monotonic() - started < 5


def test_connection_with_empty_lines_is_closed(strict: Server) -> None:
    with connect(strict, b"GET /healthz HTTP/1.1\r\n\r\n") as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
        started = time.monotonic()
        is_open = True
        while is_open and time.monotonic() - started < 10:
            try:
                connection.sendall(b"\r\n")
            except ConnectionError:
                is_open = False
            time.sleep(0.05)
        assert not is_open


@pytest.mark.parametrize(
    "data",
    [
        b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 400_000,
        b"POST /v1/lookup HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: " + b"a" * 400_000,
    ],
    ids=["head", "trailer"],
)
def test_too_large_head_is_refused(server: Server, data: bytes) -> None:
    # The time limits of this server are longer than the timeout of this connection.
    with connect(server, timeout=8) as connection:
        try:
            connection.sendall(data)
        except ConnectionError:
            return
        answer = read_all(connection)
        assert answer == b"" or int(answer[9:12]) in (400, 408, 414, 431), answer[:200]


def test_missing_body_is_refused(strict: Server) -> None:
    started = time.monotonic()
    with connect(strict, request("/v1/lookup?size=4x4", b"[1", length="100")) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    assert 0.5 < time.monotonic() - started < 5


def test_idle_connections_are_closed(strict: Server) -> None:
    before = open_files(strict.process.pid)
    crowd = [connect(strict, b"GET /he" if number % 2 else b"") for number in range(150)]
    assert strict.ask(LOOKUP, timeout=10).json["h"] == 1
    assert open_files(strict.process.pid) <= before + STRICT["max_connections"] + 1
    for connection in crowd:
        connection.close()


# Solves


def solve_request(kind: str) -> bytes:
    if kind == "moves":
        return request(f"/v1/moves?seconds=60&board={WORST}")
    if kind == "events":
        return request(f"/v1/solve?seconds=59&board={WORST}", None, EVENTS)
    return request(f"/v1/solve?seconds=60&board={WORST}")


@pytest.mark.parametrize("kind", ["json", "events", "moves"])
def test_solve_ends_soon_after_its_client_leaves(server: Server, kind: str) -> None:
    with connect(server, solve_request(kind)):
        wait_for(server, "tile_pdb_solves_running", 1)
    wait_for(server, "tile_pdb_solves_running", 0, 3)


def test_solve_with_requests_behind_it_ends_at_its_time_limit(strict: Server) -> None:
    """The server cannot notice that its client leaves."""
    solve = request(f"/v1/solve?seconds=1&board={WORST}").replace(b"Connection: close\r\n", b"")
    with connect(strict, solve * 3):
        wait_for(strict, "tile_pdb_solves_running", 1)
    wait_for(strict, "tile_pdb_solves_running", 0)
    assert strict.ask(LOOKUP).json["h"] == 1


def test_lookups_stay_fast_during_hard_solves(server: Server) -> None:
    with connect(server, solve_request("json")), connect(server, solve_request("events")):
        wait_for(server, "tile_pdb_solves_running", 2)
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        times = []
        for _ in range(400):
            started = time.perf_counter()
            client.request("GET", LOOKUP)
            assert client.getresponse().read()
            times.append(time.perf_counter() - started)
        client.close()
        assert server.metric("tile_pdb_solves_running") == 2
    # A loose bound, for a loaded machine. A lookup that waited for a search would take seconds.
    assert statistics.quantiles(times, n=100)[-1] < 0.25
    wait_for(server, "tile_pdb_solves_running", 0, 3)


# Token and origin


def test_token_and_origin_are_checked(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    options = ["--host", "0.0.0.0", "--token-file", str(token), "--cors-origin", "https://example.org"]
    with serving(table(), options=options) as server:
        assert [line for line in server.log if "Name the hosts that clients use with --allowed-host" in line]
        for path in (LOOKUP, "/v1/databases", "/v1/nowhere", "/metrics"):
            for shown in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"}):
                refused = server.ask(path, **shown)
                assert is_problem(refused, 401)
                assert refused.headers["www-authenticate"] == "Bearer"
        with Client(server.url, token="s3cret") as client:
            assert client.probe(client.goal).maximum == 0
        for wrong in (None, "wrong"):
            with pytest.raises(TokenError, match="Bearer"):
                Client(server.url, token=wrong)
        assert server.ask("/metrics", Authorization="Bearer s3cret").status == 200
        assert {server.ask(path).status for path in ("/healthz", "/readyz", "/openapi.json")} == {200}
        ask_first = ("Origin: https://example.org", "Access-Control-Request-Method: POST")
        with connect(server, request("/v1/lookup", None, *ask_first, method="OPTIONS")) as connection:
            assert read_all(connection).startswith(b"HTTP/1.1 200 ")


# Signals


def test_sigterm_ends_solves_after_the_time_of_grace() -> None:
    with serving(table(), options=["--grace", "0.3"]) as server:
        with ThreadPoolExecutor(1) as pool:
            solve = pool.submit(server.ask, f"/v1/solve?seconds=60&board={WORST}")
            wait_for(server, "tile_pdb_solves_running", 1)
            started = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            assert is_problem(solve.result(), 503)
            assert time.monotonic() - started < 5
        assert server.process.wait(30) == 0


def test_sigterm_ends_a_connection_with_requests_behind_a_solve() -> None:
    """The solve is answered, and none of the requests that its client has sent behind it."""
    sent = b"".join(
        request(path).replace(b"Connection: close\r\n", b"")
        for path in (f"/v1/solve?seconds=60&board={WORST}", *["/healthz"] * 3)
    )
    with serving(table(), options=["--grace", "0.3"]) as server, connect(server, sent) as connection:
        wait_for(server, "tile_pdb_solves_running", 1)
        server.process.send_signal(signal.SIGTERM)
        answers = read_all(connection).lower()
        assert answers.startswith(b"http/1.1 503 ")
        assert b"\r\nconnection: close\r\n" in answers
        assert answers.count(b"http/1.1 ") == 1
        assert server.process.wait(20) == 0


@pytest.mark.usefixtures("hangup_ends")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGHUP, 0)])
def test_sigint_and_sighup_end_the_server(number: int, code: int) -> None:
    with serving(table()) as server:
        server.process.send_signal(number)
        assert server.process.wait(20) == code


def test_shortened_table_file_ends_the_server_with_a_line_in_the_log(tmp_path: Path) -> None:
    path = Path(shutil.copy(table_file("8", "3x3"), tmp_path))
    no_core = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
    with serving(path, prelude=no_core) as server:
        os.truncate(path, 0)
        with pytest.raises(ConnectionError):
            server.ask("/v1/lookup?board=8+6+7/2+5+4/3+0+1")
        assert server.process.wait(20) == -signal.SIGBUS
    assert "Fatal Python error: Bus error\n" in server.log
