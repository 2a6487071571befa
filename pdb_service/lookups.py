"""Lookups of batches of boards, in JSON or in bytes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pdb_core.board_size import parse_size
from pdb_core.errors import BoardError, RequestError, RequestTooLargeError
from pdb_core.puzzle import Board
from pdb_query.board_rows import rows_of_boards
from pdb_query.probes import BatchProbe
from pdb_service.databases import Served
from pdb_service.models import BatchAnswer, BatchBody, BatchQuery, Problem, read_json
from pdb_service.searches import Searches

# The first invalid boards of a batch have a problem that says what is wrong with them, all others a short one.
_MOST_EXPLAINED = 100


def look_up_json(service: Searches, body: bytearray, query: BatchQuery) -> bytes:
    """Return the `BatchAnswer` for a `BatchBody`."""
    given = read_json(BatchBody, body)
    named = query.model_copy(update=given.model_dump(exclude={"boards"}, exclude_none=True))
    served = _served(service, named, given.boards[:_MOST_EXPLAINED])
    try:
        found = _probe(service, served, given.boards)
    except BoardError:  # lists of other lengths, or texts among them
        found = _probe(service, served, rows_of_boards(given.boards, served.size, strict=False))
    bad = np.flatnonzero(found.h == -2).tolist()
    problems = dict.fromkeys(bad, Problem.of(BoardError(f"not a {served.size} board")))
    for row in bad[:_MOST_EXPLAINED]:
        try:
            Board(given.boards[row], served.size)
        except BoardError as error:
            problems[row] = Problem.of(error)
    return BatchAnswer.json_of(served, found, problems)


def look_up_bytes(service: Searches, body: bytearray, query: BatchQuery) -> bytes:
    """Return int16[m], little endian, for uint8[m, n_cells]: h, -1 if unsolvable, -2 if invalid."""
    served = _served(service, query, [])
    n_cells = served.size.n_cells
    if len(body) % n_cells != 0:
        raise RequestError(f"{len(body)} bytes are not a multiple of {n_cells}, the bytes of a {served.size} board")
    rows = np.frombuffer(body, dtype=np.uint8).reshape(-1, n_cells)
    return _probe(service, served, rows).h.astype("<i2").tobytes()


def _probe(service: Searches, served: Served, boards: Any) -> BatchProbe:
    """Look up and count the boards of a batch. Raises `RequestTooLargeError`, and `BoardError` for mixed lists."""
    max_boards = service.settings.max_boards
    if len(boards) > max_boards:
        raise RequestTooLargeError(f"a batch has more than the {max_boards:,} boards allowed; send several")
    found = served.database.probe_batch(boards, served.goal, strict=False)
    service.metrics.boards.inc(len(boards))
    return found


def _served(service: Searches, query: BatchQuery, boards: Sequence[str | list[int]]) -> Served:
    """Return the database that a batch names, else the one for the first of these boards that can be read."""
    if query.db is not None or query.size is not None:
        size = None if query.size is None else parse_size(query.size)
        return service.databases.choose(size, query.goal, query.db)
    refused: Exception | None = None
    for board in boards:
        try:
            return service.databases.place(board, query)[1]
        except BoardError as error:
            refused = refused or error
    raise refused or RequestError("the size of the boards is not known; name it with size, or name a database with db")
