"""`Client` returns what a `Database` returns, and raises an error for each failure on the way."""

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
from pdb_service import client as service_client
from pdb_service.answers import SolveProgress
from pdb_service.client import Client
from solver.solution import check_replay
from tests import wait_until
from tests.command_line import python
from tests.fuzzing import changed_json, encoded, fuzz, outcome
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
        assert repr(unnamed) == f"<Client {first.partition} 4x4 {server.url}>"


@pytest.mark.parametrize(
    ("board", "goal"),
    [
        *((tuple(board), None) for board in random_boards(S3, "blank-last", 2, 1).tolist()),
        (HARDEST_8[::-1], blank_first(S3)),
    ],
)
def test_client_answers_as_the_database(client: Client, database: Database, board: Any, goal: Any) -> None:
    expected = database.probe(board, goal)
    assert client.probe(board, goal) == expected
    hints = client.moves(board, goal, time_limit=0)
    assert hints.h == expected.h
    assert all(database.probe(move.board, goal).h == move.h for move in hints.moves)
    found = client.solve(board, goal)
    check_replay(board, found.moves, found.goal, S3)
    assert (found.length, found.optimal, found.lower_bound) == (expected.h, True, expected.h)
    assert sum(at.generated for at in found.thresholds) == found.generated


def test_client_checks_solutions_as_the_library(server: Server, client: Client) -> None:
    given = "1 2 3/4 0 6/7 5 8"
    for moves, notation in (
        ("5 8", "tiles"), ((5, 5, 5, 8), "tiles"), ("UL", "tile-directions"), ("UL", "blank"), (1, "tiles"),
    ):  # fmt: skip
        expected = check_solution(given, moves, notation=notation)
        assert client.check_solution(given, moves, notation=notation, time_limit=5) == expected
    for board, moves, error in ((given, "north", errors.MovesError), (UNSOLVABLE, "8", errors.UnsolvableError)):
        with pytest.raises(error):
            client.check_solution(board, moves)
    # The moves of an answer are a list, which may be longer than a board.
    body = b'{"board": "1 2 3/4 0 6/7 5 8", "moves": [%s 5, 8]}' % (b"5, 5, " * 500)
    assert server.ask("/v1/check", body, content_type="application/json").json["verdict"] == "too long"


@pytest.mark.parametrize("method", ["probe", "moves", "solve"])
@pytest.mark.parametrize(("board", "goal"), [(UNSOLVABLE, None), ((1, 2, 3), None), (HARDEST_8, UNSERVED)])
def test_client_raises_the_errors_of_the_database(
    client: Client, database: Database, method: str, board: Any, goal: Any
) -> None:
    expected = outcome_of(lambda: database.probe(board, goal))
    assert isinstance(expected, tuple)
    assert outcome_of(lambda: getattr(client, method)(board, goal)) == expected


def test_default_goal_is_that_of_the_database(server: Server) -> None:
    """The default goal of the service is blank-last if tables serve it; that of a database is its own."""
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3", "blank-first") as database,
        Client(server.url, db=database.path.stem) as client,
    ):
        assert client.goal == database.goal == blank_first(S3)
        assert client.probe(HARDEST_8) == database.probe(HARDEST_8)
        assert client.solve(HARDEST_8).goal == client.goal


def test_batches_equal_those_of_the_database(
    client: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_client, "_BATCH_ROWS", 100)
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


def test_search_ends_at_its_limit_with_a_lower_bound(server: Server) -> None:
    with Client(server.url) as client:
        limited = client.solve(HARD_4X4, max_nodes=1000)
        assert (limited.length, limited.moves, limited.optimal) == (None, None, False)
        assert limited.lower_bound >= (limited.h or 0) > 0


def test_error_of_report_ends_the_search_of_the_service(server: Server) -> None:
    seen: list[SolveProgress] = []

    def report(progress: SolveProgress) -> None:
        seen.append(progress)
        if progress.threshold is not None:
            raise LookupError("enough")

    with Client(server.url) as client, pytest.raises(LookupError, match="enough"):
        client.solve(HARD_4X4, report=report)
    assert seen[-1].generated > 0
    assert seen[-1].nodes_per_s > 0
    wait_until(lambda: server.n_running() == 0, 20)


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
        with pytest.raises(errors.ServiceError, match=r"cannot reach .*timed out"):
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
        (301, b"", errors.ServiceError, "answers 301, not as pdb serve"),
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
