"""What one client may do, and what it must not do to others."""

import http.client
import json
import os
import signal
import socket
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.pdb_service.hostile_requests import EASY, WORST_BOARDS, open_files, request
from tests.pdb_service.server import Reply, Server, serving
from tests.tables import table_file

# With these tables no search of the worst boards ends by itself before a test does.
WORST = WORST_BOARDS[0].replace(" ", "+")
LOOKUP = "/v1/lookup?board=" + EASY.replace(" ", "+")
EVENTS = "Accept: text/event-stream"
STRICT = {
    "max_body_bytes": 200_000,
    "max_boards": 1000,
    "head_s": 0.5,
    "request_s": 1.0,
    "stall_s": 0.5,
    "keep_alive_s": 1,
    "max_head_bytes": 8_000,
    "max_connections": 100,
}


def table() -> Path:
    return table_file("663", "4x4")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(table(), options=["--grace", "0"]) as running:
        yield running


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
    """What comes until the server closes, however it does."""
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


def test_a_body_too_large_is_refused_before_it_is_sent(server: Server) -> None:
    with connect(server, request("/v1/lookup?size=4x4", b"", length="16000001")) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_body_too_large_in_chunks_is_refused(strict: Server) -> None:
    chunks = b"4000\r\n" + bytes(0x4000) + b"\r\n"
    for path, method in (("/v1/lookup?size=4x4", "POST"), ("/v1/solve", "POST"), ("/v1/solve?board=" + WORST, "GET")):
        head = request(path, None, "Transfer-Encoding: chunked", method=method)
        with connect(strict, head, chunks * 13) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 413 "), path
    wait_for(strict, "tile_pdb_solves_running", 0)


def test_a_batch_too_large_is_refused_in_every_form(strict: Server) -> None:
    board = list(range(16))
    for media_type, body in (
        ("application/json", json.dumps({"boards": [board] * 1001}).encode()),
        ("application/x-ndjson", json.dumps(board).encode() + b"\n" + b'"x"\n' * 1000),
        ("application/octet-stream", bytes(board) * 1001),
    ):
        assert is_problem(strict.ask("/v1/lookup?size=4x4", body, Content_Type=media_type), 413), media_type


def test_a_body_of_an_unknown_kind_is_refused(server: Server) -> None:
    assert is_problem(server.ask("/v1/lookup?size=4x4", b"<board/>", Content_Type="text/xml"), 415)


@pytest.mark.parametrize("board", ["[true, false]", "[1.0, 0]", '["1", "0"]', "[[1]]", "null", "1", "NaN", "[" * 9000])
def test_a_board_that_is_no_list_of_whole_numbers_is_refused(server: Server, board: str) -> None:
    assert is_problem(server.ask("/v1/solve", b'{"board": ' + board.encode() + b"}"), 422)
    batch = server.ask("/v1/lookup?size=4x4", b'{"boards": [' + board.encode() + b"]}", Content_Type="application/json")
    assert batch.status == 400 or "error" in batch.json["answers"][0]


def test_every_method_of_a_path_is_named_where_another_is_tried(server: Server) -> None:
    for path, methods in (
        ("/v1/lookup", "GET, HEAD, POST"),
        ("/v1/solve", "GET, HEAD, POST"),
        ("/v1/moves", "GET, HEAD"),
    ):
        with connect(server, request(path, None, method="PUT")) as connection:
            answer = read_all(connection).lower()
        assert answer.startswith(b"http/1.1 405 ")
        assert f"\r\nallow: {methods}\r\n".lower().encode() in answer


# Heads, connections


def test_a_head_that_does_not_end_is_given_up(strict: Server) -> None:
    for sent in (b"", b"GET / HTTP/1.1\r\nX: "):
        with connect(strict, sent) as connection:
            started = time.monotonic()
            assert read_all(connection) == b""
            assert time.monotonic() - started < 5


def test_empty_lines_do_not_keep_a_connection_open(strict: Server) -> None:
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
        b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 400_000,
        b"GET /healthz?" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n" + b"X: a\r\n" * 50_000 + b"\r\n",
        b"POST /v1/lookup HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"T: a\r\n" * 100_000,
        b"POST /v1/lookup HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: " + b"a" * 400_000,
        b"POST /v1/lookup HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 400_000,
    ],
    ids=["header", "no end", "query", "many", "trailers", "trailer", "extension"],
)
def test_a_head_too_large_is_refused(server: Server, data: bytes) -> None:
    # At once: the times that this server allows are longer than a connection here waits.
    with connect(server, timeout=8) as connection:
        try:
            connection.sendall(data)
        except ConnectionError:
            return
        answer = read_all(connection)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")


def test_a_body_that_does_not_come_is_given_up(strict: Server) -> None:
    for path in ("/v1/lookup?size=4x4", "/v1/solve"):
        started = time.monotonic()
        with connect(strict, request(path, b"[1", length="100")) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
        assert 0.5 < time.monotonic() - started < 5


def test_an_answer_that_nobody_reads_is_given_up(strict: Server) -> None:
    before = open_files(strict.process.pid)
    body = b"1\n" * 1000
    asked = request("/v1/lookup?size=4x4", body, "Content-Type: application/x-ndjson").replace(
        b"Connection: close\r\n", b""
    )
    connections = [connect(strict) for _ in range(5)]
    for connection in connections:
        connection.setblocking(False)
        try:
            for _ in range(1000):
                connection.send(asked)
        except (BlockingIOError, ConnectionError):
            pass
    deadline = time.monotonic() + 15
    while open_files(strict.process.pid) > before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for connection in connections:
        connection.close()


def test_connections_opened_and_left_keep_nobody_out(strict: Server) -> None:
    before = open_files(strict.process.pid)
    crowd = [connect(strict, b"GET /he" if number % 2 else b"") for number in range(600)]
    assert strict.ask(LOOKUP, timeout=5).json["h"] == 1
    assert open_files(strict.process.pid) <= before + STRICT["max_connections"] + 1
    for connection in crowd:
        connection.close()


# Solves


def solve_request(kind: str) -> bytes:
    if kind == "moves":
        return request(f"/v1/moves?seconds=60&board={WORST}")
    # Of different limits: equal questions share one search.
    if kind == "events":
        return request(f"/v1/solve?seconds=59&board={WORST}", None, EVENTS)
    return request(f"/v1/solve?seconds=60&board={WORST}")


def test_solves_beyond_those_that_may_wait_are_refused(strict: Server) -> None:
    with connect(strict, solve_request("json")):
        wait_for(strict, "tile_pdb_solves_running", 1)
        with connect(strict, solve_request("events")):
            wait_for(strict, "tile_pdb_solves_waiting", 1)
            for headers in ({}, {"Accept": "text/event-stream"}):
                refused = strict.ask(f"/v1/solve?seconds=58&board={WORST}", **headers)
                assert is_problem(refused, 503)
                assert int(refused.headers["retry-after"]) > 0
            assert strict.ask(LOOKUP).status == 200
    wait_for(strict, "tile_pdb_solves_running", 0)
    wait_for(strict, "tile_pdb_solves_waiting", 0)
    assert strict.ask("/v1/solve?board=" + EASY.replace(" ", "+")).json["length"] == 1


@pytest.mark.parametrize("kind", ["json", "events", "moves"])
def test_a_solve_ends_soon_after_its_client_is_gone(server: Server, kind: str) -> None:
    with connect(server, solve_request(kind)):
        wait_for(server, "tile_pdb_solves_running", 1)
    wait_for(server, "tile_pdb_solves_running", 0, 3)


def test_events_tell_of_progress(server: Server) -> None:
    with connect(server, solve_request("events")) as connection:
        answer = b""
        while answer.count(b"event: progress") < 2:
            answer += connection.recv(1 << 16)
    assert b"content-type: text/event-stream" in answer.lower()
    wait_for(server, "tile_pdb_solves_running", 0, 3)


def test_lookups_stay_fast_beside_the_worst_solves(server: Server) -> None:
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
    # Loose: two cores may have more to do than this. A lookup that waited for a search would take seconds.
    assert statistics.quantiles(times, n=100)[-1] < 0.25
    wait_for(server, "tile_pdb_solves_running", 0, 3)


# Who may ask


def test_pages_of_others_may_not_ask_unless_they_are_named(server: Server) -> None:
    reply = server.ask(LOOKUP, Origin="https://example.org")
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_a_token_and_an_origin_open_what_they_are_for(tmp_path: Path) -> None:
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
        assert server.ask(LOOKUP, Authorization="Bearer s3cret").status == 200
        assert server.ask("/metrics", Authorization="Bearer s3cret").status == 200
        assert {server.ask(path).status for path in ("/healthz", "/readyz", "/openapi.json")} == {200}

        allowed = server.ask(LOOKUP, Authorization="Bearer s3cret", Origin="https://example.org")
        assert allowed.headers["access-control-allow-origin"] == "https://example.org"
        other = server.ask(LOOKUP, Authorization="Bearer s3cret", Origin="https://example.com")
        assert "access-control-allow-origin" not in other.headers
        ask_first = ("Origin: https://example.org", "Access-Control-Request-Method: POST")
        with connect(server, request("/v1/lookup", None, *ask_first, method="OPTIONS")) as connection:
            assert read_all(connection).startswith(b"HTTP/1.1 200 ")


# Signals


def solving(server: Server, seconds: float) -> tuple[ThreadPoolExecutor, Future[Reply]]:
    """A solve that is under way."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(server.ask, f"/v1/solve?seconds={seconds}&board={WORST}")
    wait_for(server, "tile_pdb_solves_running", 1)
    return pool, future


def test_sigterm_answers_what_runs_and_ends_with_0() -> None:
    with serving(table(), options=["--grace", "20"]) as server:
        pool, future = solving(server, 1.5)
        server.process.send_signal(signal.SIGTERM)
        assert future.result().status == 200
        assert server.process.wait(20) == 0
        pool.shutdown()


def test_sigterm_ends_solves_when_the_time_of_grace_is_over() -> None:
    with serving(table(), options=["--grace", "0.3"]) as server:
        pool, future = solving(server, 60)
        started = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert is_problem(future.result(), 503)
        assert server.process.wait(20) == 0
        assert time.monotonic() - started < 5
        pool.shutdown()


@pytest.mark.usefixtures("hangup_ends")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 0)])
def test_other_signals_end_the_server_too(number: int, code: int) -> None:
    with serving(table()) as server:
        server.process.send_signal(number)
        assert server.process.wait(20) == code


def test_killed_and_started_again_it_is_soon_ready() -> None:
    for _ in range(2):
        started = time.monotonic()
        with serving(table()) as server:
            seconds = time.monotonic() - started
            processor_s = processor_seconds(server.process.pid)
            server.process.kill()
            server.process.wait()
    # The second start, with all kernels in the cache. On a machine with nothing else to do these are seconds of the
    # clock too; where others take the cores, the clock says little of the server.
    assert processor_s < 3
    assert seconds < 20


def processor_seconds(process: int) -> float:
    """The seconds that a process has been on a core."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
