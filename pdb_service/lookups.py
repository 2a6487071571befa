"""/v1/lookup: the routes, the answer for one board, and batches of boards in JSON or in bytes.

In a batch, an invalid board has a problem at its position in the answer; boards that cannot be solved have no h.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from pdb_core.board_size import parse_size
from pdb_core.errors import BoardError, MediaTypeError, RequestError, RequestTooLargeError
from pdb_core.messages import as_typed
from pdb_core.puzzle import Board
from pdb_query.board_rows import rows_of_boards
from pdb_query.probes import Probe
from pdb_service.answers import BINARY, JSON, BatchAnswer, BatchItem, LookupAnswer
from pdb_service.openapi import TABLE_STATUSES, ApiRoute, Routes
from pdb_service.requests import BatchBody, BatchQuery, BoardQuery, read_json, read_query
from pdb_service.responses import AnswerResponse, problem
from pdb_service.served_databases import Served
from pdb_service.service import Service
from pdb_service.together import Together

# The first invalid boards of a batch have a problem that says what is wrong with them, all others a short one.
_MOST_EXPLAINED = 100
# Boards that are written as JSON at a time: other requests run between two slices.
_SLICE_BOARDS = 4096


def lookup_routes(service: Service) -> Routes:
    """Return the routes of lookups."""
    together = Together(_probe_together, 1)

    async def lookup(request: Request) -> Response:
        """Look up one board: the lower bound on the length of its solutions, and each pattern's distance."""
        query = read_query(BoardQuery, request)
        board, served = service.databases.place(query.board, query)
        service.metrics.boards.inc()
        return AnswerResponse(LookupAnswer.json_of(board, served, await together.ask(board, served)))

    async def lookup_batch(request: Request) -> Response:
        """Look up many boards. The answers have the order and the media type of the boards."""
        query = read_query(BatchQuery, request)
        media_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if media_type not in (JSON, BINARY):
            raise MediaTypeError(
                f"media type {as_typed(media_type, 40)!r} is not that of a batch; give Content-Type {JSON} or {BINARY}"
            )
        body = await request.body()
        look_up = _look_up_json if media_type == JSON else _look_up_bytes
        content = await service.pools.run("batch", look_up, service, body, query)
        return Response(content, media_type=media_type)

    get = ApiRoute(lookup, BoardQuery, answer=LookupAnswer, statuses=TABLE_STATUSES)
    post = ApiRoute(lookup_batch, BatchQuery, BatchBody, BatchAnswer, [BINARY], [*TABLE_STATUSES, 415])
    return {"/v1/lookup": {"GET": get, "POST": post}}


async def _probe_together(served: Served, boards: list[Board]) -> list[Probe | None]:
    """Look boards up together: their waits for memory overlap, and kernels release the GIL once for all of them."""
    found = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
    rows = zip(found.values.tolist(), found.sums.tolist(), found.h.tolist(), strict=True)
    return [None if h < 0 else Probe(values, sums, h) for values, sums, h in rows]


def _look_up_json(service: Service, body: bytes, query: BatchQuery) -> bytes:
    """Return the `BatchAnswer` for a `BatchBody`."""
    service.check_memory()  # the answers of earlier batches may be unread
    given = read_json(BatchBody, body)
    boards = given.boards
    _check_number(service, len(boards))
    query = query.model_copy(update=given.model_dump(exclude={"boards"}, exclude_none=True))
    served = _served(service, query, boards[:_MOST_EXPLAINED])
    slices = (boards[start : start + _SLICE_BOARDS] for start in range(0, len(boards), _SLICE_BOARDS))
    explained = iter(range(_MOST_EXPLAINED))
    items = b",".join(_look_up_slice(part, served, explained) for part in slices)
    service.metrics.boards.inc(len(boards))
    return BatchAnswer.json_of(served, items)


def _look_up_slice(boards: Sequence[str | list[int]], served: Served, explained: Iterator[int]) -> bytes:
    """Return the answers for boards, as `BatchItem` in JSON, separated by commas."""
    probe = partial(served.database.probe_batch, goal=served.goal, strict=False)
    try:
        found = probe(np.asarray(boards))
    except (BoardError, ValueError):  # texts, or lists of other lengths
        found = probe(rows_of_boards(boards, served.size, strict=False))
    unexplained = problem(BoardError(f"not a {served.size} board"))
    problems = dict.fromkeys(np.flatnonzero(found.h == -2).tolist(), unexplained)
    for row, _ in zip(problems, explained, strict=False):
        try:
            Board(boards[row], served.size)
        except BoardError as error:
            problems[row] = problem(error)
    return BatchItem.json_of(found, problems)


def _look_up_bytes(service: Service, body: bytes, query: BatchQuery) -> bytes:
    """Return int16[m], little endian, for uint8[m, n_cells]: h, -1 if unsolvable, -2 if invalid."""
    service.check_memory()
    served = _served(service, query, [])
    n_cells = served.size.n_cells
    if len(body) % n_cells != 0:
        raise RequestError(f"{len(body)} bytes are not a multiple of {n_cells}, the bytes of a {served.size} board")
    _check_number(service, len(body) // n_cells)
    # A copy that may be written to: kernels are compiled again for read-only arrays.
    rows = np.frombuffer(bytearray(body), dtype=np.uint8).reshape(-1, n_cells)
    h = served.database.probe_batch(rows, served.goal, strict=False).h
    service.metrics.boards.inc(len(rows))
    return h.astype("<i2").tobytes()


def _check_number(service: Service, n_boards: int) -> None:
    max_boards = service.settings.max_boards
    if n_boards > max_boards:
        raise RequestTooLargeError(f"a batch has more than the {max_boards:,} boards allowed; send several")


def _served(service: Service, query: BatchQuery, boards: Sequence[str | list[int]]) -> Served:
    """Return the database that a batch names, else the one for the first of these boards that can be read."""
    if query.db is not None or query.size is not None:
        size = None if query.size is None else parse_size(query.size)
        return service.databases.choose(size, query.goal, query.db)
    refused: BoardError | None = None
    for board in boards:
        try:
            return service.databases.place(board, query)[1]
        except BoardError as error:
            refused = refused or error
    if refused is not None:
        raise refused
    raise RequestError("the size of the boards is not known; name it with size, or name a database with db")
