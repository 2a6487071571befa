"""/v1/moves and /v1/solve: the routes, the answer of a solve, and its progress as server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response, StreamingResponse

from pdb_core.puzzle import is_solvable
from pdb_service.answers import MovesAnswer, SolveAnswer
from pdb_service.lookups import board_answer
from pdb_service.middleware import CLIENT_GONE
from pdb_service.moves import ListMoves
from pdb_service.parameters import (
    BoardParameter,
    DatabaseParameter,
    GoalParameter,
    NodesParameter,
    SecondsParameter,
)
from pdb_service.problems import problem_responses, reported_problem
from pdb_service.searches import Question, Report, Searches, Solvers
from pdb_service.served_databases import MAX_CHARACTERS, MAX_NUMBERS, BoardText
from pdb_service.service import Service
from solver import Limits, Solution

_EVENTS, _JSON = "text/event-stream", "application/json"
# nginx then does not buffer the events.
_EVENT_HEADERS = {"X-Accel-Buffering": "no"}
# The default time limit of /v1/moves.
_HINT_S = 1.0
# Seconds between two events, and between two checks whether the client has left.
_EVENT_S = 0.2


class SolveRequest(BaseModel):
    """The body of a solve: the names of the query."""

    model_config = ConfigDict(strict=True)  # true is not a tile, and "1" is not a number

    board: Annotated[str, Field(max_length=MAX_CHARACTERS)] | Annotated[list[int], Field(max_length=MAX_NUMBERS)]
    goal: Annotated[str | None, Field(max_length=MAX_CHARACTERS)] = None
    db: Annotated[str | None, Field(max_length=200)] = None
    seconds: Annotated[float | None, Field(ge=0, le=1e6, allow_inf_nan=False)] = None
    nodes: Annotated[int | None, Field(ge=1, le=10**15)] = None


_SOLVE_BODY = {"required": True, "content": {_JSON: {"schema": SolveRequest.model_json_schema()}}}
_SOLVE_ROUTE: Mapping[str, Any] = {
    "response_model": SolveAnswer,
    "responses": {
        200: {"content": {_EVENTS: {"schema": {"type": "string"}}}},
        **problem_responses(400, 404, 413, 422, 503),
    },
}


@dataclass(frozen=True)
class Solve(Question):
    """Task of a solve. Its answer is a `SolveAnswer`."""

    @property
    def needs_search(self) -> bool:
        """Return whether the board can be solved."""
        return is_solvable(self.board, self.served.goal, self.served.size)

    def find(self, solvers: Solvers, report: Report) -> tuple[dict[str, Any], bool]:
        """Return as `Question.find`."""
        answer = board_answer(self.board, self.served)
        if not answer["solvable"]:
            return {**answer, **_solution_fields(None)}, True
        limits = Limits(self.seconds, self.nodes)
        solution = solvers.solve(self.served.database, self.board, self.served.goal, limits, report)
        return {**answer, **_solution_fields(solution)}, solution.is_optimal


def _solution_fields(solution: Solution | None) -> dict[str, Any]:
    """Return the fields of a `SolveAnswer` for what the solver found; None for a board that cannot be solved."""
    if solution is None:
        unknown = {"length": None, "moves": None, "optimal": False, "h": None, "lower_bound": None}
        return {**unknown, "generated": 0, "expanded": 0, "seconds": 0.0, "thresholds": []}
    return {
        "length": solution.length,
        "moves": solution.tiles,
        "optimal": solution.is_optimal,
        "h": solution.h,
        "lower_bound": solution.lower_bound,
        "generated": solution.generated,
        "expanded": solution.expanded,
        "seconds": round(solution.seconds, 6),
        "thresholds": [
            {
                "threshold": at.threshold,
                "generated": at.generated,
                "expanded": at.expanded,
                "seconds": round(at.seconds, 6),
            }
            for at in solution.iterations
        ],
    }


def solve_routes(service: Service) -> APIRouter:
    """Return the routes that search."""
    router = APIRouter(prefix="/v1", tags=["solve"])
    most_s = service.settings.solve_s

    @router.get("/moves", response_model=MovesAnswer, responses=problem_responses(404, 422, 503))
    async def moves(
        request: Request,
        board: BoardParameter,
        goal: GoalParameter = None,
        database: DatabaseParameter = None,
        seconds: SecondsParameter = None,
        nodes: NodesParameter = None,
    ) -> Response:
        """List every legal move, best first: by the exact distance after it if found in time, else by h."""
        tiles, served = service.databases.place(board, goal, database)
        limit = min(most_s, _HINT_S if seconds is None else seconds)
        return await _answer(request, service.searches, ListMoves(tiles, served, limit, nodes))

    async def solve(
        request: Request, board: BoardText, goal: str | None, database: str | None, seconds: float | None,
        nodes: int | None,
    ) -> Response:  # fmt: skip
        tiles, served = service.databases.place(board, goal, database)
        question = Solve(tiles, served, most_s if seconds is None else min(most_s, seconds), nodes)
        if _EVENTS in request.headers.get("accept", ""):
            service.searches.check_open(question)  # a refusal needs the status, which events come after
            events = _events(question, service.searches, request.state.request_id)
            return StreamingResponse(events, media_type=_EVENTS, headers=_EVENT_HEADERS)
        return await _answer(request, service.searches, question)

    @router.get("/solve", **_SOLVE_ROUTE)
    async def solve_from_query(
        request: Request,
        board: BoardParameter,
        goal: GoalParameter = None,
        database: DatabaseParameter = None,
        seconds: SecondsParameter = None,
        nodes: NodesParameter = None,
    ) -> Response:
        """Find an optimal solution; with `Accept: text/event-stream`, report progress too."""
        return await solve(request, board, goal, database, seconds, nodes)

    @router.post("/solve", openapi_extra={"requestBody": _SOLVE_BODY}, **_SOLVE_ROUTE)
    async def solve_from_body(request: Request) -> Response:
        """Find an optimal solution, as GET with the parameters in JSON."""
        try:
            given = SolveRequest.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in error.errors()]) from None
        return await solve(request, given.board, given.goal, given.db, given.seconds, given.nodes)

    return router


async def _answer(request: Request, searches: Searches, question: Question) -> Response:
    """Return the answer; an empty response if the client leaves first."""
    with searches.join(question) as search:
        while not (await asyncio.wait({search.found}, timeout=_EVENT_S))[0]:
            # Raises as `middleware.Gate` if the request has a body that is too large or too slow.
            if await request.is_disconnected():
                return Response(status_code=CLIENT_GONE)
        return Response(search.found.result().body, media_type=_JSON)


async def _events(question: Question, searches: Searches, request_id: str) -> AsyncIterator[bytes]:
    """Yield progress, then the answer or the problem, as events. Closing the iterator leaves the search."""
    try:
        with searches.join(question) as search:
            # Events also while the search waits: only writing shows that a client has left.
            while not (await asyncio.wait({search.found}, timeout=_EVENT_S))[0]:
                progress = search.progress()
                if progress is not None:
                    yield _event("progress", orjson.dumps(progress))
                else:
                    yield _event("queued", orjson.dumps({"ahead": search.n_ahead}))
            yield _event("result", search.found.result().body)
    except Exception as error:
        # The status was sent before: only an event can describe the error.
        yield _event("problem", orjson.dumps(reported_problem(error, request_id)))


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
