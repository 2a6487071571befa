"""Batches of boards in three forms: JSON, lines of JSON, and bytes.

An invalid board has a problem at its position in the answer; boards that cannot be solved have no h.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import orjson

from pdb_core.errors import BoardError, PdbError, RequestError, RequestTooLargeError
from pdb_core.messages import shorten
from pdb_core.puzzle import Board, BoardSize, check_board, parse_board, parse_size
from pdb_service.problems import problem
from pdb_service.requests import BatchBody, BatchQuery, read_body
from pdb_service.served_databases import MAX_NUMBERS, Served, ServedDatabases, check_length

JSON, NDJSON, BINARY = "application/json", "application/x-ndjson", "application/octet-stream"
# Boards of one lookup: other requests run between two lookups.
_SLICE_BOARDS = 4096
_NO_BOARD = 255


class Batches:
    """Lookups of batches. Each method takes a body and returns the body of the answer and the number of boards.

    They take long: call them in a thread. They raise `RequestError`, `RequestTooLargeError`, and the errors of
    `ServedDatabases.place` and `choose`.
    """

    def __init__(self, databases: ServedDatabases, max_boards: int) -> None:
        self._databases, self._max_boards = databases, max_boards

    def answer(self, media_type: str, body: bytes, query: BatchQuery) -> tuple[bytes, int]:
        """Return the answer in the form of the request."""
        forms = {JSON: self._answer_json, NDJSON: self._answer_lines, BINARY: self._answer_bytes}
        return forms[media_type](body, query)

    def _answer_json(self, body: bytes, query: BatchQuery) -> tuple[bytes, int]:
        """Answer a `BatchBody` with a `BatchAnswer`."""
        # Before parsing: empty lists take 30 times the memory of their text.
        self._check_number(body.count(b"[") + body.count(b"{") - 2)
        if body.count(b",") > self._max_boards * (MAX_NUMBERS + 1):
            raise RequestTooLargeError(f"more numbers than {self._max_boards} boards have; send several batches")
        given = read_body(BatchBody, body)
        self._check_number(len(given.boards))
        query = query.model_copy(update=given.model_dump(exclude={"boards"}, exclude_none=True))
        served = self._served(query, given.boards[:1])
        head = orjson.dumps({"db": served.id, "size": str(served.size), "goal": served.goal})
        answers = b",".join(_answers(given.boards, _read_board, served, b","))
        return head[:-1] + b',"answers":[' + answers + b"]}", len(given.boards)

    def _answer_lines(self, body: bytes, query: BatchQuery) -> tuple[bytes, int]:
        """Answer lines, each a list or a string, with a line for each board."""
        lines = [line for line in body.split(b"\n") if line.strip(b" \t\r")]
        self._check_number(len(lines))
        served = self._served(query, [_load(line) for line in lines[:1]])
        answers = _answers(lines, lambda line, size: _read_board(_load(line), size), served, b"\n")
        return b"".join(piece + b"\n" for piece in answers), len(lines)

    def _answer_bytes(self, body: bytes, query: BatchQuery) -> tuple[bytes, int]:
        """Answer uint8[m, n_cells] with int16[m], little endian: h, -1 if unsolvable, -2 if invalid."""
        if query.db is None and query.size is None:
            raise RequestError("bytes have no board size; name it with size, or name a database with db")
        served = self._served(query, [])
        n_cells = served.size.n_cells
        if len(body) % n_cells != 0:
            raise RequestError(f"{len(body)} bytes are not a multiple of {n_cells}, the bytes of a {served.size} board")
        self._check_number(len(body) // n_cells)
        # A copy that may be written to: kernels are compiled again for read-only arrays.
        rows = np.frombuffer(bytearray(body), dtype=np.uint8).reshape(-1, n_cells)
        slices = [
            served.database.probe_batch(rows[start : start + _SLICE_BOARDS], served.goal, strict=False).maximum
            for start in range(0, len(rows), _SLICE_BOARDS)
        ]
        return b"".join(piece.astype("<i2").tobytes() for piece in slices), len(rows)

    def _check_number(self, n_boards: int) -> None:
        if n_boards > self._max_boards:
            raise RequestTooLargeError(f"{n_boards} boards; a batch may have {self._max_boards}, send several")

    def _served(self, query: BatchQuery, first: list[Any]) -> Served:
        """Return the database that the request names, else the one for the first board."""
        if query.db is not None or query.size is not None:
            size = None if query.size is None else parse_size(query.size)
            return self._databases.choose(size, query.goal, query.db)
        if first and (isinstance(first[0], str) or _is_numbers(first[0])):
            return self._databases.place(first[0], query.goal, None)[1]
        raise RequestError("the first board does not have a known size; name the size with size, or a database with db")


def _load(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise RequestError(f"{shorten(text.decode(errors='replace'), 40)!r} is not JSON: {error}") from None


def _is_numbers(board: Any) -> bool:
    """Return whether a value is a list of integers; `True` is none."""
    return isinstance(board, list) and all(type(tile) is int for tile in board)


def _read_board(board: Any, size: BoardSize) -> Board:
    """Return a board of a batch: a string, or a list of numbers. Raises `BoardError`."""
    check_length(board)
    if isinstance(board, str):
        return parse_board(board, size)[0]
    if not _is_numbers(board):
        raise BoardError(f"a {size} board is a list of {size.n_cells} numbers or a string")
    return check_board(board, size)


def _answers(
    boards: Sequence[Any], read: Callable[[Any, BoardSize], Board], served: Served, separator: bytes
) -> Iterator[bytes]:
    """Yield the answers for slices of the boards, as JSON. `read` returns a board or raises a `PdbError`."""
    for start in range(0, len(boards), _SLICE_BOARDS):
        part = boards[start : start + _SLICE_BOARDS]
        rows = np.full((len(part), served.size.n_cells), _NO_BOARD, dtype=np.uint8)
        problems: dict[int, dict[str, Any]] = {}
        for at, board in enumerate(part):
            try:
                rows[at] = read(board, served.size)
            except PdbError as error:
                problems[at] = problem(error)
        batch = served.database.probe_batch(rows, served.goal, strict=False)
        answers: list[dict[str, Any]] = [
            {"h": None, "solvable": False} if h < 0 else {"h": h, "sums": sums}
            for h, sums in zip(batch.maximum.tolist(), batch.sums.tolist(), strict=True)
        ]
        for at, found in problems.items():
            answers[at] = {"error": found}
        yield separator.join(map(orjson.dumps, answers))
