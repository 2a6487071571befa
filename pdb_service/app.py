"""The service as an ASGI app: its routes, the checks of requests, and the OpenAPI document. Read this first.

threads, queues of searches, hints    searches
parameters, bodies and answers        models
the database that serves a board      databases
limits, token, hosts, origins         settings
sockets, signals, systemd             server
"""

import asyncio
import hmac
import inspect
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from prometheus_client import generate_latest
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdb_core.board_size import parse_size
from pdb_core.errors import (
    PROBLEM_TYPE,
    BoardError,
    InstanceError,
    MediaTypeError,
    ParameterError,
    PdbError,
    RequestError,
    RequestTooLargeError,
    TokenError,
)
from pdb_core.messages import as_typed, did_you_mean, shorten
from pdb_core.puzzle import Board
from pdb_core.version import version_text
from pdb_query.board_rows import rows_of_boards
from pdb_query.database import Database
from pdb_query.instances import instance_sets, read_instances
from pdb_query.probes import BatchProbe
from pdb_service.databases import Served
from pdb_service.models import (
    BINARY,
    EVENTS,
    HINT_S,
    JSON,
    Answer,
    BatchAnswer,
    BatchBody,
    BatchQuery,
    BoardQuery,
    CheckAnswer,
    CheckBody,
    DatabasesAnswer,
    InstanceInfo,
    Instances,
    InstanceSet,
    InstanceSets,
    LookupAnswer,
    MovesAnswer,
    Names,
    Problem,
    SearchQuery,
    SolveAnswer,
    SolveBody,
    SolveProgress,
    read_json,
    read_query,
)
from pdb_service.searches import Report, Search, Searches, list_moves
from pdb_service.settings import ServiceSettings, is_allowed
from solver import Checkpoint, Limits, Solution
from solver.check import check_moves

_PLAIN, _TEXT = "text/plain", {"schema": {"type": "string"}}
_PROBLEM = "application/problem+json"
_CLIENT_GONE = 499  # in the metrics: the client has closed the connection
_PAGE = Path(__file__).parent / "page"
# Headers of all answers.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-cache"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]
# nginx then does not buffer the events.
_EVENT_HEADERS = {"X-Accel-Buffering": "no"}
# Two texts and a name, with each character in percent-encoding. Longer ones would take the event loop milliseconds.
_MOST_QUERY_BYTES = 4_000
# Searches with a shorter time limit do not wait for searches of easy boards. After this time of a search, it is noticed
# if the client leaves.
_EASY_S = 0.1
# Seconds between two events.
_EVENT_S = 0.2
_LOGGED_CHARACTERS = 400
# The first invalid boards of a batch have a problem that says what is wrong with them, all others a short one.
_MOST_EXPLAINED = 100
_log = logging.getLogger("tile_pdb.service")


def create_app(databases: Iterable[Database], settings: ServiceSettings | None = None) -> Starlette:
    """Return the app that serves `databases`, which must stay open; its `state.service` is a `Searches`.

    Its lifespan begins to load tables and kernels; an app that mounts this one must run it. If loading fails,
    `server.serve` ends. Under another server, and without the lifespan, /readyz stays 503, as do lookups and searches.
    """
    service = Searches(databases, settings or ServiceSettings())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        await service.close()

    middleware = [Middleware(_Gate, service)]
    if service.settings.cors_origins:  # outermost: all answers have its headers
        cors = Middleware(
            CORSMiddleware,
            allow_origins=service.settings.cors_origins,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After"],
        )
        middleware.insert(0, cors)
    routes: list[BaseRoute] = [Route(path, _Resource(path, service), methods=[*ROUTES[path]]) for path in ROUTES]
    routes.append(Mount("/page", StaticFiles(directory=_PAGE)))
    app = Starlette(
        routes=routes, middleware=middleware, exception_handlers={HTTPException: _refuse}, lifespan=lifespan
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


# The way of a request


class _Gate:
    """Middleware that checks the host, answers errors as problems, adds headers, and counts and logs requests."""

    def __init__(self, app: ASGIApp, service: Searches) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, is_sent = time.perf_counter(), 0, False

        async def send_counted(message: Message) -> None:
            nonlocal status, is_sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].extend(_HEADERS)
            else:
                is_sent = not message.get("more_body", False)
            await send(message)

        try:
            self._check_host(scope)
            await self.app(scope, receive, send_counted)
        except Exception as error:
            if status:
                raise  # the server then cuts the answer
            response = await _refuse(Request(scope), error)
            await response(scope, receive, send_counted)
        finally:
            self._count(scope, status if is_sent else _CLIENT_GONE, time.perf_counter() - started)

    def _check_host(self, scope: Scope) -> None:
        """Raise `RequestError` for a request that names another host."""
        host = Request(scope).headers.get("host", "")
        # Load balancers and container probes name the address of the machine; these answers hold no data.
        if not is_allowed(host, self.service.settings.allowed_hosts) and scope["path"] not in ("/healthz", "/readyz"):
            raise RequestError(
                f"this server does not answer for host {as_typed(host)!r}; name its hosts with --allowed-host"
            )

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        # The route, not the path: clients must not be able to create new series.
        route = getattr(scope.get("endpoint"), "path", "other")
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "OPTIONS", "POST") else "other"
        self.service.metrics.count_request(route, method, status, seconds)
        if self.service.settings.access_log:
            asked = as_typed(f"{scope['method']} {scope['path']}", _LOGGED_CHARACTERS)
            _log.info("%s %d %.3f s", asked, status, seconds)


class _Resource:
    """The endpoint of a path. HEAD is answered as GET; the server leaves out the body."""

    def __init__(self, path: str, service: Searches) -> None:
        self.path, self.service = path, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, token = Request(scope, receive), self.service.settings.token
        is_api = self.path.startswith("/v1/")
        if token is not None and (is_api or self.path == "/metrics"):
            scheme, _, sent = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(sent.strip().encode(), token.encode()):
                raise TokenError("this server requires a token; send the right one as Authorization: Bearer TOKEN")
        if is_api and not self.service.databases.is_complete:
            await self.service.wait_until_ready()
        operation = ROUTES[self.path]["POST" if request.method == "POST" else "GET"]
        response = await operation.endpoint(self.service, request)
        await response(scope, receive, send)


def problem(error: Exception) -> Problem:
    """Return the problem of an error. Log the server's own faults with their traceback."""
    kind, status, detail = "about:blank", 500, str(error)
    if isinstance(error, HTTPException):
        status, detail = error.status_code, f"{error.detail}; /openapi.json lists all routes"
    elif isinstance(error, PdbError):
        kind, status = f"{PROBLEM_TYPE}{type(error).__name__}", error.http_status
    if status == 500:  # its message may name files of this machine: it goes only into the log
        _log.error("a request failed", exc_info=error)
        detail = "the server failed to answer; see its log"
    return Problem(type=kind, title=HTTPStatus(status).phrase, status=status, detail=detail)


async def _refuse(_: Request, error: Exception) -> Response:
    """Return the problem of an error as a response."""
    found = problem(error)
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}}.get(found.status, {})
    if allowed := (getattr(error, "headers", None) or {}).get("Allow"):
        headers = {"Allow": ", ".join(sorted(allowed.split(", ")))}
    return Response(found.to_json(), found.status, headers, _PROBLEM)


def _pairs(request: Request) -> list[tuple[str, str]]:
    """Return the parameters of a request's URL. Raises `ParameterError` if they are too long."""
    if len(request.scope["query_string"]) > _MOST_QUERY_BYTES:
        raise ParameterError(f"the query has more than {_MOST_QUERY_BYTES:,} bytes; no board needs as many")
    return request.query_params.multi_items()


async def _body(service: Searches, request: Request) -> bytearray:
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


def _json(answer: Answer | bytes) -> Response:
    return Response(answer if isinstance(answer, bytes) else answer.to_json(), media_type=JSON)


# Lookups


async def lookup(service: Searches, request: Request) -> Response:
    """Look up one board: the lower bound on the length of its solutions, and each pattern's distance."""
    query = read_query(BoardQuery, _pairs(request))
    board, served = service.databases.place(query.board, query)
    service.metrics.boards.inc()
    return _json(LookupAnswer.json_of(board, served, await service.lookups.ask(board, served)))


async def lookup_batch(service: Searches, request: Request) -> Response:
    """Look up many boards. The answers have the order and the media type of the boards."""
    query = read_query(BatchQuery, _pairs(request))
    media_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media_type not in (JSON, BINARY):
        raise MediaTypeError(
            f"media type {as_typed(media_type, 40)!r} is not that of a batch; give Content-Type {JSON} or {BINARY}"
        )
    look_up = _look_up_json if media_type == JSON else _look_up_bytes
    content = await service.run("batch", look_up, service, await _body(service, request), query)
    return Response(content, media_type=media_type)


def _look_up_json(service: Searches, body: bytearray, query: BatchQuery) -> bytes:
    """Return the `BatchAnswer` for a `BatchBody`."""
    given = read_json(BatchBody, body)
    named = query.model_copy(update=given.model_dump(exclude={"boards"}, exclude_none=True))
    served = _served(service, named, given.boards[:_MOST_EXPLAINED])
    try:
        found = _probe(service, served, given.boards)
    except BoardError:  # lists of other lengths, or texts among them
        found = _probe(service, served, rows_of_boards(given.boards, served.size, strict=False))
    bad = np.flatnonzero(found.h == -2).tolist()
    problems = dict.fromkeys(bad, problem(BoardError(f"not a {served.size} board")))
    for row in bad[:_MOST_EXPLAINED]:
        try:
            Board(given.boards[row], served.size)
        except BoardError as error:
            problems[row] = problem(error)
    return BatchAnswer.json_of(served, found, problems)


def _look_up_bytes(service: Searches, body: bytearray, query: BatchQuery) -> bytes:
    """Return int16[m], little endian, for uint8[m, n_cells]: h, -1 if unsolvable, -2 if invalid."""
    served = _served(service, query, [])
    n_cells = served.size.n_cells
    if len(body) % n_cells != 0:
        raise RequestError(f"{len(body)} bytes are not a multiple of {n_cells}, the bytes of a {served.size} board")
    rows = np.frombuffer(body, dtype=np.uint8).reshape(-1, n_cells)
    return _probe(service, served, rows).h.astype("<i2").tobytes()


def _probe(service: Searches, served: Served, boards: Any) -> BatchProbe:
    """Look up and count the boards of a batch. Raises `RequestTooLargeError`, and `BoardError` for mixed lists."""
    max_boards = service.settings.max_boards
    if len(boards) > max_boards:
        raise RequestTooLargeError(f"a batch has more than the {max_boards:,} boards allowed; send several")
    found = served.database.probe_batch(boards, served.goal, strict=False)
    service.metrics.boards.inc(len(boards))
    return found


def _served(service: Searches, query: BatchQuery, boards: Sequence[str | list[int]]) -> Served:
    """Return the database that a batch names, else the one for the first of these boards that can be read."""
    if query.db is not None or query.size is not None:
        size = None if query.size is None else parse_size(query.size)
        return service.databases.choose(size, query.goal, query.db)
    refused: Exception | None = None
    for board in boards:
        try:
            return service.databases.place(board, query)[1]
        except BoardError as error:
            refused = refused or error
    raise refused or RequestError("the size of the boards is not known; name it with size, or name a database with db")


# Searches


async def moves(service: Searches, request: Request) -> Response:
    """List every legal move, best first: by the exact distance after it if found in time, else first a move of a
    short solution, then by h."""
    query = read_query(SearchQuery, _pairs(request))
    board, served = service.databases.place(query.board, query)
    limits = service.limits(query, HINT_S)
    find = partial(list_moves, service, board, served, limits)
    if limits.time_limit == 0 or board == served.goal or not board.is_solvable(served.goal):
        return _json(find())
    return await _answer(request, service.search(find, limits))


async def solve(service: Searches, request: Request) -> Response:
    """Find an optimal solution; with `Accept: text/event-stream`, report progress too."""
    return await _solve(service, request, read_query(SearchQuery, _pairs(request)))


async def solve_from_body(service: Searches, request: Request) -> Response:
    """Find an optimal solution, as GET with the parameters in JSON."""
    for name, _ in _pairs(request):
        raise ParameterError(f"{as_typed(name)} stands in the query; POST takes it in the body")
    return await _solve(service, request, read_json(SolveBody, await _body(service, request)))


async def _solve(service: Searches, request: Request, given: SearchQuery | SolveBody) -> Response:
    board, served = service.databases.place(given.board, given)
    wants_events = EVENTS in request.headers.get("accept", "")
    if not board.is_solvable(served.goal):
        answer = SolveAnswer.of(board, served, None)
        return Response(_event("result", answer), media_type=EVENTS) if wants_events else _json(answer)
    limits = service.limits(given)

    def find(report: Report, checkpoint: Checkpoint | None = None) -> SolveAnswer:
        return SolveAnswer.of(board, served, service.solve(board, served, limits, report, checkpoint))

    async def search() -> Answer:
        if given.max_nodes is not None or (limits.time_limit or 0) < _EASY_S or service.is_stopping:
            return await service.search(find, limits)
        found = await service.in_time(service.queue(limits), service.easy_solves.ask(board, served))
        if isinstance(found, Solution):
            return SolveAnswer.of(board, served, found)
        return await service.search(partial(find, checkpoint=found), limits)

    if wants_events:
        return _Events(service, service.begin(find, limits))
    return await _answer(request, search())


async def check(service: Searches, request: Request) -> Response:
    """Check a solution: are its moves legal, does it reach the goal, and is it optimal."""
    given = read_json(CheckBody, await _body(service, request))
    board, served = service.databases.place(given.board, given)
    limits = service.limits(given)

    def find(report: Report) -> CheckAnswer:
        end = time.monotonic() + (limits.time_limit or 0)

        def solve(start: Board, _: Board) -> Solution:
            return service.solve(start, served, Limits(max(0, end - time.monotonic()), limits.max_nodes), report)

        return CheckAnswer.model_validate(check_moves(board, given.moves, served.goal, given.notation, solve))

    return await _answer(request, service.search(find, limits))


async def _answer(request: Request, search: Coroutine[Any, Any, Answer]) -> Response:
    """Return the answer of a search; an empty response if the client leaves first, which cancels the search."""
    tasks: list[asyncio.Task[Any]] = [answer := asyncio.create_task(search)]
    try:
        # The answer of an easy board comes before the client can leave.
        if not (await asyncio.wait(tasks, timeout=_EASY_S))[0]:
            # A single task: each new `receive` would let the server read more requests that are sent behind this one.
            tasks.append(asyncio.create_task(_wait_until_left(request)))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return _json(answer.result()) if answer.done() else Response(status_code=_CLIENT_GONE)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Events(StreamingResponse):
    """Server-sent events of a search, which ends with the response."""

    def __init__(self, service: Searches, search: Search) -> None:
        self._search = search
        super().__init__(_events(service, search), media_type=EVENTS, headers=_EVENT_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with closing(self._search):
            await super().__call__(scope, receive, send)


async def _events(service: Searches, search: Search) -> AsyncGenerator[bytes]:
    """Yield progress several times a second, then the answer or the problem."""
    try:
        # Events also while the search waits: only writing shows that a client has left.
        while not (await asyncio.wait({search.answer}, timeout=_EVENT_S))[0]:
            progress = search.progress()
            if progress is None:
                yield _event("queued", SolveProgress(ahead=service.n_ahead(search)))
            else:
                yield _event("progress", progress)
        yield _event("result", search.answer.result())
    except Exception as error:
        # The status was sent before: only an event can describe the error.
        yield _event("problem", problem(error))


def _event(name: str, data: Answer) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data.to_json() + b"\n\n"


# The service itself


async def databases(service: Searches, _: Request) -> Response:
    """List the databases, in the order in which the service looks for one that serves a board."""
    return _json(DatabasesAnswer.of(service.databases, service.settings))


async def sets(_service: Searches, _: Request) -> Response:
    """List the instance sets: boards that are used to compare solvers."""
    return _json(await asyncio.to_thread(_sets))


async def instances(_: Searches, request: Request) -> Response:
    """List the boards of an instance set."""
    return _json(await asyncio.to_thread(_instances, request.path_params["name"]))


@cache
def _sets() -> bytes:
    found = (InstanceSet(name=name, n_boards=sum(1 for _ in read_instances(name))) for name in instance_sets())
    return InstanceSets(sets=tuple(found)).to_json()


@cache
def _instances(name: str) -> bytes:
    if name not in instance_sets():
        raise InstanceError(
            f"there is no instance set {shorten(name, 40)!r}; /v1/instances lists them"
            f"{did_you_mean(name, instance_sets())}"
        )
    return Instances(name=name, instances=tuple(map(InstanceInfo.of, read_instances(name)))).to_json()


async def healthz(_service: Searches, _: Request) -> Response:
    """Answer while the process lives."""
    return PlainTextResponse("ok\n")


async def readyz(service: Searches, _: Request) -> Response:
    """Answer with 200 when tables and kernels are loaded, and with 503 before."""
    service.check_ready()
    return PlainTextResponse("ready\n")


async def metrics(service: Searches, _: Request) -> Response:
    """Return the metrics for Prometheus."""
    return Response(generate_latest(service.metrics.registry), media_type="text/plain; version=0.0.4")


async def board(service: Searches, request: Request) -> Response:
    """Read a board that is typed on the page."""
    found = service.databases.read(read_query(BoardQuery, _pairs(request)).board)
    return _json(to_json({"board": found, "size": str(found.size)}))


async def page(_service: Searches, _: Request) -> Response:
    """Return the page."""
    return FileResponse(_PAGE / "index.html")


async def document(_service: Searches, _: Request) -> Response:
    """Return the OpenAPI document."""
    return _json(await asyncio.to_thread(openapi))


# Routes and the OpenAPI document


Endpoint = Callable[[Searches, Request], Coroutine[Any, Any, Response]]


class Operation(NamedTuple):
    """Function of a route for one method, and its entry in the OpenAPI document; without an answer it has none.

    endpoint  its docstring is the summary
    answer    the model of an answer in JSON
    query     the model of the parameters
    body      the model of a body in JSON
    others    the other media types of an answer
    """

    endpoint: Endpoint
    answer: type[Answer] | None = None
    query: type[Names] | None = None
    body: type[Names] | None = None
    others: Collection[str] = ()


ROUTES: Mapping[str, Mapping[str, Operation]] = {
    "/v1/lookup": {
        "GET": Operation(lookup, LookupAnswer, BoardQuery),
        "POST": Operation(lookup_batch, BatchAnswer, BatchQuery, BatchBody, [BINARY]),
    },
    "/v1/moves": {"GET": Operation(moves, MovesAnswer, SearchQuery)},
    "/v1/solve": {
        "GET": Operation(solve, SolveAnswer, SearchQuery, others=[EVENTS]),
        "POST": Operation(solve_from_body, SolveAnswer, body=SolveBody, others=[EVENTS]),
    },
    "/v1/check": {"POST": Operation(check, CheckAnswer, body=CheckBody)},
    "/v1/databases": {"GET": Operation(databases, DatabasesAnswer)},
    "/v1/instances": {"GET": Operation(sets, InstanceSets)},
    "/v1/instances/{name}": {"GET": Operation(instances, Instances)},
    "/healthz": {"GET": Operation(healthz, others=[_PLAIN])},
    "/readyz": {"GET": Operation(readyz, others=[_PLAIN])},
    "/metrics": {"GET": Operation(metrics, others=[_PLAIN])},
    "/": {"GET": Operation(page)},
    "/page/board": {"GET": Operation(board)},
    "/openapi.json": {"GET": Operation(document)},
}


_REFERENCE = "#/components/schemas/{model}"


@cache
def openapi() -> bytes:
    """Return the OpenAPI document, in JSON, of the routes that have an answer."""
    models: set[tuple[type[BaseModel] | None, Literal["validation", "serialization"]]] = {(Problem, "serialization")}
    paths: dict[str, dict[str, Any]] = {}
    for path, operations in ROUTES.items():
        for method, at in operations.items():
            if at.answer is not None or at.others:
                paths.setdefault(path, {})[method.lower()] = _described(path, at)
                models |= {(at.answer, "serialization"), (at.body, "validation")}
    pairs = [(model, mode) for model, mode in sorted(models, key=str) if model is not None]
    _, schemas = models_json_schema(pairs, ref_template=_REFERENCE)
    return to_json({
        "openapi": "3.1.0",
        "info": {
            "title": "tile-pdb",
            "summary": "Pattern databases for sliding-tile puzzles, over HTTP.",
            "version": version_text(),
        },
        "security": [{}, {"token": []}],  # a server may need no token
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })  # fmt: skip


def _described(path: str, at: Operation) -> dict[str, Any]:
    """Return the operation of the document."""
    schema = {} if at.query is None else at.query.model_json_schema()
    parameters = [
        {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": field}
        for name, field in schema.get("properties", {}).items()
    ]
    if path.endswith("{name}"):
        parameters.append({"name": "name", "in": "path", "required": True, **_TEXT})
    content = _content(at.answer, at.others)
    operation: dict[str, Any] = {
        "summary": inspect.getdoc(at.endpoint),
        "operationId": at.endpoint.__name__,
        "parameters": parameters,
        "responses": {
            "200": {"description": "The answer", "content": content},
            "default": {"description": "A problem", "content": {_PROBLEM: _content(Problem)[JSON]}},
        },
    }
    if at.body is not None:
        # A batch has the media type of its answer.
        kinds = [kind for kind in at.others if kind == BINARY]
        operation["requestBody"] = {"required": True, "content": _content(at.body, kinds)}
    return operation


def _content(model: type[BaseModel] | None, others: Iterable[str] = ()) -> dict[str, Any]:
    """Return the media types of a body: JSON of a model, and others."""
    content = {} if model is None else {JSON: {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}
    return content | dict.fromkeys(others, _TEXT)
