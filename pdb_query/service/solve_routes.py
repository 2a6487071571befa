"""/v1/moves and /v1/solve: what takes a search, by turns."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response, StreamingResponse

from pdb_query.service.answers import MovesAnswer, SolveAnswer
from pdb_query.service.moves import list_moves
from pdb_query.service.parameters import (
    BoardParameter,
    DatabaseParameter,
    GoalParameter,
    NodesParameter,
    SecondsParameter,
    problems,
)
from pdb_query.service.served_databases import BoardText
from pdb_query.service.service import Service
from pdb_query.service.solve_queue import GivenUpError, Job
from pdb_query.service.solves import solve, solve_events

_EVENTS = "text/event-stream"
_HINT_S = 1.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class SolveRequest(BaseModel):
    """The body of a solve: the names of the query."""

    model_config = ConfigDict(strict=True)  # true is no tile, and "1" no number

    board: Annotated[str, Field(max_length=400)] | Annotated[list[int], Field(max_length=36)]
    goal: Annotated[str | None, Field(max_length=400)] = None
    db: Annotated[str | None, Field(max_length=200)] = None
    seconds: Annotated[float | None, Field(ge=0, le=1e6, allow_inf_nan=False)] = None
    nodes: Annotated[int | None, Field(ge=1, le=10**15)] = None


def solve_routes(service: Service) -> APIRouter:
    """The routes of searches."""
    router = APIRouter(prefix="/v1", tags=["solve"])
    most_s = service.settings.solve_s

    @router.get("/moves", response_model=MovesAnswer, responses=problems(404, 422, 503))
    async def moves(
        request: Request,
        board: BoardParameter,
        goal: GoalParameter = None,
        database: DatabaseParameter = None,
        seconds: SecondsParameter = None,
        nodes: NodesParameter = None,
    ) -> Response:
        """Every legal move, best first: by the exact distance after it where that is found in time, else by h."""
        tiles, served = service.databases.place(board, goal, database)
        limit = min(most_s, _HINT_S if seconds is None else seconds)
        find = partial(list_moves, tiles, served, service.solving, seconds=limit, nodes=nodes)
        if limit == 0:
            return Response(orjson.dumps(find(report=lambda _: None)), media_type="application/json")
        return await _in_turn(request, service, lambda job: find(report=job.report))

    async def answer(
        request: Request, board: BoardText, goal: str | None, database: str | None, seconds: float | None,
        nodes: int | None,
    ) -> Response:  # fmt: skip
        tiles, served = service.databases.place(board, goal, database)
        limit = most_s if seconds is None else min(most_s, seconds)
        if _EVENTS in request.headers.get("accept", ""):
            service.queue.check_open()
            events = solve_events(tiles, served, service.solving, service.queue, seconds=limit, nodes=nodes)
            return StreamingResponse(events, media_type=_EVENTS, headers=_HEADERS)

        return await _in_turn(
            request,
            service,
            lambda job: solve(tiles, served, service.solving, job, seconds=limit, nodes=nodes),
        )

    described: Mapping[str, Any] = {
        "response_model": SolveAnswer,
        "responses": {
            200: {"content": {_EVENTS: {"schema": {"type": "string"}}}},
            **problems(400, 404, 413, 422, 503),
        },
    }

    @router.get("/solve", **described)
    async def solve_from_query(
        request: Request,
        board: BoardParameter,
        goal: GoalParameter = None,
        database: DatabaseParameter = None,
        seconds: SecondsParameter = None,
        nodes: NodesParameter = None,
    ) -> Response:
        """A shortest solution; with `Accept: text/event-stream`, progress too."""
        return await answer(request, board, goal, database, seconds, nodes)

    @router.post(
        "/solve",
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": SolveRequest.model_json_schema()}},
            }
        },
        **described,
    )
    async def solve_from_body(request: Request) -> Response:
        """The same, asked for in JSON."""
        try:
            wanted = SolveRequest.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in error.errors()]) from None
        return await answer(request, wanted.board, wanted.goal, wanted.db, wanted.seconds, wanted.nodes)

    return router


async def _in_turn(request: Request, service: Service, work: Callable[[Job], dict[str, Any]]) -> Response:
    """Do `work` when it is its turn, and give it up where the client goes away."""

    async def whole() -> dict[str, Any]:
        async with service.queue.turn() as job:
            return await service.queue.run(job, partial(work, job))

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    tasks = asyncio.ensure_future(whole()), asyncio.ensure_future(gone())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            tasks[1].result()  # raises where it was a body that is too large or too slow
            raise GivenUpError
        return Response(orjson.dumps(tasks[0].result()), media_type="application/json")
    except GivenUpError:
        return Response(status_code=499)  # nobody reads it
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
