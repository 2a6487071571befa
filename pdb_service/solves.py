"""/v1/moves and /v1/solve: the routes, the searches that answer them, and their progress as server-sent events."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response, StreamingResponse

from pdb_core.puzzle import BLANK, Board, is_solvable
from pdb_service.answers import MoveAnswer, MovesAnswer, SolveAnswer, SolveProgress, Threshold
from pdb_service.lookups import about_board, maxima
from pdb_service.middleware import CLIENT_GONE
from pdb_service.problems import problem_responses, reported_problem
from pdb_service.requests import SearchQuery, SolveBody
from pdb_service.searches import Question, Report, Searches, Solvers
from pdb_service.service import Service
from solver import Iteration, Limits, Solution

_EVENTS, _JSON = "text/event-stream", "application/json"
# nginx then does not buffer the events.
_EVENT_HEADERS = {"X-Accel-Buffering": "no"}
# The default time limit of /v1/moves.
_HINT_S = 1.0
# Seconds between two events.
_EVENT_S = 0.2
_SOLVE_BODY = {"required": True, "content": {_JSON: {"schema": SolveBody.model_json_schema()}}}
_SOLVE_ROUTE: dict[str, Any] = {
    "response_model": SolveAnswer,
    "responses": {
        200: {"content": {_EVENTS: {"schema": {"type": "string"}}}},
        **problem_responses(400, 403, 404, 413, 422, 503),
    },
}


def solve_routes(service: Service) -> APIRouter:
    """Return the routes that search."""
    router = APIRouter(prefix="/v1", tags=["solve"])
    most_s = service.settings.solve_s

    @router.get("/moves", response_model=MovesAnswer, responses=problem_responses(403, 404, 422, 503))
    async def moves(request: Request, query: Annotated[SearchQuery, Query()]) -> Response:
        """List every legal move, best first: by the exact distance after it if found in time, else by h."""
        tiles, served = service.databases.place(query.board, query.goal, query.db)
        seconds = min(most_s, _HINT_S if query.seconds is None else query.seconds)
        return await _answer(request, service.searches, ListMoves(tiles, served, seconds, query.nodes))

    async def solve(request: Request, given: SearchQuery | SolveBody) -> Response:
        tiles, served = service.databases.place(given.board, given.goal, given.db)
        seconds = most_s if given.seconds is None else min(most_s, given.seconds)
        question = Solve(tiles, served, seconds, given.nodes)
        if _EVENTS not in request.headers.get("accept", ""):
            return await _answer(request, service.searches, question)
        service.searches.check_open(question)  # a refusal needs the status, which events come after
        events = _events(question, service.searches, request.state.request_id)
        return StreamingResponse(events, media_type=_EVENTS, headers=_EVENT_HEADERS)

    @router.get("/solve", **_SOLVE_ROUTE)
    async def solve_from_query(request: Request, query: Annotated[SearchQuery, Query()]) -> Response:
        """Find an optimal solution; with `Accept: text/event-stream`, report progress too."""
        return await solve(request, query)

    @router.post("/solve", openapi_extra={"requestBody": _SOLVE_BODY}, **_SOLVE_ROUTE)
    async def solve_from_body(request: Request) -> Response:
        """Find an optimal solution, as GET with the parameters in JSON."""
        try:
            given = SolveBody.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError([{**at, "loc": ("body", *at["loc"])} for at in error.errors()]) from None
        return await solve(request, given)

    return router


async def _answer(request: Request, searches: Searches, question: Question) -> Response:
    """Return the answer; an empty response if the client leaves first."""
    with searches.join(question) as search:
        # A single task: each new `receive` would let the server read more requests that are sent behind this one.
        leaving = asyncio.create_task(_wait_until_left(request))
        try:
            ends: set[asyncio.Future[Any]] = {leaving, search.found}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not leaving.done():
                return Response(search.found.result()[0], media_type=_JSON)
            leaving.result()
            return Response(status_code=CLIENT_GONE)
        finally:
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)


async def _wait_until_left(request: Request) -> None:
    """Wait until the client leaves. Raises as `middleware.Gate` if the body is too large or too slow."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _events(question: Question, searches: Searches, request_id: str) -> AsyncIterator[bytes]:
    """Yield progress several times a second, then the answer or the problem. Closing the iterator leaves the search."""
    try:
        with searches.join(question) as search:
            # Events also while the search waits: only writing shows that a client has left.
            while not (await asyncio.wait({search.found}, timeout=_EVENT_S))[0]:
                progress = search.progress()
                if progress is None:
                    yield _event("queued", SolveProgress(ahead=search.n_ahead).to_json())
                else:
                    yield _event("progress", progress.to_json())
            yield _event("result", search.found.result()[0])
    except Exception as error:
        # The status was sent before: only an event can describe the error.
        yield _event("problem", reported_problem(error, request_id).to_json())


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


@dataclass(frozen=True)
class Solve(Question):
    """Task of a solve. Its answer is a `SolveAnswer`."""

    @property
    def needs_search(self) -> bool:
        """Return whether the board can be solved."""
        return is_solvable(self.board, self.served.goal, self.served.size)

    def find(self, solvers: Solvers, report: Report) -> tuple[SolveAnswer, bool]:
        """Return as `Question.find`."""
        about = about_board(self.board, self.served)
        if not about["solvable"]:
            return SolveAnswer(
                **about, length=None, moves=None, optimal=False, h=None, lower_bound=None,
                generated=0, expanded=0, seconds=0.0, thresholds=(),
            ), True  # fmt: skip
        limits = Limits(self.seconds, self.nodes)
        solution = solvers.solve(self.served.database, self.board, self.served.goal, limits, report)
        return SolveAnswer(
            **about,
            length=solution.length,
            moves=solution.tiles,
            optimal=solution.is_optimal,
            h=solution.h,
            lower_bound=solution.lower_bound,
            generated=solution.generated,
            expanded=solution.expanded,
            seconds=round(solution.seconds, 6),
            thresholds=tuple(Threshold(**{**vars(at), "seconds": round(at.seconds, 6)}) for at in solution.iterations),
        ), solution.is_optimal


class _TooFarError(Exception):
    """A search has passed the largest distance of interest."""


@dataclass(frozen=True)
class ListMoves(Question):
    """Task of a list of moves. Its answer is a `MovesAnswer`."""

    @property
    def needs_search(self) -> bool:
        """Return whether distances have to be found, and there is time for that."""
        goal = self.served.goal
        return self.seconds > 0 and self.board != goal and is_solvable(self.board, goal, self.served.size)

    def find(self, solvers: Solvers, report: Report) -> tuple[MovesAnswer, bool]:
        """Return as `Question.find`."""
        about = about_board(self.board, self.served)
        children = [self.board.move(tile) for tile in self.board.moves()]
        h: int | None = None
        h_of, distance, distances = dict[Board, int](), None, dict[Board, int]()
        if about["solvable"]:
            h, *child_h = maxima([self.board, *children], self.served)
            h_of = dict(zip(children, child_h, strict=True))
            children.sort(key=h_of.__getitem__)
        if self.board == self.served.goal:
            distance, distances = 0, dict.fromkeys(children, 1)
        elif self.needs_search:
            distance, distances = self._distances(children, solvers, report)
        if distance is not None:
            # A child whose distance was not found is between those one nearer and those one farther.
            children.sort(key=lambda child: (distances.get(child, distance), h_of[child]))
        moves = tuple(_move(self.board, child, h_of.get(child), distances.get(child)) for child in children)
        is_complete = len(distances) == len(children)
        return MovesAnswer(**about, h=h, distance=distance, moves=moves), is_complete

    def _distances(
        self, children: Sequence[Board], solvers: Solvers, report: Report
    ) -> tuple[int | None, dict[Board, int]]:
        """Return the distance of the board and those of its children, as far as they are found within the limits.

        A child is one move nearer or one farther, by parity. So its search may stop after the nearer distance.
        """
        deadline = time.monotonic() + self.seconds
        nodes_left = self.nodes

        def solve(board: Board, longest: int | None) -> Solution | None:
            """Return the solution, without a length if a limit was reached; None if it is longer than `longest`."""
            nonlocal nodes_left

            def check(progress: Iteration) -> None:
                report(progress)
                if longest is not None and progress.threshold > longest:
                    raise _TooFarError

            limits = Limits(max(0.0, deadline - time.monotonic()), nodes_left)
            try:
                solution = solvers.solve(self.served.database, board, self.served.goal, limits, check)
            except _TooFarError:
                return None
            if nodes_left is not None:
                nodes_left = max(1, nodes_left - solution.generated)
            return solution

        root = solve(self.board, None)
        if root is None or root.length is None or not root.tiles:
            return None, {}
        distances: dict[Board, int] = {}
        for child in children:
            if self.board[child.index(BLANK)] == root.tiles[0]:
                distances[child] = root.length - 1
                continue
            solution = solve(child, root.length - 1)
            if solution is None:
                distances[child] = root.length + 1
            elif solution.length is not None:
                distances[child] = solution.length
        return root.length, distances


def _move(board: Board, child: Board, h: int | None, distance: int | None) -> MoveAnswer:
    cell, blank = child.index(BLANK), board.index(BLANK)
    return MoveAnswer(tile=board[cell], cell=cell, blank=blank, board=child, h=h, distance=distance)
