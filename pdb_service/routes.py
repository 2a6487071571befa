"""The function of each route, and the table of all routes. Answers are written as `answers` describes them.

An endpoint gets the shared state, the request and what was read with the model of its query or of its body in JSON,
or None. It returns a response, or the fields of an answer in JSON.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from functools import cache, partial
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from prometheus_client import generate_latest
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response, StreamingResponse

from pdb_core.board_size import parse_size
from pdb_core.errors import (
    PROBLEM_TYPE,
    BoardError,
    InstanceError,
    PdbError,
    RequestError,
    RequestTooLargeError,
)
from pdb_core.messages import did_you_mean, shorten
from pdb_core.moves import opposite
from pdb_core.puzzle import Board, parse_goal, random_boards
from pdb_query.board_rows import rows_of_boards
from pdb_query.instances import instance_sets, read_instances
from pdb_query.probes import BatchProbe
from pdb_service.answers import (
    BINARY,
    JSON,
    BatchAnswer,
    DatabasesAnswer,
    Instances,
    InstanceSets,
    LookupAnswer,
    MovesAnswer,
    RandomAnswer,
    SolveAnswer,
)
from pdb_service.databases import Served
from pdb_service.hints import Report, draw_board, list_moves
from pdb_service.requests import (
    BatchBody,
    BatchQuery,
    BoardQuery,
    CheckBody,
    Names,
    RandomQuery,
    SearchQuery,
    SolveBody,
    read_json,
)
from pdb_service.searches import Search, Searches
from solver.check import SolutionCheck, check_moves
from solver.engine.checkpoint import Checkpoint
from solver.progress import Limits
from solver.solution import Solution

_MAX_INSTANCES = 1000  # of a set, in an answer
_PLAIN, _EVENTS = "text/plain", "text/event-stream"
PAGE = Path(__file__).parent / "page"
CLIENT_GONE = 499  # in the metrics: the client has closed the connection
# nginx then does not buffer the events.
_EVENT_HEADERS = {"X-Accel-Buffering": "no"}
# The default time limit of /v1/moves.
_HINT_S = 1.0
# Searches with a shorter time limit do not wait for searches of easy boards. After this time of a search, it is noticed
# if the client leaves.
_EASY_S = 0.1
# Seconds between two events.
_EVENT_S = 0.2
_log = logging.getLogger("tile_pdb.service")

Fields = Mapping[str, Any]


def problem(error: Exception) -> dict[str, Any]:
    """Return the `Problem` of an error. Log the server's own faults with their traceback."""
    kind, status, detail = "about:blank", 500, str(error)
    if isinstance(error, HTTPException):
        status, detail = error.status_code, f"{error.detail}; /openapi.json lists all routes"
    elif isinstance(error, PdbError):
        kind, status = f"{PROBLEM_TYPE}{type(error).__name__}", error.http_status
    if status == 500:  # its message may name files of this machine: it goes only into the log
        _log.error("a request failed", exc_info=error)
        detail = "the server failed to answer; see its log"
    return {"type": kind, "title": HTTPStatus(status).phrase, "status": status, "detail": detail}


async def read_body(service: Searches, request: Request) -> bytearray:
    """Return the body of a request. Raises `RequestTooLargeError`, and `RequestError` if it is too slow."""
    settings, body = service.settings, bytearray()
    n_bytes = int(request.headers.get("content-length", 0))
    try:
        async with asyncio.timeout(settings.request_s):
            async for part in request.stream():
                body += part
                if max(n_bytes, len(body)) > settings.max_body_bytes:
                    raise RequestTooLargeError(
                        f"the body has more than the {settings.max_body_bytes:,} bytes allowed here; send less"
                    )
    except ClientDisconnect:  # the server does not say why
        raise RequestError("the body of the request is incomplete or malformed") from None
    except TimeoutError:
        raise RequestError(f"the body took more than {settings.request_s:.0f} seconds; send smaller ones") from None
    return body


# Lookups


async def lookup(service: Searches, _: Request, query: BoardQuery) -> Fields:
    """Look up one board: the lower bound on the length of its solutions, and each pattern's distance."""
    board, served = service.databases.place(query.board, query)
    found = await service.lookups.ask(board, served)
    about = served.about(board, solvable=found is not None)
    if found is None:
        return about | {"h": None, "sums": ()}
    sums = [
        {"h": h, "values": [found.values[row][place] for place in places], "patterns": patterns}
        for h, (row, places, patterns) in zip(found.sums, served.sums, strict=True)
    ]
    return about | {"h": found.h, "sums": sums}


async def lookup_batch(service: Searches, request: Request, query: BatchQuery) -> Response:
    """Look up many boards, in JSON or as bytes. The answers have the order and the media type of the boards."""
    is_binary = request.headers.get("content-type", "").partition(";")[0].strip().lower() == BINARY
    look_up = _look_up_bytes if is_binary else _look_up_json
    body = await read_body(service, request)
    content = await asyncio.get_running_loop().run_in_executor(service.batches, look_up, service, body, query)
    return Response(content, media_type=BINARY if is_binary else JSON)


def _look_up_json(service: Searches, body: bytearray, query: BatchQuery) -> bytes:
    """Return the `BatchAnswer` for a `BatchBody`."""
    given = read_json(BatchBody, body)
    named = query.model_copy(update=given.model_dump(exclude={"boards"}, exclude_none=True))
    if named.db is None and named.size is None and given.boards:
        served = service.databases.place(given.boards[0], named)[1]
    else:
        served = _served(service, named)
    try:
        found = _probe(service, served, given.boards)
    except BoardError:  # lists of other lengths, or texts among them
        found = _probe(service, served, rows_of_boards(given.boards, served.size, strict=False))
    invalid = {"error": problem(BoardError(f"not a {served.size} board; GET /v1/lookup says what is wrong with it"))}
    answers = [
        {"h": h, "sums": sums} if h >= 0 else {"h": None, "solvable": False} if h == -1 else invalid
        for h, sums in zip(found.h.tolist(), found.sums.tolist(), strict=True)
    ]
    return to_json({"db": served.id, "size": str(served.size), "goal": served.goal, "answers": answers})


def _look_up_bytes(service: Searches, body: bytearray, query: BatchQuery) -> bytes:
    """Return int16[m], little endian, for uint8[m, n_cells]: h, -1 if unsolvable, -2 if invalid."""
    served = _served(service, query)
    n_cells = served.size.n_cells
    if len(body) % n_cells != 0:
        raise RequestError(f"{len(body)} bytes are not a multiple of {n_cells}, the bytes of a {served.size} board")
    rows = np.frombuffer(body, dtype=np.uint8).reshape(-1, n_cells)
    return _probe(service, served, rows).h.astype("<i2").tobytes()


def _served(service: Searches, query: BatchQuery | RandomQuery) -> Served:
    """Return the database for the size or the database that a query names."""
    if query.db is None and query.size is None:
        raise RequestError("the size of the boards is not known; name it with size, or name a database with db")
    return service.databases.choose(query.size and parse_size(query.size), query.goal, query.db)


def _probe(service: Searches, served: Served, boards: Any) -> BatchProbe:
    """Look up the boards of a batch. Raises `RequestTooLargeError`, and `BoardError` for mixed lists."""
    max_boards = service.settings.max_boards
    if len(boards) > max_boards:
        raise RequestTooLargeError(f"a batch has more than the {max_boards:,} boards allowed; send several")
    return served.database.probe_batch(boards, served.goal, strict=False)


# Searches


async def moves(service: Searches, request: Request, query: SearchQuery) -> Response | Fields:
    """List every legal move, best first: by the exact distance after it if found in time, else first a move of a
    short solution, then by h."""
    board, served = service.databases.place(query.board, query)
    limits = service.limits(query, _HINT_S)
    # A hint that has waited for its time in the queue is given without a search, so that the queue soon ends.
    end = time.monotonic() + (limits.time_limit or 0)
    find = partial(list_moves, board, served, end, limits.max_nodes, service.solver(served.database))
    if limits.time_limit == 0 or not board.is_solvable(served.goal):
        return find()
    return await _answer(request, service.begin(find, limits).answer)


async def solve(service: Searches, request: Request, given: SearchQuery | SolveBody) -> Response | Fields:
    """Find an optimal solution; with `Accept: text/event-stream`, report progress too."""
    board, served = service.databases.place(given.board, given)
    limits, solver = service.limits(given), service.solver(served.database)

    def answer(solution: Solution | None) -> dict[str, Any]:
        found: dict[str, Any] = {name: None for name in SolveAnswer.model_fields if name != "why"}
        found |= {"optimal": False, "generated": 0, "expanded": 0, "seconds": 0.0, "thresholds": ()}
        if solution is not None:
            blank = solution.directions()
            found |= {name: value for name, value in vars(solution).items() if name in found}
            found |= {"blank_directions": blank, "tile_directions": blank and opposite(blank)}
        return found | served.about(board, solvable=solution is not None)

    def find(report: Report, checkpoint: Checkpoint | None = None) -> dict[str, Any]:
        return answer(solver.solve(board, served.goal, limits=limits, report=report, checkpoint=checkpoint))

    wants_events = _EVENTS in request.headers.get("accept", "")
    if not board.is_solvable(served.goal):
        return Response(_event("result", answer(None)), media_type=_EVENTS) if wants_events else answer(None)
    if wants_events:
        events = _events(service, service.begin(find, limits))
        return StreamingResponse(events, media_type=_EVENTS, headers=_EVENT_HEADERS)
    checkpoint = None
    if given.max_nodes is None and (limits.time_limit or 0) >= _EASY_S:
        service.check_not_stopping()
        found = await service.in_time(service.easy_solves.ask(board, served))
        if isinstance(found, Solution):
            return answer(found)
        checkpoint = found
    return await _answer(request, service.begin(partial(find, checkpoint=checkpoint), limits).answer)


async def random(service: Searches, request: Request, query: RandomQuery) -> Response | Fields:
    """Draw a random board that can be solved, perhaps at an exact distance from the goal."""
    served = _served(service, query)
    about = {"db": served.id, "size": str(served.size), "goal": served.goal, "distance": query.distance}
    seed = secrets.randbits(32) if query.seed is None else query.seed
    if query.distance is None:
        return about | {"board": random_boards(served.size, served.goal, 1, seed)[0].tolist()}
    limits = service.limits(query, service.settings.short_s)
    draw = partial(draw_board, query.distance, served, limits, service.solver(served.database), seed)
    return await _answer(request, service.begin(lambda report: about | {"board": draw(report)}, limits).answer)


async def check(service: Searches, request: Request, given: CheckBody) -> Response | Fields:
    """Check a solution: are its moves legal, does it reach the goal, and is it optimal."""
    board, served = service.databases.place(given.board, given)
    limits, solver = service.limits(given), service.solver(served.database)

    def find(report: Report) -> SolutionCheck:
        end = time.monotonic() + (limits.time_limit or 0)

        def solve(start: Board, _: Board) -> Solution:
            left = Limits(max(0, end - time.monotonic()), limits.max_nodes)
            return solver.solve(start, served.goal, limits=left, report=report)

        return check_moves(board, given.moves, served.goal, given.notation, solve)

    return await _answer(request, service.begin(find, limits).answer)


async def _answer(request: Request, answer: asyncio.Task[Fields]) -> Response | Fields:
    """Return the answer of a search; an empty response if the client leaves first, which cancels the search."""
    tasks: list[asyncio.Task[Any]] = [answer]
    try:
        # The answer of an easy board comes before the client can leave.
        if not (await asyncio.wait(tasks, timeout=_EASY_S))[0]:
            # A single task: each new `receive` would let the server read more requests that are sent behind this one.
            tasks.append(asyncio.create_task(_wait_until_left(request)))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else Response(status_code=CLIENT_GONE)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _events(service: Searches, search: Search) -> AsyncGenerator[bytes]:
    """Yield progress several times a second, then the answer or the problem."""
    try:
        # Events also while the search waits: only writing shows that a client has left.
        while not (await asyncio.wait({search.answer}, timeout=_EVENT_S))[0]:
            progress = search.progress()
            if progress is None:
                yield _event("queued", {"ahead": service.n_ahead(search)})
            else:
                yield _event("progress", progress)
        yield _event("result", search.answer.result())
    except Exception as error:
        # The status was sent before: only an event can describe the error.
        yield _event("problem", problem(error))
    finally:
        search.answer.cancel()


def _event(name: str, data: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + to_json(data) + b"\n\n"


# The service itself


async def databases(service: Searches, *_: object) -> Fields:
    """List the databases, in the order in which the service looks for one that serves a board."""
    goals: dict[str, Board] = {}
    infos = []
    for name, database in service.databases.by_id.items():
        goals.setdefault(str(database.size), service.databases.default_goal(database))
        header = database.header
        infos.append({
            "id": name,
            "partition": header.spec.partition.name,
            "size": str(database.size),
            "goal": database.goal,
            "encoding": database.encoding,
            "cost": database.cost,
            "patterns": [
                {"tiles": at.pattern.tiles, "n_entries": sum(at.histogram), "max": at.maximum} for at in header.patterns
            ],
            "n_bytes": sum(at.n_bytes for at in header.tables.values()),
        })  # fmt: skip
    settings = service.settings
    limits = {
        "solve_seconds_limit": settings.solve_s,
        "short_seconds_limit": settings.short_s,
        "wait_seconds_limit": settings.wait_s,
        "body_bytes_limit": settings.max_body_bytes,
        "batch_boards_limit": settings.max_boards,
    }
    return {"databases": infos, "default_goals": goals, "limits": limits}


async def sets(*_: object) -> Fields:
    """List the instance sets: boards that are used to compare solvers."""
    return {"sets": [{"name": name, "n_boards": len(_instances(name))} for name in instance_sets()]}


async def instances(_: Searches, request: Request, _given: None) -> Fields:
    """List the boards of an instance set, at most 1,000."""
    name = request.path_params["name"]
    return {"name": name, "instances": _instances(name)}


@cache
def _instances(name: str) -> list[dict[str, Any]]:
    names = instance_sets()
    if name not in names:
        raise InstanceError(
            f"there is no instance set {shorten(name, 40)!r}; /v1/instances lists them{did_you_mean(name, names)}"
        )
    return [
        {
            "id": at.id, "size": str(at.size), "board": at.board, "goal": parse_goal(at.goal or "blank-last", at.size),
            "optimal_length": at.optimal_length,
        }
        for at in islice(read_instances(name), _MAX_INSTANCES)
    ]  # fmt: skip


async def ready(*_: object) -> Response:
    """Answer when tables and kernels are loaded."""
    return PlainTextResponse("ready\n")


async def metrics(service: Searches, *_: object) -> Response:
    """Return the metrics for Prometheus."""
    return Response(generate_latest(service.metrics.registry), media_type="text/plain; version=0.0.4")


async def board(_: Searches, _request: Request, query: BoardQuery) -> Fields:
    """Read a board that is typed on the page."""
    found = Board(query.board)
    return {"board": found, "size": str(found.size)}


async def page(*_: object) -> Response:
    """Return the page."""
    return FileResponse(PAGE / "index.html")


class Operation(NamedTuple):
    """Function of a route for one method, and its entry in the OpenAPI document; without an answer it has none.

    endpoint  its docstring is the summary
    answers   the type of the answer in each media type
    query     the model of the parameters
    bodies    the type of the body in each media type
    """

    endpoint: Callable[..., Coroutine[Any, Any, Response | Fields]]
    answers: Mapping[str, type[Any]] = MappingProxyType({})
    query: type[Names] | None = None
    bodies: Mapping[str, type[Any]] = MappingProxyType({})


_SOLVED = {JSON: SolveAnswer, _EVENTS: str}
ROUTES: Mapping[str, Mapping[str, Operation]] = {
    "/v1/lookup": {
        "GET": Operation(lookup, {JSON: LookupAnswer}, BoardQuery),
        "POST": Operation(lookup_batch, {JSON: BatchAnswer, BINARY: str}, BatchQuery, {JSON: BatchBody, BINARY: str}),
    },
    "/v1/random": {"GET": Operation(random, {JSON: RandomAnswer}, RandomQuery)},
    "/v1/moves": {"GET": Operation(moves, {JSON: MovesAnswer}, SearchQuery)},
    "/v1/solve": {
        "GET": Operation(solve, _SOLVED, SearchQuery),
        "POST": Operation(solve, _SOLVED, bodies={JSON: SolveBody}),
    },
    "/v1/check": {"POST": Operation(check, {JSON: SolutionCheck}, bodies={JSON: CheckBody})},
    "/v1/databases": {"GET": Operation(databases, {JSON: DatabasesAnswer})},
    "/v1/instances": {"GET": Operation(sets, {JSON: InstanceSets})},
    "/v1/instances/{name}": {"GET": Operation(instances, {JSON: Instances})},
    "/healthz": {"GET": Operation(ready, {_PLAIN: str})},
    "/readyz": {"GET": Operation(ready, {_PLAIN: str})},
    "/metrics": {"GET": Operation(metrics, {_PLAIN: str})},
    "/": {"GET": Operation(page)},
    "/page/board": {"GET": Operation(board, query=BoardQuery)},
}
