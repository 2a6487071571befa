"""/v1/lookup: one board, or a batch."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response

from pdb_core.errors import MediaTypeError
from pdb_service.answers import BatchAnswer, LookupAnswer
from pdb_service.batches import BINARY, JSON, NDJSON, Batches, Wanted
from pdb_service.lookups import look_up
from pdb_service.parameters import BoardParameter, DatabaseParameter, GoalParameter, SizeParameter, problems
from pdb_service.service import Service

_BATCHES_AT_ONCE = 2
_BATCH_BODY = {
    "required": True,
    "content": {
        JSON: {
            "schema": {
                "type": "object",
                "required": ["boards"],
                "properties": {
                    "boards": {
                        "type": "array",
                        "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
                    },
                    "goal": {"type": ["string", "null"]},
                    "db": {"type": ["string", "null"]},
                    "size": {"type": ["string", "null"]},
                },
            },
            "example": {"boards": ["1 2 3/4 5 6/7 8 0", [1, 2, 3, 4, 5, 6, 0, 7, 8]]},
        },
        NDJSON: {"schema": {"type": "string"}, "example": "[1,2,3,4,5,6,7,8,0]\n[1,2,3,4,5,6,7,0,8]\n"},
        BINARY: {"schema": {"type": "string", "format": "binary"}},
    },
}


def lookup_routes(service: Service) -> APIRouter:
    """The routes of lookups."""
    router = APIRouter(prefix="/v1", tags=["lookup"])
    batches = Batches(service.databases, service.settings.max_boards)
    # Threads of their own: each has its own pool of memory, of the size of the largest batch it has read.
    threads = ThreadPoolExecutor(_BATCHES_AT_ONCE, thread_name_prefix="batch")
    batches_at_once = asyncio.Semaphore(_BATCHES_AT_ONCE)

    @router.get("/lookup", response_model=LookupAnswer, responses=problems(404, 422))
    async def lookup(board: BoardParameter, goal: GoalParameter = None, database: DatabaseParameter = None) -> Response:
        """What the tables say of one board: a lower bound on the length of its solutions, and each pattern's part."""
        tiles, served = service.databases.place(board, goal, database)
        service.metrics.boards.inc()
        return Response(orjson.dumps(look_up(tiles, served)), media_type=JSON)

    @router.post(
        "/lookup",
        response_model=BatchAnswer,
        responses={
            200: {"content": {NDJSON: {"schema": {"type": "string"}}, BINARY: {"schema": {"type": "string"}}}},
            **problems(400, 404, 413, 415, 422, 503),
        },
        openapi_extra={"requestBody": _BATCH_BODY},
    )
    async def lookup_batch(
        request: Request,
        goal: GoalParameter = None,
        database: DatabaseParameter = None,
        size: SizeParameter = None,
    ) -> Response:
        """What the tables say of many boards, in the order of the boards, in the form in which they came."""
        media_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if media_type not in (JSON, NDJSON, BINARY):
            raise MediaTypeError(f"a batch is {JSON}, {NDJSON} or {BINARY}; name which in Content-Type")
        body = await request.body()
        answer = partial(batches.answer, media_type, body, Wanted(goal, database, size))
        async with batches_at_once:
            service.room.check()
            content, n_boards = await asyncio.get_running_loop().run_in_executor(threads, answer)
        service.metrics.boards.inc(n_boards)
        return Response(content, media_type=media_type)

    return router
