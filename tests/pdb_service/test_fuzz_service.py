"""Fuzzing: the service answers or refuses every request, and the client reads or refuses every answer."""

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from fastapi import FastAPI
from hypothesis import example, given, strategies as st

from pdb_core.errors import PdbError
from pdb_core.puzzle import BoardSize, blank_last, format_board, random_boards
from pdb_query import Database
from pdb_service import answers
from pdb_service.client_calls import ServiceCalls
from pdb_service.lookups import BINARY, JSON
from pdb_service.settings import ServiceSettings
from tests.fuzzing import ODD_PIECES, board_texts, changed_json, fuzz, mutated, outcome, sentence, texts
from tests.pdb_service.app_requests import AppRequest, ready_app

S3 = BoardSize(3, 3)
BOARDS: list[list[int]] = random_boards(S3, blank_last(S3), 6, 1).tolist()
MAX_BOARDS = 50


BATCH = {"boards": [*BOARDS, format_board(BOARDS[0], S3), "x"], "goal": "blank-last", "size": "3x3"}


@st.composite
def json_bodies(draw: st.DrawFn) -> bytes:
    text = json.dumps(draw(changed_json(BATCH)))
    return draw(mutated(st.just(text))).encode("utf-8", "surrogatepass")


def check_answers(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        if "error" in answer:
            assert answer["error"]["status"] in (400, 422)
            assert answer["error"]["detail"].isprintable()
        else:
            assert answer["h"] is None or answer["h"] == max(answer["sums"])


byte_bodies = st.binary(max_size=9 * MAX_BOARDS + 20) | st.lists(
    st.sampled_from(BOARDS) | st.lists(st.integers(0, 255), min_size=9, max_size=9)
).map(lambda rows: np.array(rows, dtype=np.uint8).tobytes())


def check_heights(body: bytes, heights: list[int]) -> None:
    assert len(heights) == len(body) // 9
    for at, h in enumerate(heights):
        is_board = sorted(body[9 * at : 9 * at + 9]) == list(range(9))
        assert (h == -2) != is_board
        assert -2 <= h <= 31


# Requests


@pytest.fixture(scope="module")
def app(database: Database) -> FastAPI:
    return ready_app(database, ServiceSettings(max_boards=MAX_BOARDS))


async def ask(
    app: FastAPI, path: str, query: bytes, body: bytes | None, *headers: tuple[str, str]
) -> tuple[int, bytes]:
    """Return the status and the body of an answer, without a server."""
    reply = await AppRequest(app, path, query=query, body=body, headers=[("Host", "localhost"), *headers]).reply()
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
    headers = [("Accept", "text/event-stream")] if wants_events else []
    check_reply(*asyncio.run(ask(app, path, query, None, *headers)))


BODIES = {
    JSON: json_bodies(), BINARY: byte_bodies, "text/plain": st.binary(max_size=100),
    "": st.binary(max_size=100), "application/json; charset=latin-1": json_bodies(),
}  # fmt: skip
DEEP = b"[" * 100_000


@fuzz
@given(
    st.sampled_from(list(BODIES)).flatmap(
        lambda media_type: st.tuples(st.just(media_type), BODIES[media_type] | st.binary(max_size=200))
    ),
    st.just(b"size=3x3") | queries(),
)
@example((JSON, DEEP), b"")
@example((JSON, b'{"boards":' * 30), b"")
@example((JSON, b'{"boards":["\\ud800"]}'), b"size=3x3")
@example((JSON, b'{"boards":[[1e999]]}'), b"size=3x3")
def test_any_batch_is_answered_or_refused(app: FastAPI, given_body: tuple[str, bytes], query: bytes) -> None:
    media_type, body = given_body
    status, answer = asyncio.run(ask(app, "/v1/lookup", query, body, ("Content-Type", media_type)))
    check_reply(status, answer)
    if status == 200 and media_type == BINARY and query == b"size=3x3":
        check_heights(body, np.frombuffer(answer, "<i2").tolist())
    elif status == 200 and media_type != BINARY:
        answers = json.loads(answer)["answers"]
        assert len(answers) == len(json.loads(body)["boards"])
        check_answers(answers)


SOLVE = {"board": BOARDS[0], "goal": "blank-last", "db": None, "seconds": 0.01, "nodes": 1000}


@fuzz
@given(
    json_bodies() | changed_json(SOLVE).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=100),
    queries(),
)
def test_any_body_of_a_solve_is_answered_or_refused(app: FastAPI, body: bytes, query: bytes) -> None:
    check_reply(*asyncio.run(ask(app, "/v1/solve", query, body)))


# Answers to the client

URL = "http://127.0.0.1:9"
_BOARD = list(blank_last(S3))
DATABASE_ANSWER = {
    "id": "8", "partition": "8", "size": "3x3", "goal": _BOARD, "encoding": "bits", "cost": "additive", "n_bytes": 10,
    "patterns": [{"tiles": [1, 2, 3], "n_entries": 504, "max": 20}],
}  # fmt: skip
MOVE_ANSWER = {"tile": 8, "cell": 7, "blank": 8, "board": _BOARD, "h": 1, "distance": None}
THRESHOLD_ANSWER = {"threshold": 2, "generated": 5, "expanded": 3, "seconds": 0.1}
BOARD_ANSWER = {"db": "8", "size": "3x3", "board": _BOARD, "goal": _BOARD, "solvable": True, "h": 2}
SOLVE_ANSWER = {
    **BOARD_ANSWER, "length": 2, "moves": [8, 8], "optimal": True, "lower_bound": 2,
    "generated": 5, "expanded": 3, "seconds": 0.1, "thresholds": [THRESHOLD_ANSWER],
}  # fmt: skip
LIMITS = {
    "solve_seconds_limit": 1, "short_seconds_limit": 1, "wait_seconds_limit": 1, "body_bytes_limit": 1000,
    "batch_boards_limit": 100,
}  # fmt: skip
DATABASES_ANSWER = {"databases": [DATABASE_ANSWER], "default_goals": {}, "limits": LIMITS}
MODELS: list[tuple[type[answers.Answer], object]] = [
    (answers.DatabasesAnswer, DATABASES_ANSWER),
    (answers.LookupAnswer, {**BOARD_ANSWER, "sums": [{"h": 3, "values": [1, 2], "patterns": [[1], [2]]}]}),
    (answers.MovesAnswer, {**BOARD_ANSWER, "distance": 1, "moves": [MOVE_ANSWER]}),
    (answers.SolveProgress, {**THRESHOLD_ANSWER, "nodes_per_s": 5}),
    (answers.SolveProgress, {"ahead": 1}),
    (answers.SolveAnswer, SOLVE_ANSWER),
]


@pytest.fixture(scope="module")
def calls() -> ServiceCalls:
    calls = ServiceCalls(URL)
    calls._choose(answers.DatabasesAnswer.model_validate_json(json.dumps(DATABASES_ANSWER)))
    return calls


@fuzz
@given(
    st.sampled_from(MODELS).flatmap(lambda at: st.tuples(st.just(at[0]), st.just(at[1]) | changed_json(at[1], 8))),
    st.none() | st.binary(max_size=100),
)
@example((answers.SolveAnswer, None), b"[" * 200_000)
@example((answers.SolveAnswer, None), b"9" * 10_000)
def test_any_answer_is_read_or_refused(
    calls: ServiceCalls, answer: tuple[type[answers.Answer], object], body: bytes | None
) -> None:
    model, value = answer
    content = json.dumps(value).encode("utf-8", "surrogatepass") if body is None else body
    outcome(lambda: calls._parse(model, content))


@fuzz
@given(
    changed_json({"type": "urn:tile-pdb:BoardError", "title": "x", "status": 422, "detail": "no board"})
    | st.builds(
        lambda kind, detail: {"type": f"urn:tile-pdb:{kind}", "title": "x", "status": 422, "detail": detail},
        st.sampled_from(["PdbError", "PROBLEM_TYPE", "__doc__", "MemoryLimitError"]),
        st.text(),
    ),
    st.integers(100, 599),
)
@example({"type": "urn:tile-pdb:BoardError", "title": "", "status": 1, "detail": "x\n" * 100_000}, 422)
def test_any_problem_is_an_error(calls: ServiceCalls, body: object, status: int) -> None:
    error = calls._error_of(json.dumps(body).encode("utf-8", "surrogatepass"), status)
    assert isinstance(error, PdbError)
    sentence(error)


EVENTS = 'event: queued\ndata: {"ahead": 1}\n\nevent: progress\ndata: {}\n\nevent: result\ndata: [1,\ndata: 2]\n\n'


@fuzz
@given(mutated(st.just(EVENTS)) | st.text(max_size=100))
def test_any_text_is_events_or_refused(calls: ServiceCalls, text: str) -> None:
    call = calls._solve(BOARDS[0], report=lambda _: None)
    body = bytearray(text.encode("utf-8", "surrogatepass"))
    outcome(lambda: call.watch(body))
    outcome(lambda: call.read(bytes(body)))


@fuzz
@given(
    texts(st.sampled_from(["http://127.0.0.1:8015", "https://[::1]:80/x", "http://user:word@host?x#y"])),
    st.none() | texts(st.just("secret")),
)
def test_any_text_is_an_address_or_refused(url: str, token: str | None) -> None:
    outcome(lambda: ServiceCalls(url, token=token), patience_s=3.0)
