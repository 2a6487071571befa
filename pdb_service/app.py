"""The service as an ASGI app: what each request passes. Read this first.

functions of the routes, and their table    routes
queries and bodies, answers                 requests, answers
threads, queues of searches                 searches
legal moves, best first                     hints
the database that serves a board            databases
the OpenAPI document                        openapi
limits, token, hosts, origins               settings
sockets, signals, systemd                   server
"""

import hmac
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from pydantic_core import to_json
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdb_core.errors import RequestError, TokenError
from pdb_core.messages import as_typed
from pdb_query.database import Database
from pdb_service.answers import JSON
from pdb_service.openapi import openapi
from pdb_service.requests import read_json, read_query
from pdb_service.routes import CLIENT_GONE, PAGE, ROUTES, problem, read_body
from pdb_service.searches import Searches
from pdb_service.settings import ServiceSettings, is_allowed

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


class App:
    """The service as an ASGI app: it answers errors as problems, adds headers, and counts requests.

    `databases` must stay open. Kernels are loaded or compiled by the first requests, unless `service.load` was called
    before.
    """

    def __init__(self, databases: Iterable[Database], settings: ServiceSettings | None = None) -> None:
        self.service = Searches(databases, settings or ServiceSettings())
        routes = [Route(path, _Resource(path, self.service), methods=[*ROUTES[path]]) for path in ROUTES]
        others = [Route("/openapi.json", _document), Mount("/page", StaticFiles(directory=PAGE))]
        self.router = Router([*routes, *others], redirect_slashes=False, lifespan=_lifespan)
        self._answer: ASGIApp = self._answer_request
        if origins := self.service.settings.cors_origins:  # outermost: all answers have its headers
            self._answer = CORSMiddleware(
                self._answer_request,
                allow_origins=origins,
                allow_methods=["GET", "HEAD", "POST"],
                allow_headers=["Authorization", "Content-Type"],
                expose_headers=["Retry-After"],
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self  # the router then raises an error for an unknown path
        await (self._answer if scope["type"] == "http" else self.router)(scope, receive, send)

    async def _answer_request(self, scope: Scope, receive: Receive, send: Send) -> None:
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
            await self.router(scope, receive, send_counted)
        except Exception as error:
            if status:
                raise  # the server then cuts the answer
            await _refusal(error)(scope, receive, send_counted)
        finally:
            self._count(scope, status if is_sent else CLIENT_GONE, time.perf_counter() - started)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        # The route, not the path: clients must not be able to create new series.
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "OPTIONS", "POST") else "other"
        self.service.metrics.count_request(route, method, status, seconds)


class _Resource:
    """The endpoint of a path. HEAD is answered as GET; the server leaves out the body.

    It checks host and token of requests for data. The page has none, nor have answers to load balancers and probes of
    containers, which name the address of the machine.
    """

    def __init__(self, path: str, service: Searches) -> None:
        self.service, self.operations = service, ROUTES[path]
        self.has_data = path.startswith("/v1/") or path == "/metrics"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, settings = Request(scope, receive), self.service.settings
        host = request.headers.get("host", "")
        if self.has_data and not is_allowed(host, settings.allowed_hosts):
            raise RequestError(
                f"this server does not answer for host {as_typed(host)!r}; name its hosts with --allowed-host"
            )
        token = settings.token
        if self.has_data and token is not None:
            scheme, _, sent = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(sent.strip().encode(), token.encode()):
                raise TokenError("this server requires a token; send the right one as Authorization: Bearer TOKEN")
        operation = self.operations["POST" if request.method == "POST" else "GET"]
        given = None
        if operation.query is not None:
            given = read_query(operation.query, request.query_params)
        elif operation.bodies:
            given = read_json(operation.bodies[JSON], await read_body(self.service, request))
        answer = await operation.endpoint(self.service, request, given)
        response = answer if isinstance(answer, Response) else Response(to_json(answer), media_type=JSON)
        await response(scope, receive, send)


@asynccontextmanager
async def _lifespan(app: App) -> AsyncIterator[None]:
    yield
    await app.service.close()


async def _document(_: Request) -> Response:
    return Response(openapi(), media_type=JSON)


def _refusal(error: Exception) -> Response:
    """Return the problem of an error as a response."""
    found = problem(error)
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}}.get(found["status"], {})
    if allowed := (getattr(error, "headers", None) or {}).get("Allow"):
        headers = {"Allow": ", ".join(sorted(allowed.split(", ")))}
    return Response(to_json(found), found["status"], headers, "application/problem+json")
