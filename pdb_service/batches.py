"""Batches of boards in three forms: JSON, lines of JSON, and bytes.

An invalid board has a problem at its position in the answer; boards that cannot be solved have no h.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from pdb_core.errors import BoardError, PdbError, RequestError, RequestTooLargeError
from pdb_core.messages import shorten
from pdb_core.puzzle import Board, BoardSize, check_board, parse_board, parse_size
from pdb_service.batch_kernels import answer_bytes, count_lines, find_lines, parse_lines, write_answers
from pdb_service.problems import problem
from pdb_service.served_databases import MAX_CHARACTERS, MAX_NUMBERS, Served, ServedDatabases, check_length

JSON, NDJSON, BINARY = "application/json", "application/x-ndjson", "application/octet-stream"
# Boards of one lookup: other requests run between two lookups.
_SLICE_BOARDS = 4096


@dataclass(frozen=True)
class BatchNames:
    """The parameters goal, db and size of a batch; each may be missing."""

    goal: str | None
    db: str | None
    size: str | None


class Batches:
    """Lookups of batches. Each method takes a body and returns the body of the answer and the number of boards.

    They take long: call them in a thread. They raise `RequestError`, `RequestTooLargeError`, and the errors of
    `ServedDatabases.place` and `choose`.
    """

    def __init__(self, databases: ServedDatabases, max_boards: int) -> None:
        self._databases, self._max_boards = databases, max_boards

    def answer(self, media_type: str, body: bytes, names: BatchNames) -> tuple[bytes, int]:
        """Return the answer in the form of the request."""
        forms = {JSON: self.answer_json, NDJSON: self.answer_lines, BINARY: self.answer_bytes}
        return forms[media_type](body, names)

    def answer_json(self, body: bytes, names: BatchNames) -> tuple[bytes, int]:
        """Answer `{"boards": [...], "goal": ..., "db": ...}` with `{"answers": [...]}`."""
        self._check_json(body)
        given = _load(body)
        if not isinstance(given, dict) or not isinstance(given.get("boards"), list):
            raise RequestError('the body must be an object with a list of boards: {"boards": ["1 2 3/4 5 6/7 8 0"]}')
        named = {name: given[name] for name in ("goal", "db", "size") if given.get(name) is not None}
        for name, value in named.items():
            if not isinstance(value, str) or len(value) > MAX_CHARACTERS:
                raise RequestError(f"{name} must be a string of up to {MAX_CHARACTERS} characters, as in the query")
        names = replace(names, **named)
        boards: list[Any] = given["boards"]
        self._check_number(len(boards))
        served = self._served(names, boards[:1])
        rows = np.empty((len(boards), served.size.n_cells), dtype=np.uint8)
        problems: dict[int, bytes] = {}
        for start in range(0, len(boards), _SLICE_BOARDS):
            end = min(start + _SLICE_BOARDS, len(boards))
            if not _read_lists(boards[start:end], rows[start:end]):
                for at in range(start, end):
                    _read_into(rows, at, boards[at], served, problems)
        head = orjson.dumps({"db": served.id, "size": str(served.size), "goal": served.goal})
        answers = b"".join(_answers(rows, problems, served, b","))
        return head[:-1] + b',"answers":[' + answers[:-1] + b"]}", len(boards)

    def answer_lines(self, body: bytes, names: BatchNames) -> tuple[bytes, int]:
        """Answer lines, each a list or a string, with a line for each board."""
        text = np.frombuffer(body, dtype=np.uint8)
        n_lines = count_lines(text)
        self._check_number(n_lines)
        starts, ends = np.empty((2, n_lines), dtype=np.int64)
        find_lines(text, starts, ends)
        served = self._served(names, [_load(body[starts[0] : ends[0]])] if n_lines else [])
        rows = np.empty((n_lines, served.size.n_cells), dtype=np.uint8)
        is_read = np.empty(n_lines, dtype=np.uint8)
        parse_lines(text, starts, ends, rows, is_read)
        problems: dict[int, bytes] = {}
        for at in np.flatnonzero(is_read == 0).tolist():
            try:
                board = _load(body[starts[at] : ends[at]])
            except RequestError as error:
                rows[at], problems[at] = served.goal, _problem(error)
            else:
                _read_into(rows, at, board, served, problems)
        return b"".join(_answers(rows, problems, served, b"\n")), n_lines

    def answer_bytes(self, body: bytes, names: BatchNames) -> tuple[bytes, int]:
        """Answer uint8[m, n_cells] with int16[m], little endian: h, -1 if unsolvable, -2 if invalid."""
        if names.db is None and names.size is None:
            raise RequestError("bytes have no board size; name it with size, or name a database with db")
        served = self._served(names, [])
        n_cells = served.size.n_cells
        if len(body) % n_cells != 0:
            raise RequestError(f"{len(body)} bytes are not a multiple of {n_cells}, the bytes of a {served.size} board")
        self._check_number(len(body) // n_cells)
        rows = np.frombuffer(body, dtype=np.uint8).reshape(-1, n_cells)
        slices = [
            served.database.probe_batch(rows[start : start + _SLICE_BOARDS], served.goal, strict=False).maximum
            for start in range(0, len(rows), _SLICE_BOARDS)
        ]
        return b"".join(piece.astype("<i2").tobytes() for piece in slices), len(rows)

    def _check_json(self, body: bytes) -> None:
        """Refuse oversized batches before parsing: empty lists take 30 times the memory of their text."""
        self._check_number(body.count(b"[") + body.count(b"{") - 2)
        if body.count(b",") > self._max_boards * (MAX_NUMBERS + 1):
            raise RequestTooLargeError(f"more numbers than {self._max_boards} boards have; send several batches")

    def _check_number(self, n_boards: int) -> None:
        if n_boards > self._max_boards:
            raise RequestTooLargeError(f"{n_boards} boards; a batch may have {self._max_boards}, send several")

    def _served(self, names: BatchNames, first: list[Any]) -> Served:
        """Return the database that the request names, else the one for the first board."""
        if names.db is not None or names.size is not None:
            size = None if names.size is None else parse_size(names.size)
            return self._databases.choose(size, names.goal, names.db)
        board = first[0] if first else None
        if isinstance(board, str) or (isinstance(board, list) and all(type(tile) is int for tile in board)):
            return self._databases.place(board, names.goal, None)[1]
        raise RequestError("the first board does not have a known size; name the size with size, or a database with db")


def _load(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise RequestError(f"{shorten(text.decode(errors='replace'), 40)!r} is not JSON: {error}") from None


def _read_lists(boards: list[Any], rows: npt.NDArray[np.uint8]) -> bool:
    """Read boards into `rows` if all are valid lists of numbers; return whether they are. This is the fast path."""
    n_cells = rows.shape[1]
    if set(map(type, boards)) != {list} or set(map(len, boards)) != {n_cells}:
        return False
    if set(map(type, chain.from_iterable(boards))) != {int}:  # not a bool, nor a number with a fraction
        return False
    try:
        rows[:] = np.fromiter(chain.from_iterable(boards), dtype=np.uint8, count=rows.size).reshape(rows.shape)
    except OverflowError:
        return False
    return bool((np.sort(rows, axis=1) == np.arange(n_cells, dtype=np.uint8)).all())


def _read_into(rows: npt.NDArray[np.uint8], at: int, board: Any, served: Served, problems: dict[int, bytes]) -> None:
    """Read one board into its row. For an invalid one, add a problem and fill the row with the goal."""
    try:
        rows[at] = _read_board(board, served.size)
    except PdbError as error:
        rows[at], problems[at] = served.goal, _problem(error)


def _problem(error: PdbError) -> bytes:
    """Return the answer for an invalid board as JSON: an error kept as an object would keep its traceback."""
    # A copy: orjson returns a block of 4 kB for any length, and a batch may have 100,000 of these.
    return bytes(memoryview(orjson.dumps({"error": problem(error)})))


def _read_board(board: Any, size: BoardSize) -> Board:
    """Return a board of a batch: a string, or a list of numbers. Raises `BoardError`."""
    check_length(board)
    if isinstance(board, str):
        return parse_board(board, size)[0]
    if not isinstance(board, list) or not all(type(tile) is int for tile in board):
        raise BoardError(f"a {size} board is a list of {size.n_cells} numbers or a string")
    return check_board(board, size)


def _answers(rows: npt.NDArray[np.uint8], problems: dict[int, bytes], served: Served, end: bytes) -> Iterator[bytes]:
    """Yield the answers for the boards in `rows`, each followed by `end`, with the problems of invalid boards."""
    bad = sorted(problems)
    next_bad = 0
    for start in range(0, len(rows), _SLICE_BOARDS):
        batch = served.database.probe_batch(rows[start : start + _SLICE_BOARDS], served.goal)
        n_rows, n_sums = batch.sums.shape
        text = np.empty(n_rows * answer_bytes(n_sums), dtype=np.uint8)
        offsets = np.empty(n_rows + 1, dtype=np.int64)
        write_answers(batch.maximum, batch.sums, end[0], text, offsets)
        written = 0
        while next_bad < len(bad) and bad[next_bad] < start + n_rows:
            row = bad[next_bad] - start
            yield text[written : offsets[row]].tobytes()
            yield problems[bad[next_bad]] + end
            written = offsets[row + 1]
            next_bad += 1
        yield text[written : offsets[n_rows]].tobytes()
