"""`Client` and `AsyncClient` return what a `Database` returns, and raise an error for each failure on the way."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import httpx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from pdb_core import errors
from pdb_core.board_size import parse_size
from pdb_core.messages import how_to_install
from pdb_core.puzzle import blank_first, random_boards
from pdb_query import Database
from pdb_service.answers import SolveProgress
from pdb_service.client import AsyncClient, Client
from solver.solution import check_replay
from tests.command_line import python
from tests.fuzzing import changed_json, encoded, fuzz, outcome
from tests.pdb_service.app_requests import until
from tests.pdb_service.server import Server
from tests.solving import HARDEST_8, S3, S4, UNSOLVABLE, database_for, hard_board
from tilepdb import check_solution

OTHER = "http://127.0.0.1"
UNSERVED = (1, 2, 3, 4, 0, 5, 6, 7, 8)
# With 663 a search of some seconds, which the tests do not wait for.
HARD_4X4 = hard_board()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url, size=S3) as client:
        yield client


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with database_for("8", "3x3") as database:
        yield database


def outcome_of(call: Callable[[], object]) -> object:
    """Return the result of a call, or the class and the message of its error."""
    try:
        return call()
    except errors.PdbError as error:
        return type(error), str(error)


# Answers


def test_client_describes_the_database(client: Client, database: Database, server: Server) -> None:
    assert (client.size, client.goal) == (S3, database.goal)
    first, second, _ = client.databases()
    assert (first.size, second) == (str(S4), client.database)
    assert client.get(UNSOLVABLE, None) is None
    assert client.get(HARDEST_8, None) == database.probe(HARDEST_8)
    with Client(server.url, db=first.id) as named, Client(server.url + "/") as unnamed:
        assert named.database == unnamed.database == first
    closed = AsyncClient(server.url)
    with pytest.raises(RuntimeError, match="`async with"):
        asyncio.run(closed.probe(HARDEST_8))
    assert repr(closed) == f"<AsyncClient {server.url}>"


def outcomes(server: Server, method: str, *given: Any, **named: Any) -> list[Any]:
    """Return what a method of `Client`, and of `AsyncClient`, returns or raises."""

    async def send() -> object:
        async with AsyncClient(server.url, size=S3) as client:
            return await getattr(client, method)(*given, **named)

    with Client(server.url, size=S3) as client:
        return [outcome_of(lambda: getattr(client, method)(*given, **named)), outcome_of(lambda: asyncio.run(send()))]


@pytest.mark.parametrize(
    ("board", "goal"),
    [
        *((tuple(board), None) for board in random_boards(S3, "blank-last", 2, 1).tolist()),
        (HARDEST_8[::-1], blank_first(S3)),
    ],
)
def test_clients_answer_as_the_database(server: Server, database: Database, board: Any, goal: Any) -> None:
    expected = database.probe(board, goal)
    assert outcomes(server, "probe", board, goal) == [expected, expected]
    hints, same = outcomes(server, "moves", board, goal, time_limit=0)
    assert hints == same
    assert hints.h == expected.h
    assert all(database.probe(move.board, goal).h == move.h for move in hints.moves)
    for found in outcomes(server, "solve", board, goal):
        check_replay(board, found.moves, found.goal, S3)
        assert (found.length, found.optimal, found.lower_bound) == (expected.h, True, expected.h)
        assert sum(at.generated for at in found.thresholds) == found.generated


def test_clients_check_solutions_as_the_library(server: Server) -> None:
    given = "1 2 3/4 0 6/7 5 8"
    for moves, notation in (
        ("5 8", "tiles"), ((5, 5, 5, 8), "tiles"), ("UL", "tile-directions"), ("UL", "blank"), (1, "tiles"),
    ):  # fmt: skip
        expected = vars(check_solution(given, moves, notation=notation))
        for found in outcomes(server, "check_solution", given, moves, notation=notation, time_limit=5):
            assert dict(found) == expected
    for board, moves, error in ((given, "north", errors.MovesError), (UNSOLVABLE, "8", errors.UnsolvableError)):
        assert [kind for kind, _ in outcomes(server, "check_solution", board, moves)] == [error, error]
    # The moves of an answer are a list, which may be longer than a board.
    body = b'{"board": "1 2 3/4 0 6/7 5 8", "moves": [%s 5, 8]}' % (b"5, 5, " * 500)
    assert server.ask("/v1/check", body, content_type="application/json").json["verdict"] == "too long"


def test_client_of_a_forked_process_has_its_own_connections(server: Server) -> None:
    """Otherwise it would read answers to requests of others."""
    forked = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pdb_core.puzzle import random_boards
from pdb_service.client import Client

client = Client(sys.argv[1], size="3x3")
lengths = [client.probe(board).h for board in random_boards("3x3", "blank-last", 50, 1)]

def is_same(_):
    return [client.probe(board).h for board in random_boards("3x3", "blank-last", 50, 1)] == lengths

with ProcessPoolExecutor(3, get_context("fork")) as pool:
    assert all(pool.map(is_same, range(6)))
assert is_same(0)
"""
    assert python(forked, server.url).returncode == 0


@pytest.mark.parametrize("method", ["probe", "moves", "solve"])
@pytest.mark.parametrize(("board", "goal"), [(UNSOLVABLE, None), ((1, 2, 3), None), (HARDEST_8, UNSERVED)])
def test_clients_raise_the_errors_of_the_database(
    server: Server, database: Database, method: str, board: Any, goal: Any
) -> None:
    expected = outcome_of(lambda: database.probe(board, goal))
    assert isinstance(expected, tuple)
    assert outcomes(server, method, board, goal) == [expected, expected]


def test_default_goal_is_that_of_the_database(server: Server) -> None:
    """The default goal of the service is blank-last if tables serve it; that of a database is its own."""
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3", "blank-first") as database,
        Client(server.url, db=database.path.stem) as client,
    ):
        assert client.goal == database.goal == blank_first(S3)
        assert client.probe(HARDEST_8) == database.probe(HARDEST_8)
        assert client.solve(HARDEST_8).goal == client.goal


def test_batches_equal_those_of_the_database(client: Client, database: Database) -> None:
    client._batch_rows = 100
    boards = random_boards(S3, "blank-last", 301, 4).astype(np.int64)
    boards[210] = UNSOLVABLE
    for strict in (True, False):
        found = client.probe_batch(boards, strict=strict).h
        assert np.array_equal(found, database.probe_batch(boards, strict=strict).h)
        boards[[150, 250], 3] = 300
    assert client.probe_batch(boards[:0]).h.shape == (0,)
    for rows, goal in ((boards, None), ([[0.5] * 9], None), (boards[:0], UNSERVED)):
        expected = outcome_of(lambda: database.probe_batch(rows, goal))  # noqa: B023
        assert isinstance(expected, tuple)
        assert outcome_of(lambda: client.probe_batch(rows, goal)) == expected  # noqa: B023


def test_moves_wait_for_the_seconds_of_the_search(server: Server) -> None:
    with Client(server.url, timeout_s=3) as client:
        assert client.moves(HARD_4X4, time_limit=4).h
        limited = client.solve(HARD_4X4, max_nodes=1000)
        assert (limited.length, limited.moves, limited.optimal) == (None, None, False)
        assert limited.lower_bound >= (limited.h or 0) > 0


def test_error_of_report_and_cancelled_task_end_the_search_of_the_service(server: Server) -> None:
    seen: list[SolveProgress] = []
    with Client(server.url) as client:
        for error in (LookupError("enough"), httpx.ConnectError("enough")):

            def report(progress: SolveProgress, error: Exception = error) -> None:
                seen.append(progress)
                if progress.threshold is not None:
                    raise error

            with pytest.raises(type(error), match="enough"):
                client.solve(HARD_4X4, report=report)
    assert seen[-1].generated > 0
    assert seen[-1].nodes_per_s > 0

    async def work() -> None:
        await until(lambda: server.n_running() == 0)
        async with AsyncClient(server.url) as other:
            task = asyncio.create_task(other.solve(HARD_4X4))
            await until(lambda: server.n_running() == 1)
            task.cancel()
            await until(lambda: server.n_running() == 0)

    asyncio.run(work())


def test_unknown_database_error_lists_the_databases(server: Server) -> None:
    with pytest.raises(errors.UnknownDatabaseError, match=r"no database 'x' for 5x5 boards; it has .*\(4x4\), .*\(3x3"):
        Client(server.url, db="x", size=parse_size("5x5"))


# Failures


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("example.org", {}),
        ("http://example.org:port", {}),
        ("http://me@example.org", {}),
        ("http://example.org", {"token": "two words"}),
        ("http://example.org", {"timeout_s": 0}),
    ],
)
def test_invalid_address_token_or_time_raises_input_error(given: str, options: dict[str, object]) -> None:
    with pytest.raises(errors.InputError):
        Client(given, **options)


def test_refused_and_silent_connections_raise_service_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(errors.ServiceError, match=r"sent nothing for 0\.1 s"):
            Client(url, timeout_s=0.1)
    with pytest.raises(errors.ServiceError, match=r"cannot reach .*Connection refused; .*that pdb serve runs"):
        Client(url)


@contextmanager
def answering(
    answer: bytes | Iterator[bytes], status: int = 200, databases: bytes | None = None, **headers: str
) -> Iterator[list[str]]:
    """Answer every request to any server, except those for /v1/databases if `databases` are given.

    Yield the paths asked for.
    """
    paths: list[str] = []

    def answered(_: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path.decode())
        if databases is not None and paths[-1].endswith("/v1/databases"):
            return httpx.Response(200, content=databases)
        return httpx.Response(status, content=answer, headers=headers)

    with mock.patch.object(httpx.HTTPTransport, "handle_request", answered):
        yield paths


def cut() -> Iterator[bytes]:
    yield b"{"
    raise httpx.ReadError("gone")


def problem(kind: str) -> bytes:
    return json.dumps({"type": kind, "title": "Busy", "status": 503, "detail": "much to do"}).encode()


@pytest.mark.parametrize(
    ("status", "answer", "kind", "match"),
    [
        (200, cut(), errors.ServiceError, "cannot reach .*gone; check the address"),
        (200, b"<html>", errors.ServiceError, "not as docs/http.md says .Invalid JSON"),
        (404, b"<html>", errors.ServiceError, "answers 404, not as pdb serve"),
        (301, b"", errors.ServiceError, "redirects to https://example"),
        (503, problem("urn:tile-pdb:BusyError"), errors.BusyError, "^much to do$"),
        (503, problem("urn:tile-pdb:PROBLEM_TYPE"), errors.ServiceError, "503: much to do"),
    ],
)
def test_answers_of_other_servers_raise_errors(status: int, answer: Any, kind: type[Exception], match: str) -> None:
    with answering(answer, status, location="https://example.org/"), pytest.raises(kind, match=match) as caught:
        Client(OTHER)
    assert type(caught.value) is kind


@pytest.fixture(scope="module")
def samples(server: Server) -> dict[str, Any]:
    """Return an answer of each kind."""
    board = "board=8+6+7/2+5+4/3+0+1"
    paths = {name: f"{name}?{board}" for name in ("databases", "lookup", "moves", "solve")} | {
        "problem": "lookup?board=1"
    }
    return {name: server.ask(f"/v1/{path}").json for name, path in paths.items()}


def test_incomplete_answers_raise_errors(samples: dict[str, Any]) -> None:
    databases = json.dumps(samples["databases"]).encode()
    with (
        answering(b'event: queued\ndata: {"ahead": true}\n\n', databases=databases) as paths,
        Client(f"{OTHER}/some where/tiles/", size=S3) as client,
    ):
        assert paths == ["/some%20where/tiles/v1/databases"]
        with pytest.raises(errors.ServiceError, match="ended its answer without a result"):
            client.solve(HARDEST_8)
        with pytest.raises(errors.ServiceError, match=r"not as docs/http\.md says"):
            client.solve(HARDEST_8, report=print)
    without_h = json.dumps(samples["lookup"] | {"h": None}).encode()
    with (
        answering(without_h, databases=databases),
        Client(OTHER, size=S3) as client,
        pytest.raises(errors.ServiceError, match="a solvable board has no h"),
    ):
        client.probe(HARDEST_8)


EVENTS = 'event: queued\ndata: {"ahead": 1}\n\nevent: progress\ndata: {}\n\nevent: result\ndata: [1,\ndata: 2]\n\n'


@fuzz
@given(st.data())
def test_any_answer_is_read_or_refused(samples: dict[str, Any], data: st.DataObject) -> None:
    answers = st.sampled_from(sorted(samples)).flatmap(lambda name: changed_json(samples[name], 8)).map(json.dumps)
    results = answers.map(lambda text: f"event: result\ndata: {text}\n\n")
    body = data.draw((answers | answers | results).map(str.encode) | encoded(st.just(EVENTS)))
    status = data.draw(st.sampled_from([200, 200, 422, 503]))
    with answering(body, status):
        outcome(lambda: Client(OTHER).close())
    databases = json.dumps(samples["databases"]).encode()
    with answering(body, status, databases), Client(OTHER, size=S3) as client:
        outcome(lambda: client.probe(HARDEST_8))
        outcome(lambda: client.moves(HARDEST_8, time_limit=0))
        outcome(lambda: client.solve(HARDEST_8, report=lambda _: None))


# Imports


@pytest.mark.parametrize(
    ("missing", "printed"),
    [
        (("granian", "prometheus_client", "starlette", "uvloop"), ""),
        (("httpx",), f"Client needs httpx; {how_to_install('client')}\n"),
    ],
)
def test_client_needs_only_its_extra(missing: tuple[str, ...], printed: str) -> None:
    code = f"import sys; sys.modules |= dict.fromkeys({missing})\ntry:\n    from tilepdb import Client\n"
    code += "except ImportError as error:\n    print(error)\n"
    ran = python(code)
    assert (ran.stdout, ran.returncode) == (printed, 0)
