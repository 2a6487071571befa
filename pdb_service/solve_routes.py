"""/v1/moves and /v1/solve: what takes a search, by turns."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response, StreamingResponse

from pdb_service.answers import MovesAnswer, SolveAnswer
from pdb_service.moves import ListMoves
from pdb_service.parameters import (
    BoardParameter,
    DatabaseParameter,
    GoalParameter,
    NodesParameter,
    SecondsParameter,
    problems,
)
from pdb_service.request_limits import CLIENT_GONE
from pdb_service.searches import Question
from pdb_service.served_databases import BoardText
from pdb_service.service import Service
from pdb_service.solves import Solve, solve_events

_EVENTS, _JSON = "text/event-stream", "application/json"
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
        return await _answer(request, service, ListMoves(tiles, served, limit, nodes))

    async def answer(
        request: Request, board: BoardText, goal: str | None, database: str | None, seconds: float | None,
        nodes: int | None,
    ) -> Response:  # fmt: skip
        tiles, served = service.databases.place(board, goal, database)
        question = Solve(tiles, served, most_s if seconds is None else min(most_s, seconds), nodes)
        if _EVENTS in request.headers.get("accept", ""):
            service.searches.check_open(question)  # as a status: an event comes after the status
            events = solve_events(question, service.searches, request.state.request_id)
            return StreamingResponse(events, media_type=_EVENTS, headers=_HEADERS)
        return await _answer(request, service, question)

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


async def _answer(request: Request, service: Service, question: Question) -> Response:
    """Return the answer; an empty response if the client leaves first."""
    with service.searches.join(question) as search:
        if not search.found.done():
            gone = asyncio.ensure_future(_gone(request))
            awaited: set[asyncio.Future[Any]] = {search.found, gone}
            try:
                await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
                # Its error is raised below, unless there is an answer: then it does not matter.
                await asyncio.gather(gone, return_exceptions=True)
            if not search.found.done():
                gone.result()  # raises if it was a body that is too large or too slow
                return Response(status_code=CLIENT_GONE)
        return Response(search.found.result().body, media_type=_JSON)


async def _gone(request: Request) -> None:
    """Wait until the client leaves. Raises as `limits.Gate` if its body is too large or too slow."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
