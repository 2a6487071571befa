"""/v1/lookup: the routes, and the answer for one board. Batches are in `batches`."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pdb_core.errors import MediaTypeError
from pdb_core.puzzle import Board, is_solvable, why_unsolvable
from pdb_service.answers import BatchAnswer, LookupAnswer
from pdb_service.batches import BINARY, JSON, NDJSON
from pdb_service.problems import problem_responses
from pdb_service.requests import BatchBody, BatchQuery, BoardQuery
from pdb_service.served_databases import Served
from pdb_service.service import Service

_CONCURRENT_BATCHES = 2
_BATCH_BODY = {
    "required": True,
    "content": {
        JSON: {"schema": BatchBody.model_json_schema()},
        NDJSON: {"schema": {"type": "string"}, "example": "[1,2,3,4,5,6,7,8,0]\n[1,2,3,4,5,6,7,0,8]\n"},
        BINARY: {"schema": {"type": "string", "format": "binary"}},
    },
}


def lookup_routes(service: Service) -> APIRouter:
    """Return the routes of lookups."""
    router = APIRouter(prefix="/v1", tags=["lookup"])
    # Threads only for batches: each keeps as much memory as its largest batch took.
    threads = ThreadPoolExecutor(_CONCURRENT_BATCHES, thread_name_prefix="batch")
    slots = asyncio.Semaphore(_CONCURRENT_BATCHES)

    @router.get("/lookup", response_model=LookupAnswer, responses=problem_responses(404, 422))
    async def lookup(query: Annotated[BoardQuery, Query()]) -> Response:
        """Look up one board: the lower bound on the length of its solutions, and each pattern's distance."""
        tiles, served = service.databases.place(query.board, query.goal, query.db)
        service.metrics.boards.inc()
        return Response(orjson.dumps(look_up(tiles, served)), media_type=JSON)

    @router.post(
        "/lookup",
        response_model=BatchAnswer,
        responses={
            200: {"content": {NDJSON: {"schema": {"type": "string"}}, BINARY: {"schema": {"type": "string"}}}},
            **problem_responses(400, 404, 413, 415, 422, 503),
        },
        openapi_extra={"requestBody": _BATCH_BODY},
    )
    async def lookup_batch(request: Request, query: Annotated[BatchQuery, Query()]) -> Response:
        """Look up many boards. The answers have the order and the media type of the boards."""
        media_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if media_type not in (JSON, NDJSON, BINARY):
            raise MediaTypeError(f"a batch is {JSON}, {NDJSON} or {BINARY}; name one of these in Content-Type")
        body = await request.body()
        answer = partial(service.batches.answer, media_type, body, query)
        async with slots:
            service.check_memory()
            content, n_boards = await asyncio.get_running_loop().run_in_executor(threads, answer)
        service.metrics.boards.inc(n_boards)
        return Response(content, media_type=media_type)

    return router


def look_up(board: Board, served: Served) -> dict[str, Any]:
    """Return the body of a `LookupAnswer`."""
    answer = board_answer(board, served)
    if not answer["solvable"]:
        return {**answer, "h": None, "sums": []}
    # `place` has checked the board: `probe_batch` does not check it again.
    batch = served.database.probe_batch(np.array([board], dtype=np.uint8), served.goal)
    sums = [
        {"h": total, "values": values, "patterns": patterns}
        for total, values, patterns in zip(
            batch.sums[0].tolist(), batch.values[0].tolist(), _pattern_tiles(served), strict=True
        )
    ]
    return {**answer, "h": int(batch.maximum[0]), "sums": sums}


def board_answer(board: Board, served: Served) -> dict[str, Any]:
    """Return the fields of a `BoardAnswer` except for h."""
    solvable = is_solvable(board, served.goal, served.size)
    answer: dict[str, Any] = {
        "db": served.id,
        "size": str(served.size),
        "board": board,
        "goal": served.goal,
        "solvable": solvable,
    }
    if not solvable:
        answer["why"] = why_unsolvable(board, served.goal, served.size)
    return answer


def maxima(boards: Sequence[Board], served: Served) -> list[int]:
    """Return the h of each of some solvable boards."""
    batch = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
    return [int(h) for h in batch.maximum]


@lru_cache(maxsize=256)
def _pattern_tiles(served: Served) -> tuple[tuple[Board, ...], ...]:
    """Return the tiles of a given board that each pattern of each sum represents."""
    labels = served.database.views(served.goal).labels_of_tiles()
    return tuple(tuple(tuple(np.flatnonzero(unit >= 0).tolist()) for unit in units) for units in labels)
