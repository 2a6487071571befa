"""/v1/lookup: the routes, the answer for one board, and batches of boards in JSON or in bytes.

In a batch, an invalid board has a problem at its position in the answer; boards that cannot be solved have no h.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import chain
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from fastapi import APIRouter, Query, Request
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.responses import Response

from pdb_core.errors import BoardError, MediaTypeError, RequestError, RequestTooLargeError
from pdb_core.messages import as_typed
from pdb_core.puzzle import Board, BoardSize, Tiles, is_solvable, parse_size, why_unsolvable
from pdb_service.answers import BatchAnswer, LookupAnswer, SumAnswer
from pdb_service.problems import problem, problem_responses
from pdb_service.requests import BatchBody, BatchQuery, BoardQuery, first_error
from pdb_service.served_databases import MAX_NUMBERS, Served, ServedDatabases, check_length
from pdb_service.service import Service

JSON, BINARY = "application/json", "application/octet-stream"
_CONCURRENT_BATCHES = 2
# Boards of one lookup: other requests run between two lookups.
_SLICE_BOARDS = 4096
_NO_BOARD = 255
_BATCH_BODY = {
    "required": True,
    "content": {
        JSON: {"schema": BatchBody.model_json_schema()},
        BINARY: {"schema": {"type": "string", "format": "binary"}},
    },
}


def lookup_routes(service: Service) -> APIRouter:
    """Return the routes of lookups."""
    router = APIRouter(prefix="/v1", tags=["lookup"])
    # Threads only for batches: each keeps as much memory as its largest batch took.
    threads = ThreadPoolExecutor(_CONCURRENT_BATCHES, thread_name_prefix="batch")
    slots = asyncio.Semaphore(_CONCURRENT_BATCHES)

    @router.get("/lookup", response_model=LookupAnswer, responses=problem_responses(403, 404, 422))
    async def lookup(query: Annotated[BoardQuery, Query()]) -> Response:
        """Look up one board: the lower bound on the length of its solutions, and each pattern's distance."""
        tiles, served = service.databases.place(query.board, query.goal, query.db)
        service.metrics.boards.inc()
        return Response(look_up(tiles, served).to_json(), media_type=JSON)

    @router.post(
        "/lookup",
        response_model=BatchAnswer,
        responses={
            200: {"content": {BINARY: {"schema": {"type": "string"}}}},
            **problem_responses(400, 403, 404, 413, 415, 422, 503),
        },
        openapi_extra={"requestBody": _BATCH_BODY},
    )
    async def lookup_batch(request: Request, query: Annotated[BatchQuery, Query()]) -> Response:
        """Look up many boards. The answers have the order and the media type of the boards."""
        media_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        look_up_batch = {JSON: _look_up_json, BINARY: _look_up_bytes}.get(media_type)
        if look_up_batch is None:
            raise MediaTypeError(
                f"media type {as_typed(media_type, 40)!r} is not that of a batch; give Content-Type {JSON} or {BINARY}"
            )
        body = await request.body()
        answer = partial(look_up_batch, service.databases, service.settings.max_boards, body, query)
        async with slots:
            service.check_memory()
            content, n_boards = await asyncio.get_running_loop().run_in_executor(threads, answer)
        service.metrics.boards.inc(n_boards)
        return Response(content, media_type=media_type)

    return router


def look_up(board: Tiles, served: Served) -> LookupAnswer:
    """Return the answer for one board."""
    about = about_board(board, served)
    if not about["solvable"]:
        return LookupAnswer(**about, h=None, sums=())
    # `place` has checked the board: `probe_batch` does not check it again.
    batch = served.database.probe_batch(np.array([board], dtype=np.uint8), served.goal)
    # A catalogue has a sum for each symmetry and partition.
    terms = (
        (tuple(values[place] for place in places), tuple(patterns[place] for place in places))
        for values, patterns in zip(batch.values[0].tolist(), _pattern_tiles(served), strict=True)
        for places in served.database.partition.sums
    )
    sums = tuple(
        SumAnswer(h=total, values=values, patterns=patterns)
        for total, (values, patterns) in zip(batch.sums[0].tolist(), terms, strict=True)
    )
    return LookupAnswer(**about, h=int(batch.maximum[0]), sums=sums)


def about_board(board: Tiles, served: Served) -> dict[str, Any]:
    """Return the fields of a `BoardAnswer` except for h."""
    about = {"db": served.id, "size": str(served.size), "board": board, "goal": served.goal}
    if is_solvable(board, served.goal, served.size):
        return {**about, "solvable": True}
    return {**about, "solvable": False, "why": why_unsolvable(board, served.goal, served.size)}


def maxima(boards: Sequence[Tiles], served: Served) -> list[int]:
    """Return the h of each of some solvable boards."""
    batch = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
    return [*map(int, batch.maximum)]


@lru_cache(maxsize=256)
def _pattern_tiles(served: Served) -> tuple[tuple[Tiles, ...], ...]:
    """Return the tiles of a given board that each pattern of each sum represents."""
    views = served.database.views(served.goal)
    n_sums, n_patterns = views.view_of_unit.shape
    return tuple(tuple(tuple(sorted(views.tiles(s, p))) for p in range(n_patterns)) for s in range(n_sums))


def _look_up_json(databases: ServedDatabases, max_boards: int, body: bytes, query: BatchQuery) -> tuple[bytes, int]:
    """Return the `BatchAnswer` for a `BatchBody`, and the number of boards."""
    _check_json(body, max_boards)
    try:
        given = BatchBody.model_validate_json(body)
    except ValidationError as error:
        raise RequestError(first_error(error.errors(include_input=False))) from None
    boards = given.boards
    _check_number(len(boards), max_boards)
    query = query.model_copy(update=given.model_dump(exclude={"boards"}, exclude_none=True))
    served = _served(databases, query, boards[:1])
    slices = (boards[start : start + _SLICE_BOARDS] for start in range(0, len(boards), _SLICE_BOARDS))
    answers = b",".join(_look_up_slice(part, served) for part in slices)
    head = to_json({"db": served.id, "size": str(served.size), "goal": tuple(served.goal)})
    return head[:-1] + b',"answers":[' + answers + b"]}", len(boards)


def _look_up_slice(boards: Sequence[Any], served: Served) -> bytes:
    """Return the answers for boards, as `BatchItem` in JSON, separated by commas."""
    problems: dict[int, dict[str, Any]] = {}
    rows = _read_lists(boards, served.size)
    if rows is None:
        rows = np.full((len(boards), served.size.n_cells), _NO_BOARD, dtype=np.uint8)
        for at, board in enumerate(boards):
            try:
                rows[at] = _read_board(board, served.size)
            except BoardError as caught:
                problems[at] = {"error": problem(caught).model_dump(exclude_unset=True)}
    batch = served.database.probe_batch(rows, served.goal, strict=False)
    answers = [
        {"h": None, "solvable": False} if h < 0 else {"h": h, "sums": sums}
        for h, sums in zip(batch.maximum.tolist(), batch.sums.tolist(), strict=True)
    ]
    for at, refused in problems.items():
        answers[at] = refused
    return to_json(answers)[1:-1]  # one call, without models: a call for each board takes nine times as long


def _read_lists(boards: Sequence[Any], size: BoardSize) -> npt.NDArray[np.uint8] | None:
    """Return boards as rows if all are valid lists of numbers, else None: reading them one by one takes longer."""
    if set(map(type, boards)) != {list} or set(map(len, boards)) != {size.n_cells}:
        return None
    if set(map(type, chain.from_iterable(boards))) != {int}:  # `True` is none
        return None
    try:
        rows = np.fromiter(chain.from_iterable(boards), np.uint8, len(boards) * size.n_cells).reshape(len(boards), -1)
    except OverflowError:
        return None
    return rows if (np.sort(rows, axis=1) == np.arange(size.n_cells)).all() else None


def _look_up_bytes(databases: ServedDatabases, max_boards: int, body: bytes, query: BatchQuery) -> tuple[bytes, int]:
    """Return int16[m], little endian, for uint8[m, n_cells]: h, -1 if unsolvable, -2 if invalid; and m."""
    if query.db is None and query.size is None:
        raise RequestError("bytes have no board size; name it with size, or name a database with db")
    served = _served(databases, query, [])
    n_cells = served.size.n_cells
    if len(body) % n_cells != 0:
        raise RequestError(f"{len(body)} bytes are not a multiple of {n_cells}, the bytes of a {served.size} board")
    _check_number(len(body) // n_cells, max_boards)
    # A copy that may be written to: kernels are compiled again for read-only arrays.
    rows = np.frombuffer(bytearray(body), dtype=np.uint8).reshape(-1, n_cells)
    slices = [
        served.database.probe_batch(rows[start : start + _SLICE_BOARDS], served.goal, strict=False).maximum
        for start in range(0, len(rows), _SLICE_BOARDS)
    ]
    return b"".join(piece.astype("<i2").tobytes() for piece in slices), len(rows)


def _check_json(body: bytes, max_boards: int) -> None:
    """Refuse oversized batches before parsing: empty lists take 30 times the memory of their text."""
    _check_number(body.count(b"[") + body.count(b"{") - 2, max_boards)
    if body.count(b",") > max_boards * (MAX_NUMBERS + 1):
        raise RequestTooLargeError(f"a batch has more numbers than {max_boards:,} boards; send several batches")


def _check_number(n_boards: int, max_boards: int) -> None:
    if n_boards > max_boards:
        raise RequestTooLargeError(f"a batch has more than the {max_boards:,} boards allowed; send several")


def _served(databases: ServedDatabases, query: BatchQuery, first: list[Any]) -> Served:
    """Return the database that a batch names, else the one for its first board."""
    if query.db is not None or query.size is not None:
        size = None if query.size is None else parse_size(query.size)
        return databases.choose(size, query.goal, query.db)
    if first and (isinstance(first[0], str) or _is_numbers(first[0])):
        return databases.place(first[0], query.goal, None)[1]
    raise RequestError("the first board does not have a known size; name the size with size, or a database with db")


def _is_numbers(board: Any) -> bool:
    """Return whether a value is a list of integers; `True` is none."""
    return isinstance(board, list) and all(type(tile) is int for tile in board)


def _read_board(board: Any, size: BoardSize) -> Tiles:
    """Return a board of a batch: a string, or a list of numbers. Raises `BoardError`."""
    check_length(board)
    if not isinstance(board, str) and not _is_numbers(board):
        raise BoardError(f"a {size} board is a list of {size.n_cells} numbers or a string")
    return Board(board, size)
