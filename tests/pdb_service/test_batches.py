"""The three forms of batches against the database; without compiled kernels too."""

import json
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from pdb_core import errors
from pdb_core.errors import RequestError, UnknownDatabaseError
from pdb_query import Database, open_database
from pdb_service.batches import BINARY, JSON, NDJSON, Batches
from pdb_service.requests import BatchQuery
from pdb_service.served_databases import ServedDatabases
from tests.tables import table_file

pytestmark = pytest.mark.tiny
N_CELLS = 9
Answer = Callable[..., bytes]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with open_database(table_file("1,2,5/3,4,6/7,8", "3x3")) as opened:
        yield opened


@pytest.fixture
def answer(database: Database) -> Answer:
    """Return a function that answers a batch of up to 50 boards."""
    batches = Batches(ServedDatabases([database]), max_boards=50)

    def answer(media_type: str, body: bytes, **names: str) -> bytes:
        return batches.answer(media_type, body, BatchQuery(**names))[0]

    return answer


def test_all_forms_equal_the_database(database: Database, answer: Answer) -> None:
    boards = [list(np.random.default_rng(seed).permutation(N_CELLS)) for seed in range(30)]
    boards = [[int(tile) for tile in board] for board in boards]
    expected = database.probe_batch(np.array(boards, dtype=np.uint8)).maximum.tolist()
    answers = json.loads(answer(JSON, json.dumps({"boards": boards}).encode()))["answers"]
    assert [-1 if at["h"] is None else at["h"] for at in answers] == expected
    lines = "\n".join(json.dumps(board) for board in boards).encode()
    assert [json.loads(line) for line in answer(NDJSON, lines).splitlines()] == answers
    assert (
        np.frombuffer(answer(BINARY, np.array(boards, dtype=np.uint8).tobytes(), size="3x3"), "<i2").tolist()
        == expected
    )
    texts = json.dumps({"boards": [" ".join(map(str, board)) for board in boards]}).encode()
    assert json.loads(answer(JSON, texts))["answers"] == answers


BAD_BOARDS = [
    "[1,2]", "[true,2,3,4,5,6,7,8,0]", "[1.0,2,3,4,5,6,7,8,0]", '"x"', "{}", "null", "[[]]", "[1,2,3,4,5,6,7,8,8]",
    "[-1,2,3,4,5,6,7,8,0]", "[257,2,3,4,5,6,7,8,0]", "[9223372036854775808,2,3,4,5,6,7,8,0]", '"' + "1 " * 300 + '"',
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD_BOARDS)
def test_invalid_board_has_a_problem_at_its_position(answer: Answer, bad: str) -> None:
    good = "[1,2,3,4,5,6,7,8,0]"
    answers = json.loads(answer(JSON, f'{{"boards": [{good},{bad},{good}], "size": "3x3"}}'.encode()))["answers"]
    lines = [json.loads(line) for line in answer(NDJSON, f"{good}\n{bad}\n{good}".encode(), size="3x3").splitlines()]
    assert lines == answers
    assert answers[0] == answers[2] == {"h": 0, "sums": answers[0]["sums"]}
    assert set(answers[1]) == {"error"}
    assert answers[1]["error"]["status"] == 422


def test_invalid_line_has_a_problem_at_its_position(answer: Answer) -> None:
    for bad in (b"[1,2", b"NaN", b"\xff", b"[1,,2]", b"'a'", b"\0"):
        answers = [
            json.loads(line) for line in answer(NDJSON, b"[1,2,3,4,5,6,7,8,0]\r\n\r\n" + bad + b"\n").splitlines()
        ]
        assert [set(at) for at in answers] == [{"h", "sums"}, {"error"}]


@pytest.mark.parametrize(
    ("media_type", "body", "names", "error"),
    [
        (JSON, b"", {}, RequestError),
        (JSON, b"[]", {}, RequestError),
        (JSON, b'{"boards": {}}', {}, RequestError),
        (JSON, b'{"boards": []}', {}, RequestError),
        (JSON, b'{"boards": [[1,2,3,4,5,6,7,8,0]], "goal": 5}', {}, RequestError),
        (JSON, b'{"boards": [], "size": "3x3", "goal": "' + b" " * 500 + b'"}', {}, RequestError),
        (JSON, b'{"boards": [' + b"[]," * 60 + b"[]]}", {}, errors.RequestTooLargeError),
        (JSON, b'{"boards": [], "size": "4x4"}', {}, UnknownDatabaseError),
        (JSON, b'{"boards": [], "db": "x"}', {}, UnknownDatabaseError),
        (JSON, b'{"boards": [], "size": "x"}', {}, errors.InputError),
        (NDJSON, b"\n\n", {}, RequestError),
        (NDJSON, b"5\n" * 51, {}, errors.RequestTooLargeError),
        (BINARY, bytes(9), {}, RequestError),
        (BINARY, bytes(10), {"size": "3x3"}, RequestError),
        (BINARY, bytes(9 * 51), {"size": "3x3"}, errors.RequestTooLargeError),
    ],
)
def test_invalid_batch_is_refused(
    answer: Answer, media_type: str, body: bytes, names: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        answer(media_type, body, **names)


def test_invalid_and_unsolvable_boards_differ_in_bytes(answer: Answer) -> None:
    boards = bytes([1, 2, 3, 4, 5, 6, 7, 8, 0]) + bytes([2, 1, 3, 4, 5, 6, 7, 8, 0]) + bytes(9) + b"\xff" * 9
    assert np.frombuffer(answer(BINARY, boards, size="3x3"), "<i2").tolist() == [0, -1, -2, -2]
