"""`Client` returns what a `Database` returns, and raises an error for each failure on the way."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from pdb_core import errors
from pdb_core.messages import how_to_install
from pdb_core.puzzle import blank_first, random_boards
from pdb_query import Database
from pdb_service import client as service_client
from pdb_service.client import Client
from solver.solution import check_replay
from tests.command_line import python
from tests.pdb_service.server import Server
from tests.solving import HARDEST_8, S3, UNSOLVABLE, database_for
from tilepdb import check_solution

UNSERVED = (1, 2, 3, 4, 0, 5, 6, 7, 8)


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url, size=S3) as client:
        yield client


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with database_for("8", "3x3") as database:
        yield database


def outcome_of(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or the class and the message of its error."""
    try:
        return call()
    except errors.PdbError as error:
        return type(error), str(error)


# Answers


def test_client_is_for_the_first_database_the_one_named_or_the_first_of_a_size(client: Client, server: Server) -> None:
    first, second, third = client.databases()
    assert client.database == second
    with Client(server.url + "/") as unnamed, Client(server.url, db=third.id) as named:
        assert unnamed.database == first
        # The default goal of the service is blank-last if tables serve it; that of a client is the database's own.
        assert (named.database, named.goal) == (third, blank_first(S3))
        assert named.solve(HARDEST_8).goal == named.goal
    with pytest.raises(errors.UnknownDatabaseError, match=rf"db='x' and size=5x5; it has {first.id} \(4x4\), "):
        Client(server.url, db="x", size="5x5")


@pytest.mark.parametrize(("board", "goal"), [(HARDEST_8, None), (HARDEST_8[::-1], blank_first(S3))])
def test_client_answers_as_the_database(client: Client, database: Database, board: Any, goal: Any) -> None:
    expected = database.probe(board, goal)
    assert client.probe(board, goal) == expected
    hints = client.moves(board, goal, time_limit=0)
    assert hints.h == expected.h
    assert all(database.probe(move.board, goal).h == move.h for move in hints.moves)
    found = client.solve(board, goal)
    check_replay(board, found.moves, found.goal, S3)
    assert (found.length, found.optimal, found.lower_bound) == (expected.h, True, expected.h)


def test_client_checks_solutions_as_the_library(client: Client) -> None:
    given = "1 2 3/4 0 6/7 5 8"
    for moves, notation in (((5, 5, 5, 8), "tiles"), ("UL", "blank"), (1, "tiles")):
        expected = check_solution(given, moves, notation=notation)
        assert client.check_solution(given, moves, notation=notation, time_limit=5) == expected


@pytest.mark.parametrize("method", ["probe", "moves", "solve"])
@pytest.mark.parametrize(("board", "goal"), [(UNSOLVABLE, None), ((1, 2, 3), None), (HARDEST_8, UNSERVED)])
def test_client_raises_the_errors_of_the_database(
    client: Client, database: Database, method: str, board: Any, goal: Any
) -> None:
    expected = outcome_of(lambda: database.probe(board, goal))
    assert isinstance(expected, tuple)
    kind, text = outcome_of(lambda: getattr(client, method)(board, goal))
    where = f"database {client.database.id} (for another, give the client size or db): "
    assert (kind, text.removeprefix(where)) == expected
    assert text.startswith(where) == (board == (1, 2, 3))


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
    for rows, goal in ((boards, None), (boards[:0], UNSERVED)):
        expected = outcome_of(lambda: database.probe_batch(rows, goal))  # noqa: B023
        assert isinstance(expected, tuple)
        assert outcome_of(lambda: client.probe_batch(rows, goal)) == expected  # noqa: B023


# Failures


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("url", "options"),
    [("example.org", {}), ("http://x:port", {}), ("http://x", {"token": "two words"}), ("http://x", {"timeout_s": 0})],
)
def test_invalid_address_token_or_time_raises_input_error(url: str, options: dict[str, object]) -> None:
    with pytest.raises(errors.InputError):
        Client(url, **options)


def test_silent_and_refused_connections_raise_service_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(errors.ServiceError, match=r"cannot reach .*timed out"):
            Client(url, timeout_s=0.1)
    with pytest.raises(errors.ServiceError, match=r"cannot reach .*Connection refused; .*that pdb serve runs"):
        Client(url)


PROBLEM = b'{"type": "urn:tile-pdb:%s", "title": "Busy", "status": 503, "detail": "much to do"}'


@pytest.mark.parametrize(
    ("status", "answer", "kind", "match"),
    [
        (200, b"<html>", errors.ServiceError, "answers 200, not as docs/http.md says .Invalid JSON"),
        (200, b'{"databases": 1}', errors.ServiceError, "not as docs/http.md says .default_goals: "),
        (301, b"", errors.ServiceError, "answers 301, not as docs/http.md says"),
        (503, PROBLEM % b"BusyError", errors.BusyError, "^much to do$"),
        (503, PROBLEM % b"PROBLEM_TYPE", errors.ServiceError, "http://127.0.0.1: much to do"),
    ],
)
def test_answers_of_other_servers_raise_errors(
    monkeypatch: pytest.MonkeyPatch, status: int, answer: bytes, kind: type[Exception], match: str
) -> None:
    reply = httpx.Response(status, content=answer)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda *_: reply)
    with pytest.raises(kind, match=match) as caught:
        Client("http://127.0.0.1")
    assert type(caught.value) is kind


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
