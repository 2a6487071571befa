"""`Client` returns what a `Database` returns, and raises an error for each failure on the way."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from pdb_core import errors
from pdb_core.puzzle import blank_first, blank_last, parse_size, random_boards, snail
from pdb_query import Database, open_database, read_instances
from pdb_service.answers import SolveProgress
from pdb_service.client import AsyncClient, Client
from solver.solution import check_solution
from tests.pdb_service.app_requests import until
from tests.pdb_service.server import Server
from tests.tables import table_file

S3, S4 = parse_size("3x3"), parse_size("4x4")
HARDEST_3X3 = (8, 6, 7, 2, 5, 4, 3, 0, 1)
UNSOLVABLE_3X3 = (1, 2, 3, 4, 5, 6, 8, 7, 0)
# 80 moves: with 663 a search of some seconds, which the tests do not wait for.
HARD_4X4 = next(iter(read_instances("hardest80", None))).board
LIMITS = (
    b'{"solve_seconds_limit": 1, "short_seconds_limit": 1, "wait_seconds_limit": 1, "body_bytes_limit": 1, '
    b'"batch_boards_limit": 1}'
)


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url, size=S3) as client:
        yield client


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with open_database(table_file("8", "3x3")) as database:
        yield database


def test_client_describes_the_database(client: Client, database: Database, server: Server) -> None:
    assert (client.size, client.goal) == (S3, database.goal)
    first, second, _ = client.databases()
    assert (first.size, second) == (str(S4), client.database)
    assert [at.tiles for at in second.patterns] == [tuple(range(1, 9))]
    with Client(server.url, db=first.id) as named, Client(server.url + "/") as unnamed:
        assert named.database == unnamed.database == first


@pytest.mark.parametrize("goal", [None, blank_last(S3), blank_first(S3)], ids=str)
def test_probe_and_get_equal_those_of_the_database(
    client: Client, database: Database, goal: tuple[int, ...] | None
) -> None:
    for board in random_boards(S3, goal or database.goal, 20, 1).tolist():
        assert client.probe(board, goal) == client.get(board, None, goal) == database.probe(board, goal)


def test_default_goal_is_that_of_the_database(server: Server) -> None:
    """The default goal of the service is blank-last if tables serve it; that of a database is its own."""
    path = table_file("1,2,5/3,4,6/7,8", "3x3", "blank-first")
    with Client(server.url, db=path.stem) as client, open_database(path) as database:
        assert client.goal == database.goal == blank_first(S3)
        boards = random_boards(S3, client.goal, 20, 2)
        for board in boards.tolist():
            assert client.probe(board) == database.probe(board)
        assert np.array_equal(client.probe_batch(boards).maximum, database.probe_batch(boards).maximum)
        assert client.solve(HARDEST_3X3[::-1]).goal == client.goal


def test_batches_equal_those_of_the_database(client: Client, database: Database) -> None:
    assert client._batch_rows == 100_000
    client._batch_rows = 100
    boards = random_boards(S3, blank_last(S3), 301, 4).astype(np.int64)
    boards[210, [boards[210].argmax(), 0]] = boards[210, [0, boards[210].argmax()]]
    for strict in (True, False):
        found = client.probe_batch(boards, strict=strict).maximum
        assert np.array_equal(found, database.probe_batch(boards, strict=strict).maximum)
        boards[[150, 250], 3] = 300
    assert error_of(client.probe_batch, boards) == error_of(database.probe_batch, boards)
    assert client.probe_batch(boards[:0]).maximum.shape == (0,)


def error_of(call: object, *given: object) -> tuple[type, str]:
    """Return the class and the message of the error that a call raises."""
    assert callable(call)
    with pytest.raises(errors.PdbError) as caught:
        call(*given)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("board", "goal"),
    [
        (UNSOLVABLE_3X3, None),
        ((1, 2, 3), None),
        ((1, 1, 2, 3, 4, 5, 6, 7, 0), None),
        (("a",) * 9, None),
        (HARDEST_3X3, (1, 2, 3, 4, 0, 5, 6, 7, 8)),
        (UNSOLVABLE_3X3, snail(S3)),
    ],
    ids=str,
)
def test_errors_equal_those_of_the_database(
    client: Client, database: Database, board: tuple[int, ...], goal: tuple[int, ...] | None
) -> None:
    kind, text = error_of(database.probe, board, goal)
    for method in (client.probe, client.moves, client.solve):
        assert error_of(method, board, goal) == (kind, text)
    if kind is not errors.GoalError:
        assert client.get(board, "nothing", goal) == "nothing"


def test_invalid_batches_raise_the_errors_of_the_database(client: Client, database: Database) -> None:
    for boards in ([1, 2, 3], [[1, 2, 3]], [[0.5] * 9]):
        assert error_of(client.probe_batch, boards) == error_of(database.probe_batch, boards)
    nothing = np.empty((0, 9), dtype=np.uint8)
    goal = (1, 2, 3, 4, 0, 5, 6, 7, 8)
    assert error_of(client.probe_batch, nothing, goal) == error_of(database.probe_batch, nothing, goal)


def test_moves_come_best_first(client: Client) -> None:
    hint = client.moves(HARDEST_3X3)
    assert (hint.distance, [at.distance for at in hint.moves]) == (31, [30, 30, 30])
    for move in hint.moves:
        assert (HARDEST_3X3[move.cell], HARDEST_3X3[move.blank]) == (move.tile, 0)
        assert client.probe(move.board).maximum == move.h
    assert {at.distance for at in client.moves(HARDEST_3X3, seconds=0).moves} == {None}


def test_moves_wait_for_the_seconds_of_the_search(server: Server) -> None:
    with Client(server.url, timeout_s=1) as client:
        assert client.moves(HARD_4X4, seconds=1.5).h
        assert [client._moves(HARD_4X4, seconds=given).search_s for given in (None, -1, 1e6)] == [1, 0, 60]


def test_solution_is_optimal(client: Client) -> None:
    solution = client.solve(HARDEST_3X3)
    assert (solution.length, solution.is_optimal, solution.h, solution.lower_bound) == (31, True, 31, 31)
    assert solution.tiles is not None
    check_solution(HARDEST_3X3, solution.tiles, solution.goal, S3)
    assert sum(at.generated for at in solution.iterations) == solution.generated


def test_solve_with_a_limit_returns_a_lower_bound(server: Server) -> None:
    with Client(server.url) as client:
        limited = client.solve(HARD_4X4, nodes=1000)
        assert (limited.length, limited.tiles, limited.is_optimal) == (None, None, False)
        assert limited.lower_bound >= limited.h > 0


def test_error_of_report_ends_the_search_of_the_service(server: Server) -> None:
    class EnoughError(Exception):
        pass

    seen: list[SolveProgress] = []

    def report(progress: SolveProgress) -> None:
        seen.append(progress)
        if progress.threshold is not None:
            raise EnoughError

    with Client(server.url) as client:
        with pytest.raises(EnoughError):
            client.solve(HARD_4X4, report=report)
        assert seen[-1].generated > 0
        assert seen[-1].nodes_per_s > 0
    deadline = time.monotonic() + 5
    while server.metric("tile_pdb_solves_running"):
        assert time.monotonic() < deadline


def test_connections_are_kept(client: Client) -> None:
    client.probe(HARDEST_3X3)
    client.moves(HARDEST_3X3, seconds=0)
    client.solve(HARDEST_3X3)
    error_of(client.probe, HARDEST_3X3, (1, 2, 3))
    assert len(client._http._transport._pool.connections) == 1  # type: ignore[attr-defined]
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.probe(HARDEST_3X3)


def test_asynchronous_client_answers_as_the_client(client: Client, server: Server) -> None:
    boards = random_boards(S3, client.goal, 5, 1).tolist()

    async def work() -> None:
        async with AsyncClient(server.url, size=S3) as other:
            assert other.database == client.database
            assert await asyncio.gather(*map(other.probe, boards)) == [client.probe(board) for board in boards]
            assert await other.moves(boards[0], seconds=0) == client.moves(boards[0], seconds=0)
            assert (await other.solve(HARDEST_3X3)).length == 31
            with pytest.raises(errors.UnsolvableError):
                await other.solve(UNSOLVABLE_3X3)
            with pytest.raises(TypeError):
                await other.moves(boards[0], db="x")  # type: ignore[call-arg]
        async with AsyncClient(server.url) as other:
            task = asyncio.create_task(other.solve(HARD_4X4))
            await until(lambda: server.metric("tile_pdb_solves_running") == 1)
            task.cancel()
            await until(lambda: server.metric("tile_pdb_solves_running") == 0)

    asyncio.run(work())


def test_unknown_database_error_lists_the_databases(server: Server) -> None:
    with pytest.raises(
        errors.UnknownDatabaseError, match=r"no database 'x' for 5x5 boards; it has .*\(4x4\), .*\(3x3\)"
    ):
        Client(server.url, db="x", size=parse_size("5x5"))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("example.org", {}),
        ("ftp://example.org", {}),
        ("http://", {}),
        ("http://[::1", {}),
        ("http://example.org:port", {}),
        ("http://me@example.org", {}),
        ("http://example.org/?x", {}),
        ("http://example.org", {"token": "two words"}),
        ("http://example.org", {"token": "line\n"}),
        ("http://example.org", {"timeout_s": 0}),
    ],
)
def test_invalid_address_token_or_time_raises_input_error(given: str, options: dict[str, object]) -> None:
    with pytest.raises(errors.InputError):
        Client(given, **options)  # type: ignore[arg-type]


def test_refused_connection_raises_service_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(errors.ServiceError, match=r"cannot reach .*Connection refused; .*that pdb serve runs"):
        Client(f"http://127.0.0.1:{port}")


def test_silent_server_raises_service_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(errors.ServiceError, match=r"sent nothing for 0\.1 s"):
            Client(url, timeout_s=0.1)


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Yield the address of a server that sends the same answer to every request and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=talk)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def http(status: str, body: bytes, *headers: str, length: int | None = None) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def problem(kind: str, told_as: str = "detail") -> bytes:
    body = {"type": kind, "title": "Busy", "status": 503, told_as: "much to do"}
    return http("503 Busy", json.dumps(body).encode(), "Content-Type: application/problem+json")


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("answer", "kind", "match"),
    [
        (b"", errors.ServiceError, "cannot reach .*disconnected without sending a response; check the address"),
        (b"220 mail.example.org ESMTP\r\n", errors.ServiceError, "cannot reach .*disconnected"),
        (http("200 OK", b"{}", length=10), errors.ServiceError, "cannot reach .*complete message body"),
        (http("200 OK", b"<html>"), errors.ServiceError, "not as docs/http.md says .Invalid JSON"),
        (http("200 OK", b"[" * 100_000), errors.ServiceError, "not as docs/http.md says .Invalid JSON"),
        (http("200 OK", b"", "Content-Encoding: gzip"), errors.ServiceError, "not as docs/http.md says"),
        (http("200 OK", b'{"databases": [{"size": "0x0"}]}'), errors.ServiceError, "not as docs/http.md says"),
        (
            http("200 OK", b'{"databases": [], "default_goals": {}, "limits": %s}' % LIMITS),
            errors.UnknownDatabaseError,
            "it has none",
        ),
        (http("404 Not Found", b"<html>"), errors.ServiceError, "answers 404, not as pdb serve"),
        (http("301 Moved", b"", "Location: https://example.org/"), errors.ServiceError, "redirects to https://example"),
        (problem("urn:tile-pdb:BusyError"), errors.BusyError, "^much to do$"),
        (problem("urn:tile-pdb:PROBLEM_TYPE"), errors.ServiceError, "503: much to do"),
        (problem("about:blank"), errors.ServiceError, "503: much to do"),
        (
            problem("urn:tile-pdb:BusyError", "Detail"),
            errors.ServiceError,
            "answers 503, not as pdb",
        ),
    ],
)
def test_answers_of_other_servers_raise_errors(answer: bytes, kind: type[Exception], match: str) -> None:
    with answering(answer) as url, pytest.raises(kind, match=match) as caught:
        Client(url)
    assert type(caught.value) is kind


class Mimic(BaseHTTPRequestHandler):
    """Server that describes a database as the service does, and ends every other answer too early."""

    protocol_version = "HTTP/1.1"
    paths: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.paths.append(self.path)
        if "solve" in self.path:
            self.answer(b'event: queued\ndata: {"ahead": true}\n\n')
            return
        described = {"id": "8", "partition": "8", "size": "3x3", "goal": blank_last(S3), "encoding": "bits"}
        self.answer(
            json.dumps(
                {
                    "databases": [{**described, "cost": "additive", "patterns": [], "n_bytes": 0}],
                    "default_goals": {},
                    "limits": json.loads(LIMITS),
                }
            ).encode()
        )

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_incomplete_answers_raise_errors() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Mimic) as mimic:
        thread = threading.Thread(target=mimic.serve_forever, args=(0.05,))
        thread.start()
        try:
            with Client(f"http://127.0.0.1:{mimic.server_port}/some where/tiles/") as client:
                assert Mimic.paths == ["/some%20where/tiles/v1/databases"]
                with pytest.raises(errors.ServiceError, match="ended its answer without a result"):
                    client.solve(HARDEST_3X3)
                with pytest.raises(errors.ServiceError, match=r"not as docs/http\.md says"):
                    client.solve(HARDEST_3X3, report=print)
                with pytest.raises(errors.ServiceError, match=r"not as docs/http\.md says"):
                    client.probe(HARDEST_3X3)
        finally:
            mimic.shutdown()
            thread.join()


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_client_imports_nothing_of_the_extra_serve() -> None:
    server_only = {"fastapi", "granian", "prometheus_client", "starlette", "uvloop"}
    code = f"import sys; from tilepdb import Client; print(sorted({server_only} & set(sys.modules)))"
    assert run_python(code) == "[]\n"


def test_missing_extra_is_named() -> None:
    code = "import sys; sys.modules['httpx'] = None\ntry:\n    from tilepdb import Client\n"
    code += "except ImportError as error:\n    print(error)\n"
    assert run_python(code) == "Client needs httpx: pip install 'tile-pdb[client]'\n"


def test_unknown_host_raises_service_error() -> None:
    with pytest.raises(errors.ServiceError, match=r"cannot reach http://no\.such\.host\.invalid: .*check the address"):
        Client("http://no.such.host.invalid")
