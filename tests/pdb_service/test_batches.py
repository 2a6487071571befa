"""Batches in all forms against the database; without compiled kernels too."""

import asyncio
import json
from collections.abc import Callable

import numpy as np
import pytest

from pdb_query import Database
from pdb_service.lookups import BINARY, JSON
from pdb_service.settings import ServiceSettings
from tests.pdb_service.app_requests import AppRequest, ready_app
from tests.pdb_service.server import Reply

pytestmark = pytest.mark.tiny
N_CELLS = 9
GOOD = "[1,2,3,4,5,6,7,8,0]"
Answer = Callable[..., Reply]


@pytest.fixture(scope="module")
def answer(database: Database) -> Answer:
    """Return a function that answers a batch of up to 50 boards."""
    app = ready_app(database, ServiceSettings(max_boards=50))

    def answer(media_type: str, body: bytes, **names: str) -> Reply:
        async def work() -> Reply:
            headers = [("Host", "localhost"), ("Content-Type", media_type)]
            return await AppRequest(app, "/v1/lookup", body=body, headers=headers, **names).reply()

        return asyncio.run(work())

    return answer


def test_all_forms_equal_the_database(database: Database, answer: Answer) -> None:
    boards = [np.random.default_rng(seed).permutation(N_CELLS).tolist() for seed in range(30)]
    rows = np.array(boards, dtype=np.uint8)
    expected = database.probe_batch(rows).maximum.tolist()
    answers = answer(JSON, json.dumps({"boards": boards}).encode()).json["answers"]
    assert [-1 if at["h"] is None else at["h"] for at in answers] == expected
    assert np.frombuffer(answer(BINARY, rows.tobytes(), size="3x3").body, "<i2").tolist() == expected
    texts = json.dumps({"boards": [" ".join(map(str, board)) for board in boards]}).encode()
    assert answer(JSON, texts).json["answers"] == answers


@pytest.mark.parametrize(
    "bad",
    ["[1,2]", '"x"', "[1,2,3,4,5,6,7,8,8]", "[-1,2,3,4,5,6,7,8,0]", "[257,2,3,4,5,6,7,8,0]",
     "[9223372036854775808,2,3,4,5,6,7,8,0]"],
)  # fmt: skip
def test_invalid_board_has_a_problem_at_its_position(answer: Answer, bad: str) -> None:
    answers = answer(JSON, f'{{"boards": [{GOOD},{bad},{GOOD}], "size": "3x3"}}'.encode()).json["answers"]
    assert answers[0] == answers[2] == {"h": 0, "sums": answers[0]["sums"]}
    assert set(answers[1]) == {"error"}
    assert answers[1]["error"]["status"] == 422


@pytest.mark.parametrize(
    ("media_type", "body", "names", "status"),
    [
        (JSON, b"", {}, 400),
        (JSON, b"[]", {}, 400),
        (JSON, b'{"boards": {}}', {}, 400),
        (JSON, b'{"boards": []}', {}, 400),
        (JSON, b'{"boards": [[true,2,3,4,5,6,7,8,0]]}', {}, 400),
        (JSON, b'{"boards": [[1.0,2,3,4,5,6,7,8,0]]}', {}, 400),
        (JSON, b'{"boards": [null]}', {}, 400),
        (JSON, b'{"boards": [[1,2,3,4,5,6,7,8,0]], "goal": 5}', {}, 400),
        (JSON, b'{"boards": [], "size": "3x3", "goal": "' + b" " * 500 + b'"}', {}, 400),
        (JSON, b'{"boards": [' + b"[]," * 60 + b"[]]}", {}, 413),
        (JSON, b'{"boards": [], "size": "4x4"}', {}, 404),
        (JSON, b'{"boards": [], "db": "x"}', {}, 404),
        (JSON, b'{"boards": [], "size": "x"}', {}, 422),
        (BINARY, bytes(9), {}, 400),
        (BINARY, bytes(10), {"size": "3x3"}, 400),
        (BINARY, bytes(9 * 51), {"size": "3x3"}, 413),
        ("text/xml", b"<board/>", {"size": "3x3"}, 415),
        ("application/x-ndjson", GOOD.encode(), {"size": "3x3"}, 415),
    ],
)
def test_invalid_batch_is_refused(
    answer: Answer, media_type: str, body: bytes, names: dict[str, str], status: int
) -> None:
    assert answer(media_type, body, **names).status == status


def test_invalid_and_unsolvable_boards_differ_in_bytes(answer: Answer) -> None:
    boards = bytes([1, 2, 3, 4, 5, 6, 7, 8, 0]) + bytes([2, 1, 3, 4, 5, 6, 7, 8, 0]) + bytes(9) + b"\xff" * 9
    assert np.frombuffer(answer(BINARY, boards, size="3x3").body, "<i2").tolist() == [0, -1, -2, -2]
