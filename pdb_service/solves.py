"""/v1/moves and /v1/solve: the routes, and the progress of a search as server-sent events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from pdb_service.answers import MovesAnswer, SolveAnswer
from pdb_service.middleware import CLIENT_GONE
from pdb_service.problems import problem_responses, reported_problem
from pdb_service.questions import ListMoves, Solve
from pdb_service.requests import SearchQuery, SolveBody, read_body
from pdb_service.searches import Question, Searches
from pdb_service.service import Service

_EVENTS, _JSON = "text/event-stream", "application/json"
# nginx then does not buffer the events.
_EVENT_HEADERS = {"X-Accel-Buffering": "no"}
# The default time limit of /v1/moves.
_HINT_S = 1.0
# Seconds between two events, and between two checks whether the client has left.
_EVENT_S = 0.2
_SOLVE_BODY = {"required": True, "content": {_JSON: {"schema": SolveBody.model_json_schema()}}}
_SOLVE_ROUTE: Mapping[str, Any] = {
    "response_model": SolveAnswer,
    "responses": {
        200: {"content": {_EVENTS: {"schema": {"type": "string"}}}},
        **problem_responses(400, 404, 413, 422, 503),
    },
}


def solve_routes(service: Service) -> APIRouter:
    """Return the routes that search."""
    router = APIRouter(prefix="/v1", tags=["solve"])
    most_s = service.settings.solve_s

    @router.get("/moves", response_model=MovesAnswer, responses=problem_responses(404, 422, 503))
    async def moves(request: Request, query: Annotated[SearchQuery, Query()]) -> Response:
        """List every legal move, best first: by the exact distance after it if found in time, else by h."""
        tiles, served = service.databases.place(query.board, query.goal, query.db)
        seconds = min(most_s, _HINT_S if query.seconds is None else query.seconds)
        return await _answer(request, service.searches, ListMoves(tiles, served, seconds, query.nodes))

    async def solve(request: Request, given: SearchQuery | SolveBody) -> Response:
        tiles, served = service.databases.place(given.board, given.goal, given.db)
        question = Solve(tiles, served, most_s if given.seconds is None else min(most_s, given.seconds), given.nodes)
        if _EVENTS not in request.headers.get("accept", ""):
            return await _answer(request, service.searches, question)
        service.searches.check_open(question)  # a refusal needs the status, which events come after
        stream = _stream(_events(question, service.searches), request.state.request_id)
        return StreamingResponse(stream, media_type=_EVENTS, headers=_EVENT_HEADERS)

    @router.get("/solve", **_SOLVE_ROUTE)
    async def solve_from_query(request: Request, query: Annotated[SearchQuery, Query()]) -> Response:
        """Find an optimal solution; with `Accept: text/event-stream`, report progress too."""
        return await solve(request, query)

    @router.post("/solve", openapi_extra={"requestBody": _SOLVE_BODY}, **_SOLVE_ROUTE)
    async def solve_from_body(request: Request) -> Response:
        """Find an optimal solution, as GET with the parameters in JSON."""
        return await solve(request, read_body(SolveBody, await request.body()))

    return router


async def _answer(request: Request, searches: Searches, question: Question) -> Response:
    """Return the answer; an empty response if the client leaves first."""
    async with aclosing(_events(question, searches)) as events:
        async for name, data in events:
            if name == "result":
                return Response(data, media_type=_JSON)
            # Raises as `middleware.Gate` if the request has a body that is too large or too slow.
            if await request.is_disconnected():
                break
    return Response(status_code=CLIENT_GONE)


async def _stream(events: AsyncGenerator[tuple[str, bytes], None], request_id: str) -> AsyncIterator[bytes]:
    """Yield events as text, at last the answer or the problem."""
    try:
        async with aclosing(events):
            async for name, data in events:
                yield _event(name, data)
    except Exception as error:
        # The status was sent before: only an event can describe the error.
        yield _event("problem", orjson.dumps(reported_problem(error, request_id)))


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


async def _events(question: Question, searches: Searches) -> AsyncGenerator[tuple[str, bytes], None]:
    """Yield progress several times a second, then the answer. Closing the iterator leaves the search."""
    known = searches.known(question)
    if known is not None:
        yield "result", known
        return
    with searches.join(question) as search:
        # Events also while the search waits: only writing shows that a client has left.
        while not (await asyncio.wait({search.found}, timeout=_EVENT_S))[0]:
            progress = search.progress()
            if progress is None:
                yield "queued", orjson.dumps({"ahead": search.n_ahead})
            else:
                yield "progress", orjson.dumps(progress)
        yield "result", search.found.result()[0]
