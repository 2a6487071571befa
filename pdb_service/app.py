"""The service as an ASGI app: its routes and its middleware. Read this first.

/v1/lookup                        lookups, batches
/v1/moves, /v1/solve              solves, moves, both through searches
/v1/databases, /metrics, the page about, page/
the database that serves a board  served_databases
state of the server, its start    service
errors                            problems
token, sizes, hosts, headers      middleware
slow, large, idle connections     connection_limits
sockets, signals, systemd         server
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from pdb_core import __version__
from pdb_core.errors import PdbError
from pdb_query.database import Database
from pdb_service.about import about_routes
from pdb_service.lookups import lookup_routes
from pdb_service.middleware import DefaultHeaders, Gate, HeadAsGet, TrustedHosts
from pdb_service.problems import problem_body, problem_response, reported_problem
from pdb_service.service import Service
from pdb_service.settings import ServiceSettings
from pdb_service.solves import solve_routes


def create_app(
    databases: Iterable[Database],
    settings: ServiceSettings | None = None,
    *,
    on_ready: Callable[[], None] | None = None,
) -> FastAPI:
    """Return the app that serves `databases`, which must stay open; its `state.service` is a `Service`.

    `on_ready` is called, in another thread, when tables and kernels are loaded. If that fails, the error is logged,
    `state.service.start_up.failure` is the error, and `serve` ends; under another server, /readyz stays 503.
    """
    service = Service(databases, settings or ServiceSettings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start_up.begin(service.load, on_ready)
        yield
        service.searches.stopping.begin()
        await service.searches.close()

    app = FastAPI(
        title="tile-pdb",
        summary="Pattern databases for sliding-tile puzzles, over HTTP.",
        version=__version__,
        lifespan=lifespan,
        # FastAPI's pages load scripts from other hosts; page/api.html replaces them.
        docs_url=None,
        redoc_url=None,
        # A redirect would lead to the host that the request names.
        redirect_slashes=False,
    )
    app.state.service = service
    for routes in (lookup_routes, solve_routes, about_routes):
        app.include_router(routes(service))
    app.add_exception_handler(PdbError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_bad_request)
    app.add_exception_handler(HTTPException, _answer_http_error)
    _add_middleware(app, service)
    return app


def _add_middleware(app: FastAPI, service: Service) -> None:
    """Wrap the routes. The last one is the outermost: its headers are on every answer, errors included."""
    settings = service.settings
    app.add_middleware(TrustedHosts, allowed_hosts=settings.allowed_hosts)
    app.add_middleware(Gate, settings=settings, memory=service.memory, metrics=service.metrics)
    app.add_middleware(HeadAsGet)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After", "X-Request-Id"],
        )
    app.add_middleware(DefaultHeaders)


async def _answer_error(request: Request, error: Exception) -> Response:
    return problem_response(reported_problem(error, request.state.request_id))


async def _answer_bad_request(_: Request, error: Exception) -> Response:
    """Answer a request with a missing or invalid parameter."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return problem_response(problem_body(422, f"{where}: {first['msg']}", "RequestError"))


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = problem_response(problem_body(error.status_code, f"{error.detail}; /openapi.json lists all routes"))
    response.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # The router names the methods of one route; a path may have another.
        path = getattr(request.scope.get("route"), "path", None)
        methods = {method.upper() for method in request.app.openapi()["paths"].get(path, {"get": None})}
        response.headers["Allow"] = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
    return response
