"""/v1/moves, /v1/solve and /v1/check: routes, searches that answer them, and progress as server-sent events."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, cast

import numpy as np
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from pdb_core.errors import ParameterError
from pdb_core.messages import as_typed
from pdb_core.puzzle import Board
from pdb_core.types import BLANK
from pdb_service.answers import EVENTS, Answer, CheckAnswer, MoveAnswer, MovesAnswer, SolveAnswer, SolveProgress
from pdb_service.middleware import CLIENT_GONE
from pdb_service.openapi import TABLE_STATUSES, ApiRoute, Routes
from pdb_service.requests import HINT_S, CheckBody, SearchQuery, SolveBody, parse_query, read_json, read_query
from pdb_service.responses import AnswerResponse, reported_problem
from pdb_service.searches import Find, Report, SearchPools
from pdb_service.served_databases import Served
from pdb_service.service import Service
from pdb_service.together import Together
from solver import Checkpoint, Iteration, Limits, Solution
from solver.check import check_moves

# nginx then does not buffer the events.
_EVENT_HEADERS = {"X-Accel-Buffering": "no"}
# Searches with a shorter time limit do not wait for searches of easy boards. After this time of a search, it is noticed
# if the client leaves.
_EASY_S = 0.1
# Seconds between two events.
_EVENT_S = 0.2


def solve_routes(service: Service) -> Routes:
    """Return the routes that search."""
    most_s = service.settings.solve_s

    async def solve_easy(served: Served, boards: list[Board]) -> list[Solution | Checkpoint]:
        return await service.pools.run("easy", service.solve_easy, served, boards)

    together = Together(solve_easy, service.settings.n_solves)

    async def moves(request: Request) -> Response:
        """List every legal move, best first: by the exact distance after it if found in time, else first a move of a
        short solution, then by h."""
        query = read_query(SearchQuery, request)
        board, served = service.databases.place(query.board, query)
        seconds = min(most_s, HINT_S if query.time_limit is None else query.time_limit)
        find = partial(_list_moves, service, board, served, Limits(seconds, query.max_nodes))
        if seconds == 0 or board == served.goal or not board.is_solvable(served.goal):
            return AnswerResponse(find())
        return await _answer(request, service.pools.search(find, seconds))

    async def solve(request: Request, given: SearchQuery | SolveBody) -> Response:
        board, served = service.databases.place(given.board, given)
        seconds = most_s if given.time_limit is None else min(most_s, given.time_limit)
        wants_events = EVENTS in request.headers.get("accept", "")
        if not board.is_solvable(served.goal):
            answer = SolveAnswer.of(board, served, None)
            return Response(_event("result", answer), media_type=EVENTS) if wants_events else AnswerResponse(answer)
        pools, limits, checkpoint = service.pools, Limits(seconds, given.max_nodes), Checkpoint()

        def find(report: Report) -> SolveAnswer:
            return SolveAnswer.of(board, served, service.solve(board, served, limits, report, checkpoint))

        async def search() -> Answer:
            nonlocal checkpoint
            if given.max_nodes is None and seconds >= _EASY_S and not pools.is_stopping:
                found = await pools.in_time(pools.queue(seconds), together.ask(board, served))
                if isinstance(found, Solution):
                    return SolveAnswer.of(board, served, found)
                checkpoint = found
            return await pools.search(find, seconds)

        if not wants_events:
            return await _answer(request, search())
        pools.check_open(seconds)  # a refusal needs the status, which events come after
        events = _events(pools, find, seconds, request.scope["request_id"])
        return _EventResponse(events, media_type=EVENTS, headers=_EVENT_HEADERS)

    async def solve_from_query(request: Request) -> Response:
        """Find an optimal solution; with `Accept: text/event-stream`, report progress too."""
        return await solve(request, read_query(SearchQuery, request))

    async def solve_from_body(request: Request) -> Response:
        """Find an optimal solution, as GET with the parameters in JSON."""
        for name, _ in parse_query(request):
            raise ParameterError(f"{as_typed(name)} stands in the query; POST takes it in the body")
        return await solve(request, read_json(SolveBody, await request.body()))

    async def check(request: Request) -> Response:
        """Check a solution: are its moves legal, does it reach the goal, and is it optimal."""
        given = read_json(CheckBody, await request.body())
        board, served = service.databases.place(given.board, given)
        seconds = most_s if given.time_limit is None else min(most_s, given.time_limit)

        def find(report: Report) -> CheckAnswer:
            end = time.monotonic() + seconds

            def solve(start: Board, _: Board) -> Solution:
                return service.solve(start, served, Limits(max(0, end - time.monotonic()), given.max_nodes), report)

            return CheckAnswer.model_validate(check_moves(board, given.moves, served.goal, given.notation, solve))

        return await _answer(request, service.pools.search(find, seconds))

    return {
        "/v1/moves": {"GET": ApiRoute(moves, SearchQuery, None, MovesAnswer, statuses=TABLE_STATUSES)},
        "/v1/check": {"POST": ApiRoute(check, None, CheckBody, CheckAnswer, statuses=TABLE_STATUSES)},
        "/v1/solve": {
            "GET": ApiRoute(solve_from_query, SearchQuery, None, SolveAnswer, [EVENTS], TABLE_STATUSES),
            "POST": ApiRoute(solve_from_body, None, SolveBody, SolveAnswer, [EVENTS], TABLE_STATUSES),
        },
    }


class _EventResponse(StreamingResponse):
    """Response of events that closes their iterator at the end.

    A client that leaves while an event is sent would leave it to the garbage collector, and the search would go on.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(cast(AsyncGenerator[bytes], self.body_iterator)):
            await super().__call__(scope, receive, send)


async def _answer(request: Request, search: Coroutine[Any, Any, Answer]) -> Response:
    """Return the answer of a search; an empty response if the client leaves first, which cancels the search."""
    tasks: list[asyncio.Task[Any]] = [answer := asyncio.create_task(search)]
    try:
        # The answer of an easy board comes before the client can leave.
        if not (await asyncio.wait(tasks, timeout=_EASY_S))[0]:
            # A single task: each new `receive` would let the server read more requests that are sent behind this one.
            tasks.append(leaving := asyncio.create_task(_wait_until_left(request)))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                leaving.result()
                return Response(status_code=CLIENT_GONE)
        return AnswerResponse(answer.result())
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_until_left(request: Request) -> None:
    """Wait until the client leaves. Raises as `middleware.Gate` if the body is too large or too slow."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _events(pools: SearchPools, find: Find, seconds: float, request_id: str) -> AsyncGenerator[bytes]:
    """Yield progress several times a second, then the answer or the problem. Closing the iterator ends the search."""
    try:
        with pools.start(find, seconds) as search:
            # Events also while the search waits: only writing shows that a client has left.
            while not (await asyncio.wait({search.answer}, timeout=_EVENT_S))[0]:
                progress = search.progress()
                if progress is None:
                    yield _event("queued", SolveProgress(ahead=pools.n_ahead(search)))
                else:
                    yield _event("progress", progress)
            yield _event("result", search.answer.result())
    except Exception as error:
        # The status was sent before: only an event can describe the error.
        yield _event("problem", reported_problem(error, request_id))


def _event(name: str, data: Answer) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data.to_json() + b"\n\n"


def _list_moves(
    service: Service, board: Board, served: Served, limits: Limits, report: Report | None = None
) -> MovesAnswer:
    """Return every legal move, best first; without `report`, distances are not searched."""
    children = [board.move(tile) for tile in board.moves()]
    solvable, h_of, distances = board.is_solvable(served.goal), dict[Board, int](), dict[Board, int]()
    if solvable:
        boards = [board, *children]
        found = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
        h_of = dict(zip(boards, found.h.tolist(), strict=True))
    if board == served.goal:
        distances = dict.fromkeys(children, 1) | {board: 0}
    elif report is not None:
        distances = _distances(service, board, children, served, limits, report)
    distance = distances.get(board)
    if solvable:
        # A child whose distance was not found is between those one nearer and those one farther.
        children.sort(key=lambda child: (distances.get(child, distance or 0), h_of[child]))
        if distance is None and report is not None:
            # By h, one hint after another may lead to and fro.
            first = service.first_tile(board, served, report)
            children.sort(key=lambda child: board[child.index(BLANK)] != first)
    moves = tuple(MoveAnswer.of(board, child, h_of.get(child), distances.get(child)) for child in children)
    about = MovesAnswer.about(board, served, solvable=solvable)
    return MovesAnswer(**about, h=h_of.get(board), distance=distance, moves=moves)


class _TooFarError(Exception):
    """A search has passed the largest distance of interest."""


def _distances(
    service: Service, board: Board, children: Sequence[Board], served: Served, limits: Limits, report: Report
) -> dict[Board, int]:
    """Return the distances of a board and of its children, as far as they are found within the limits.

    A child is one move nearer or one farther, by parity. So its search may stop after the nearer distance.
    """
    assert limits.time_limit is not None
    deadline = time.monotonic() + limits.time_limit
    nodes_left = limits.max_nodes

    def solve(start: Board, longest: float) -> Solution | None:
        """Return the solution, without a length if a limit was reached; None if it is longer than `longest`."""
        nonlocal nodes_left

        def check(progress: Iteration) -> None:
            report(progress)
            if progress.threshold > longest:
                raise _TooFarError

        left = Limits(max(0.0, deadline - time.monotonic()), nodes_left)
        try:
            solution = service.solve(start, served, left, check)
        except _TooFarError:
            return None
        if nodes_left is not None:
            nodes_left = max(1, nodes_left - solution.generated)
        return solution

    root = solve(board, math.inf)
    if root is None or not root.moves:
        return {}
    distance = len(root.moves)
    distances = {board: distance}
    for child in children:
        if board[child.index(BLANK)] == root.moves[0]:
            distances[child] = distance - 1
        elif (solution := solve(child, distance - 1)) is None:
            distances[child] = distance + 1
        elif solution.length is not None:
            distances[child] = solution.length
    return distances
