"""Whatever comes over HTTP is answered or refused in one sentence; whatever a server answers is read or refused."""

import asyncio
import http.client
import io
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from fastapi import FastAPI
from hypothesis import example, given
from hypothesis import strategies as st

from pdb_core.errors import PdbError
from pdb_core.puzzle import BoardSize, blank_last, format_board, random_boards
from pdb_query import Database, open_database
from pdb_service import client_answers
from pdb_service.app import create_app
from pdb_service.batches import BINARY, JSON, NDJSON, Batches, Wanted
from pdb_service.client_connection import Connections
from pdb_service.served_databases import ServedDatabases
from solver import Limits, Solver
from tests.fuzzing import JSON_VALUES, ODD_PIECES, board_texts, changed_json, fuzz, mutated, outcome, sentence, texts
from tests.pdb_service.held_solving import AppRequest
from tests.tables import table_file

S3 = BoardSize(3, 3)
BOARDS: list[list[int]] = random_boards(S3, blank_last(S3), 6, 1).tolist()
MAX_BOARDS = 50


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with open_database(table_file("1,2,5/3,4,6/7,8", "3x3")) as opened:
        yield opened


@pytest.fixture(scope="module")
def batches(database: Database) -> Batches:
    made = Batches(ServedDatabases([database]), MAX_BOARDS)
    # Kernels are compiled now, which takes long: those of boards, and of what is none.
    both = bytes(BOARDS[0]) + bytes(9)
    for body in (b"", both[:9], both):
        made.answer(BINARY, body, Wanted(None, None, "3x3"))
    for board in (b"[]", b"[1,2,3,4,5,6,7,8,0]"):
        made.answer(NDJSON, b"[]\n" + board, Wanted(None, None, "3x3"))
        made.answer(JSON, b'{"boards":[' + board + b"]}", Wanted(None, None, "3x3"))
    return made


# Batches

NAMES = (
    st.none()
    | st.sampled_from(["3x3", "4x4", "blank-last", "snail", "1 2 3/4 0 5/6 7 8"])
    | st.sampled_from(ODD_PIECES)
)
WANTED = st.builds(Wanted, st.none() | NAMES, st.none() | NAMES, st.sampled_from(["3x3", None]) | NAMES)
BATCH = {"boards": [*BOARDS, format_board(BOARDS[0], S3), "x"], "goal": "blank-last", "size": "3x3"}


@st.composite
def json_bodies(draw: st.DrawFn) -> bytes:
    text = json.dumps(draw(changed_json(BATCH)))
    return draw(mutated(st.just(text))).encode("utf-8", "surrogatepass")


@fuzz
@given(json_bodies() | st.binary(max_size=200), WANTED)
@example(b"[" * 100_000, Wanted(None, None, None))
@example(b'{"boards":' * 30, Wanted(None, None, None))
@example(b'{"boards":["\\ud800"]}', Wanted(None, None, "3x3"))
@example(b'{"boards":[[1e999]]}', Wanted(None, None, "3x3"))
def test_any_body_is_a_batch_of_json_or_refused(batches: Batches, body: bytes, wanted: Wanted) -> None:
    answered = outcome(lambda: batches.answer(JSON, body, wanted))
    if answered is not None:
        answers = json.loads(answered[0])["answers"]
        assert len(answers) == answered[1] == len(json.loads(body)["boards"])
        check_answers(answers)


@st.composite
def line_bodies(draw: st.DrawFn) -> bytes:
    lines = [json.dumps(draw(st.just(board) | changed_json(board))) for board in BOARDS]
    text = draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(lines)
    return draw(mutated(st.just(text))).encode("utf-8", "surrogatepass")


@fuzz
@given(line_bodies() | st.binary(max_size=200), WANTED)
def test_any_body_is_a_batch_of_lines_or_refused(batches: Batches, body: bytes, wanted: Wanted) -> None:
    answered = outcome(lambda: batches.answer(NDJSON, body, wanted))
    if answered is not None:
        answers = [json.loads(line) for line in answered[0].splitlines()]
        assert len(answers) == answered[1] == sum(bool(line.strip(b" \t\r")) for line in body.split(b"\n"))
        check_answers(answers)


def check_answers(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        if "error" in answer:
            assert answer["error"]["status"] in (400, 422)
            assert answer["error"]["detail"].isprintable()
        else:
            assert answer["h"] is None or answer["h"] == max(answer["sums"])


@fuzz
@given(
    st.binary(max_size=9 * MAX_BOARDS + 20)
    | st.lists(st.sampled_from(BOARDS) | st.lists(st.integers(0, 255), min_size=9, max_size=9)).map(
        lambda rows: np.array(rows, dtype=np.uint8).tobytes()
    ),
    WANTED,
)
def test_any_body_is_a_batch_of_bytes_or_refused(batches: Batches, body: bytes, wanted: Wanted) -> None:
    answered = outcome(lambda: batches.answer(BINARY, body, wanted))
    if answered is not None:
        found = np.frombuffer(answered[0], dtype="<i2").tolist()
        assert len(found) == answered[1] == len(body) // 9
        for at, h in enumerate(found):
            is_board = sorted(body[9 * at : 9 * at + 9]) == list(range(9))
            assert (h == -2) != is_board
            assert -2 <= h <= 31


# Requests


class _Solving:
    """As that of `pdb serve`."""

    def __init__(self, database: Database) -> None:
        self._solver = Solver(database)

    def __call__(self, _: Database, board: Any, goal: Any, *, seconds: float, nodes: int | None, report: Any) -> Any:
        return self._solver.solve(board, goal, limits=Limits(seconds, nodes), report=report)

    def warm(self, _: Database) -> None:
        pass


@pytest.fixture(scope="module")
def app(database: Database) -> FastAPI:
    return create_app([database], _Solving(database))


async def ask(app: FastAPI, path: str, query: bytes, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
    """The status and the body of an answer, without a server between."""
    reply = await AppRequest(app, path, query=query, body=body, headers=headers).reply()
    return reply.status, reply.body


def check_reply(status: int, body: bytes) -> None:
    assert status in (200, 400, 404, 405, 413, 415, 422)
    if status != 200:
        problem = json.loads(body)
        assert problem["status"] == status
        assert problem["detail"].isprintable(), problem
        assert len(problem["detail"]) < 1000


QUERY_VALUES = {
    "board": texts(board_texts(S3)), "goal": texts(st.sampled_from(["blank-last", "snail"])),
    "db": st.sampled_from(ODD_PIECES), "size": texts(st.just("3x3")),
    "seconds": texts(st.sampled_from(["0", "0.01", "1e-3"])), "nodes": texts(st.sampled_from(["1", "1000"])),
}  # fmt: skip


@st.composite
def queries(draw: st.DrawFn) -> bytes:
    named = [("board", draw(board_texts(S3)))] if draw(st.booleans()) else []
    for name in draw(st.lists(st.sampled_from([*QUERY_VALUES, "x"]), max_size=4)):
        named.append((name, draw(QUERY_VALUES.get(name, st.sampled_from(ODD_PIECES)))))
    text = urlencode(named, encoding="utf-8", errors="surrogatepass")
    return draw(mutated(st.just(text)) | st.just(text)).encode("utf-8", "surrogatepass")


@fuzz
@given(st.sampled_from(["/v1/lookup", "/v1/moves", "/v1/solve", "/v1/instances/x"]), queries(), st.booleans())
def test_any_query_is_answered_or_refused(app: FastAPI, path: str, query: bytes, wants_events: bool) -> None:
    headers = {"accept": "text/event-stream"} if wants_events else {}
    check_reply(*asyncio.run(ask(app, path, query, None, headers)))


SOLVE = {"board": BOARDS[0], "goal": "blank-last", "db": None, "seconds": 0.01, "nodes": 1000}
TYPES = st.sampled_from([JSON, JSON, NDJSON, BINARY, "text/plain", "", "application/json; charset=latin-1"])


@fuzz
@given(
    st.sampled_from(["/v1/lookup", "/v1/solve"]),
    TYPES,
    json_bodies()
    | line_bodies()
    | changed_json(SOLVE).map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass"))
    | st.binary(max_size=100),
    queries(),
)
def test_any_body_is_answered_or_refused(app: FastAPI, path: str, media_type: str, body: bytes, query: bytes) -> None:
    check_reply(*asyncio.run(ask(app, path, query, body, {"content-type": media_type})))


# Answers, as a client reads them

URL = "http://127.0.0.1:9"
_BOARD = list(blank_last(S3))
DATABASE_ANSWER = {
    "id": "8", "partition": "8", "size": "3x3", "goal": _BOARD, "encoding": "bits", "cost": "additive", "n_bytes": 10,
    "patterns": [{"tiles": [1, 2, 3], "n_entries": 504, "max": 20}],
}  # fmt: skip
MOVE_ANSWER = {"tile": 8, "cell": 7, "blank": 8, "board": _BOARD, "h": 1, "distance": None}
THRESHOLD_ANSWER = {"threshold": 2, "generated": 5, "expanded": 3, "seconds": 0.1}
SOLVE_ANSWER = {
    "board": _BOARD, "goal": _BOARD, "length": 2, "moves": [8, 8], "optimal": True, "h": 2, "lower_bound": 2,
    "generated": 5, "expanded": 3, "seconds": 0.1, "thresholds": [THRESHOLD_ANSWER],
}  # fmt: skip
READERS: list[tuple[Any, Any]] = [
    (client_answers.read_databases, {"databases": [DATABASE_ANSWER]}),
    (client_answers.read_probe, {"h": 3, "sums": [{"h": 3, "values": [1, 2]}]}),
    (client_answers.read_moves, {"h": 1, "distance": 1, "moves": [MOVE_ANSWER]}),
    (client_answers.read_progress, {**THRESHOLD_ANSWER, "nodes_per_s": 5}),
    (client_answers.read_progress, {"ahead": 1}),
    (client_answers.read_solution, SOLVE_ANSWER),
]


@pytest.fixture(scope="module")
def connections() -> Iterator[Connections]:
    service = Connections(URL, token=None, timeout_s=1.0)
    yield service
    service.close()


@fuzz
@given(st.sampled_from(READERS).flatmap(lambda at: st.tuples(st.just(at[0]), st.just(at[1]) | changed_json(at[1], 8))))
def test_any_answer_is_read_or_refused(connections: Connections, answer: tuple[Any, object]) -> None:
    read, value = answer

    def work() -> object:
        with connections.reading():
            return read(value)

    outcome(work)


@fuzz
@given(st.binary(max_size=100) | changed_json(SOLVE_ANSWER).map(lambda value: json.dumps(value).encode()))
@example(b"[" * 200_000)
@example(b"9" * 10_000)
def test_any_bytes_are_json_or_refused(connections: Connections, body: bytes) -> None:
    outcome(lambda: connections.read_json(body))


@fuzz
@given(
    changed_json({"type": "urn:tile-pdb:BoardError", "title": "x", "status": 422, "detail": "no board"})
    | st.builds(
        lambda kind, detail: {"type": f"urn:tile-pdb:{kind}", "detail": detail},
        st.sampled_from(["PdbError", "PROBLEM_TYPE", "__doc__", "MemoryLimitError"]),
        st.text(),
    ),
    st.integers(100, 599),
)
@example({"type": "urn:tile-pdb:BoardError", "detail": "x\n" * 100_000}, 422)
def test_any_problem_is_an_error_of_ours(connections: Connections, body: object, status: int) -> None:
    error = connections.problem(body, status)
    assert isinstance(error, PdbError)
    sentence(error)


EVENTS = 'event: queued\ndata: {"ahead": 1}\n\nevent: progress\ndata: {}\n\nevent: result\ndata: [1,\ndata: 2]\n\n'


@fuzz
@given(mutated(st.just(EVENTS)) | st.text(max_size=100))
def test_any_text_is_events_or_refused(connections: Connections, text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    connection = SimpleNamespace(close=lambda: None)
    sock = SimpleNamespace(makefile=lambda _: io.BytesIO(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + content))
    response = http.client.HTTPResponse(sock)  # type: ignore[arg-type]
    response.begin()
    connections._send = lambda *_: (connection, response)  # type: ignore[method-assign,assignment,return-value]
    outcome(lambda: list(connections.events("/v1/solve", b"")))


@fuzz
@given(
    texts(st.sampled_from(["http://127.0.0.1:8015", "https://[::1]:80/x", "http://user:word@host?x#y"])),
    st.none() | texts(st.just("secret")),
)
def test_any_text_is_an_address_or_refused(url: str, token: str | None) -> None:
    service = outcome(lambda: Connections(url, token=token, timeout_s=1.0), patience_s=3.0)
    if service is not None:
        service.close()


@fuzz
@given(JSON_VALUES, JSON_VALUES)
def test_any_board_in_json_is_placed_or_refused(database: Database, board: Any, goal: Any) -> None:
    served = ServedDatabases([database])
    if isinstance(board, str) or (isinstance(board, list) and all(type(tile) is int for tile in board)):
        outcome(lambda: served.place(board, goal if isinstance(goal, str) else None, None))
