"""The parts of the service by themselves; without compiled kernels too."""

import asyncio
import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from pdb_core import errors
from pdb_core.errors import (
    PROBLEM_TYPE,
    BoardError,
    BusyError,
    GoalError,
    InputError,
    RequestError,
    UnknownDatabaseError,
)
from pdb_core.puzzle import blank_last, parse_goal, parse_size
from pdb_query import Database, open_database
from pdb_service.batch_kernels import answer_bytes, count_lines, find_lines, parse_lines, write_answers
from pdb_service.batches import BINARY, JSON, NDJSON, Batches, Wanted
from pdb_service.memory_budget import Room
from pdb_service.metrics import Metrics
from pdb_service.problems import problem, problem_body, problem_response, status_of
from pdb_service.request_limits import Gate
from pdb_service.served_databases import ServedDatabases
from pdb_service.server import open_socket
from pdb_service.settings import ServiceSettings
from pdb_service.solve_queue import GivenUpError, Job, SolveQueue, Stopping
from tests.tables import table_file

pytestmark = pytest.mark.tiny
S3 = parse_size("3x3")
N_CELLS = 9
# No symmetry takes its blank to a corner.
MIDDLE = "1 2 3/4 0 5/6 7 8"


# Lines of JSON: a kernel against json.loads

SPACES = st.text(" \t\r", max_size=2)
ODD_NUMBERS = ["00", "01", "-0", "1.0", "1e0", "true", "null", '"1"', "", "0x1", "999", "1 2", "[1]", "256", "+1"]
ODD_TEXTS = ["", ",", "]", "[", "\0", " ", "0", "\x0b", "\xa0"]


@st.composite
def _lines(draw: st.DrawFn) -> bytes:
    """Boards and what looks like them."""
    tiles = draw(st.permutations(range(N_CELLS)) | st.lists(st.integers(-1, 12), max_size=11))
    words = [draw(SPACES) + str(tile) + draw(SPACES) for tile in tiles]
    if words and draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(words) - 1))
        words[at] = draw(st.sampled_from(ODD_NUMBERS))
    text = draw(SPACES) + "[" + ",".join(words) + "]" + draw(SPACES)
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(ODD_TEXTS)) + text[at + draw(st.integers(0, 1)) :]
    return text.encode()


def _naive_board(line: bytes) -> list[int] | None:
    """The board that a line holds, read by json."""
    try:
        read = json.loads(line.decode())
    except ValueError:
        return None
    is_list = isinstance(read, list) and all(type(tile) is int for tile in read)
    return read if is_list and sorted(read) == list(range(N_CELLS)) else None


@given(st.lists(_lines(), max_size=6), st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n \t\n"]))
@example([b"[1,2,3,4,5,6,7,8,0]", b"[1,2,3,4,5,6,7,8,00]", b"[1,2,3,4,5,6,7,8,0", b"[", b"[]"], b"\n")
@example([b"[1,2,3,4,5,6,7,8,-0]", b"[1,2,3,4,5,6,7,8,0.0]", b"[1,2,3,4,5,6,7,8,256]", b"[1,2,3,4,5,6,7,8,9]"], b"\n")
def test_lines_that_are_read_are_those_that_json_reads_as_boards(lines: list[bytes], end: bytes) -> None:
    text = end.join(lines)
    expected = [line for line in text.split(b"\n") if line.strip(b" \t\r")]
    array = np.frombuffer(text, dtype=np.uint8)
    assert count_lines(array) == len(expected)
    starts, ends = np.zeros((2, len(expected)), dtype=np.int64)
    find_lines(array, starts, ends)
    found = [text[start:stop] for start, stop in zip(starts, ends, strict=True)]
    assert found == [line.lstrip(b" \t\r") for line in expected]
    rows = np.zeros((len(expected), N_CELLS), dtype=np.uint8)
    is_read = np.zeros(len(expected), dtype=np.uint8)
    parse_lines(array, starts, ends, rows, is_read)
    for line, row, read in zip(found, rows.tolist(), is_read, strict=True):
        board = _naive_board(line)
        # "-0" is 0 to json; a kernel may leave what is rare to the slow way, but never read what json does not.
        assert (row == board) if read else (board is None or b"-" in line), line


@given(st.lists(st.tuples(st.integers(-1, 600), st.lists(st.integers(0, 600), min_size=2, max_size=2)), max_size=20))
def test_answers_are_written_as_json_writes_them(answers: list[tuple[int, list[int]]]) -> None:
    maximum = np.array([h for h, _ in answers], dtype=np.int16)
    sums = np.array([sums for _, sums in answers], dtype=np.int16).reshape(len(answers), 2)
    text = np.empty(len(answers) * answer_bytes(2), dtype=np.uint8)
    offsets = np.empty(len(answers) + 1, dtype=np.int64)
    write_answers(maximum, sums, ord("\n"), text, offsets)
    for at, (h, of) in enumerate(answers):
        answer = {"h": h, "sums": of} if h >= 0 else {"h": None, "solvable": False}
        written = text[offsets[at] : offsets[at + 1]].tobytes()
        assert written == json.dumps(answer, separators=(",", ":")).encode() + b"\n"


# Batches: the three forms say the same


@pytest.fixture(scope="module")
def database() -> Any:
    with open_database(table_file("1,2,5/3,4,6/7,8", "3x3")) as opened:
        yield opened


@dataclass
class _Batch:
    batches: Batches

    def __call__(self, media_type: str, body: bytes, **wanted: str) -> bytes:
        return self.batches.answer(media_type, body, Wanted(**{"goal": None, "db": None, "size": None, **wanted}))[0]


@pytest.fixture
def ask(database: Database) -> _Batch:
    return _Batch(Batches(ServedDatabases([database]), max_boards=50))


def test_all_forms_of_a_batch_say_what_the_database_says(database: Database, ask: _Batch) -> None:
    boards = [list(np.random.default_rng(seed).permutation(N_CELLS)) for seed in range(30)]
    boards = [[int(tile) for tile in board] for board in boards]
    expected = database.probe_batch(np.array(boards, dtype=np.uint8)).maximum.tolist()
    answers = json.loads(ask(JSON, json.dumps({"boards": boards}).encode()))["answers"]
    assert [-1 if at["h"] is None else at["h"] for at in answers] == expected
    lines = "\n".join(json.dumps(board) for board in boards).encode()
    assert [json.loads(line) for line in ask(NDJSON, lines).splitlines()] == answers
    assert (
        np.frombuffer(ask(BINARY, np.array(boards, dtype=np.uint8).tobytes(), size="3x3"), "<i2").tolist() == expected
    )
    texts = json.dumps({"boards": [" ".join(map(str, board)) for board in boards]}).encode()
    assert json.loads(ask(JSON, texts))["answers"] == answers


BAD_BOARDS = [
    "[1,2]", "[true,2,3,4,5,6,7,8,0]", "[1.0,2,3,4,5,6,7,8,0]", '"x"', "{}", "null", "[[]]", "[1,2,3,4,5,6,7,8,8]",
    "[-1,2,3,4,5,6,7,8,0]", "[257,2,3,4,5,6,7,8,0]", "[9223372036854775808,2,3,4,5,6,7,8,0]", '"' + "1 " * 300 + '"',
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD_BOARDS)
def test_a_bad_board_has_its_problem_in_its_place(ask: _Batch, bad: str) -> None:
    good = "[1,2,3,4,5,6,7,8,0]"
    answers = json.loads(ask(JSON, f'{{"boards": [{good},{bad},{good}], "size": "3x3"}}'.encode()))["answers"]
    lines = [json.loads(line) for line in ask(NDJSON, f"{good}\n{bad}\n{good}".encode(), size="3x3").splitlines()]
    assert lines == answers
    assert answers[0] == answers[2] == {"h": 0, "sums": answers[0]["sums"]}
    assert set(answers[1]) == {"error"}
    assert answers[1]["error"]["status"] == 422


def test_a_line_that_is_no_json_has_its_problem_in_its_place(ask: _Batch) -> None:
    for bad in (b"[1,2", b"NaN", b"\xff", b"[1,,2]", b"'a'", b"\0"):
        answers = [json.loads(line) for line in ask(NDJSON, b"[1,2,3,4,5,6,7,8,0]\r\n\r\n" + bad + b"\n").splitlines()]
        assert [set(at) for at in answers] == [{"h", "sums"}, {"error"}]


@pytest.mark.parametrize(
    ("media_type", "body", "wanted", "error"),
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
def test_a_batch_that_is_none_is_refused(
    ask: _Batch, media_type: str, body: bytes, wanted: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ask(media_type, body, **wanted)


def test_bytes_that_are_no_board_are_told_from_boards_without_a_solution(ask: _Batch) -> None:
    boards = bytes([1, 2, 3, 4, 5, 6, 7, 8, 0]) + bytes([2, 1, 3, 4, 5, 6, 7, 8, 0]) + bytes(9) + b"\xff" * 9
    assert np.frombuffer(ask(BINARY, boards, size="3x3"), "<i2").tolist() == [0, -1, -2, -2]


# Which database answers


def test_databases_of_one_name_get_numbers(database: Database) -> None:
    served = ServedDatabases([database, database, database])
    stem = database.path.stem
    assert [name for name, _ in served] == [stem, f"{stem}-2", f"{stem}-3"]
    assert served.choose(None, None, f"{stem}-2").id == f"{stem}-2"
    assert served.sizes() == [S3]


def test_a_board_is_placed_by_its_length_and_its_rows(database: Database) -> None:
    served = ServedDatabases([database])
    board = blank_last(S3)
    for given_board in (list(board), "1 2 3 4 5 6 7 8 0", "1 2 3/4 5 6/7 8 0"):
        assert served.place(given_board, None, None)[0] == board
    assert served.place(list(board), "blank-last", None)[1].goal == board


@pytest.mark.parametrize(
    ("board", "goal", "name", "error"),
    [
        ([1, 2, 3, 0], None, None, UnknownDatabaseError),
        ([0] * 9, None, None, BoardError),
        ([], None, None, BoardError),
        ([0, 1, 2, 3, 4], None, None, BoardError),
        (list(range(37)), None, None, BoardError),
        ("1 " * 201, None, None, BoardError),
        ("", None, None, BoardError),
        ("1 2 3/4 5 6/7 8 0", "nowhere", None, GoalError),
        ("1 2 3/4 5 6/7 8 0", None, "../x", UnknownDatabaseError),
    ],
)
def test_a_board_that_nobody_answers_for_is_refused(
    database: Database, board: Any, goal: str | None, name: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ServedDatabases([database]).place(board, goal, name)


def test_a_goal_that_no_database_serves_says_why(database: Database) -> None:
    with pytest.raises(GoalError, match="pdb build"):
        ServedDatabases([database]).choose(S3, MIDDLE, None)


# Problems


def test_every_error_has_a_status_and_tells_no_secrets() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.PdbError):
            body = problem(kind("cannot read /etc/secret"))
            assert body["status"] == status_of(kind("")) >= 400
            assert body["type"] == f"{PROBLEM_TYPE}{kind.__name__}"
            assert body["status"] < 500 or body["status"] == 503 or "secret" not in body["detail"]


def test_problems_say_when_to_come_back_and_what_to_show() -> None:
    assert problem_response(problem(BusyError("x"))).headers["retry-after"] == "5"
    assert problem_response(problem(errors.TokenError("x"))).headers["www-authenticate"] == "Bearer"
    assert problem_body(404, "x")["type"] == "about:blank"
    assert problem_body(499, "x")["title"] == "Error"


# Turns


def _queue(n_running: int, n_waiting: int, wait_s: float = 30.0) -> tuple[SolveQueue, Stopping]:
    stopping = Stopping(0)
    return SolveQueue(n_running, n_waiting, wait_s, stopping, Metrics().of_queue("long")), stopping


async def _take(queue: SolveQueue, stopping: Stopping) -> None:
    async with queue.turn(Job(stopping)):
        pass


def test_turns_are_bounded_and_given_back() -> None:
    async def work() -> None:
        queue, stopping = _queue(1, 1)
        async with queue.turn(Job(stopping)):
            waiting = asyncio.ensure_future(_take(queue, stopping))
            await asyncio.sleep(0)
            assert (queue.n_running, queue.n_waiting) == (1, 1)
            with pytest.raises(BusyError):
                queue.check_open()
            with pytest.raises(BusyError):
                await _take(queue, stopping)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert queue.n_waiting == 0
        assert queue.n_running == 0
        await _take(queue, stopping)
        queue.close()

    asyncio.run(work())


def test_turns_are_given_in_order_and_after_a_bounded_time() -> None:
    async def work() -> None:
        queue, stopping = _queue(1, 3, wait_s=0.05)
        jobs = [Job(stopping) for _ in range(3)]

        async def take(job: Job) -> None:
            async with queue.turn(job):
                pass

        async with queue.turn(Job(stopping)):
            waiting = [asyncio.ensure_future(take(job)) for job in jobs]
            await asyncio.sleep(0)
            assert [queue.ahead(job) for job in jobs] == [0, 1, 2]
            for outcome in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(outcome, BusyError)
                assert "0.05 seconds" in str(outcome)
        assert (queue.n_running, queue.n_waiting) == (0, 0)
        await _take(queue, stopping)
        queue.close()

    asyncio.run(work())


@pytest.mark.parametrize("fails", [False, True])
def test_a_search_whose_client_is_gone_ends(fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        queue, stopping = _queue(1, 0)
        job = Job(stopping)
        ended = []

        def search() -> None:
            try:
                while True:
                    job.report(_progress(1, 1))
            except GivenUpError:
                ended.append(True)
                if fails:
                    raise KeyError("a bug") from None
                raise

        running = asyncio.ensure_future(queue.run(job, search))
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended == [True]
        queue.close()

    asyncio.run(work())
    assert ("a bug" in caplog.text) == fails


def test_a_queue_that_stops_takes_nobody_and_ends_what_runs() -> None:
    async def work() -> None:
        queue, stopping = _queue(1, 1)
        job = Job(stopping)
        job.report(_progress(10, 5))
        stopping.begin()
        with pytest.raises(BusyError):
            await _take(queue, stopping)
        with pytest.raises(BusyError):
            job.report(_progress(10, 5))
        queue.close()

    asyncio.run(work())


def _progress(threshold: int, generated: int) -> Any:
    return SimpleNamespace(threshold=threshold, generated=generated, expanded=generated // 2, seconds=0.1)


def test_progress_counts_the_nodes_of_all_thresholds() -> None:
    job = Job(Stopping(0))
    assert job.progress() is None
    for threshold, generated in ((10, 100), (10, 200), (12, 50), (12, 400), (14, 10)):
        job.report(_progress(threshold, generated))
    told = job.progress()
    assert told is not None
    assert (told["threshold"], told["generated"], told["expanded"]) == (14, 610, 305)


def test_room_is_given_back_however_a_request_ends() -> None:
    room = Room(100)

    def ask() -> None:
        with room.share() as take:
            take(60)
            room.check()
            take(60)
            room.check()

    with pytest.raises(BusyError):
        ask()
    assert room.n_bytes == 0
    room.check()


@pytest.mark.parametrize(("made_for", "answers_for"), [("blank-first", "blank-last"), (MIDDLE, MIDDLE)])
def test_the_goal_of_who_names_none_is_blank_last_where_it_is_served(made_for: str, answers_for: str) -> None:
    with open_database(table_file("1,2,3/4,5,6/7,8", "3x3", made_for)) as database:
        assert ServedDatabases([database]).default_goal(database) == parse_goal(answers_for, S3)


@pytest.mark.parametrize("has_begun", [False, True])
@pytest.mark.parametrize(
    ("error", "status"), [(BusyError("later"), 503), (KeyError("a bug"), 500), (ClientDisconnect(), 499)]
)
def test_what_an_answer_fails_with_is_told_unless_it_has_begun(error: Exception, status: int, has_begun: bool) -> None:
    sent: list[Any] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        if has_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    metrics = Metrics()
    gate = Gate(app, ServiceSettings(), Room(1_000_000), metrics)
    scope = {"type": "http", "method": "GET", "path": "/v1/lookup", "headers": []}
    if has_begun and status != 499:
        with pytest.raises(type(error)):
            asyncio.run(gate(scope, receive, send))
    else:
        asyncio.run(gate(scope, receive, send))
    started = [message["status"] for message in sent if message["type"] == "http.response.start"]
    assert started == ([200] if has_begun else [] if status == 499 else [status])
    assert b"a bug" not in b"".join(message.get("body", b"") for message in sent)


@pytest.mark.parametrize("host", ["a..b", ".", "x" * 64 + ".org", "\xe4" * 80])
def test_host_that_is_no_name_is_refused(host: str) -> None:
    with pytest.raises(InputError, match=r"is not the name of a host; choose another with --host$"):
        open_socket(host, 0)
