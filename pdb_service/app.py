"""The service as an ASGI app: the routes, and what is shared between requests. Read this first.

slow, large, idle connections     connection
headers, HEAD, CORS               headers, before every route
token, sizes, errors, counts      limits.Gate, after these
the Host header                   hosts
which database answers            served_databases
/v1/lookup                        lookups, batches
/v1/moves, /v1/solve              moves, solves, both through searches, by turns of solve_queue
start, /readyz                    start_up
errors                            problems
the page                          page_files, page/
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
from pdb_service.about_routes import about_routes
from pdb_service.headers import DefaultHeaders, HeadAsGet
from pdb_service.hosts import TrustedHosts
from pdb_service.lookup_routes import lookup_routes
from pdb_service.memory_budget import Room
from pdb_service.metrics import Metrics
from pdb_service.problems import problem_body, problem_response, reported_problem
from pdb_service.request_limits import Gate
from pdb_service.searches import Searches
from pdb_service.served_databases import ServedDatabases
from pdb_service.service import Service
from pdb_service.settings import ServiceSettings
from pdb_service.solve_routes import solve_routes
from pdb_service.solving import CountedSolving, Solving


def create_app(
    databases: Iterable[Database],
    solving: Solving,
    settings: ServiceSettings | None = None,
    *,
    on_ready: Callable[[], None] | None = None,
) -> FastAPI:
    """The app that answers from `databases`, which must stay open; its `state.service` is a `Service`.

    `on_ready` is called, from a thread of its own, when tables and kernels are warm. If that fails, the error is
    logged, `state.service.start_up.failure` holds it, and `serve` ends; under another server, /readyz stays 503.
    """
    settings = settings or ServiceSettings()
    metrics = Metrics()
    solving = CountedSolving(solving, metrics.nodes.inc)
    service = Service(
        room=Room(settings.max_held_bytes),
        databases=ServedDatabases(databases),
        solving=solving,
        settings=settings,
        searches=Searches(solving, settings, metrics),
        metrics=metrics,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start_up.begin(service.warm, on_ready=on_ready)
        yield
        service.searches.stopping.begin()
        await service.searches.close()

    app = FastAPI(
        title="tile-pdb",
        summary="Pattern databases for sliding-tile puzzles, over HTTP.",
        version=__version__,
        lifespan=lifespan,
        # Their pages load scripts from elsewhere; ours is api.html.
        docs_url=None,
        redoc_url=None,
        # A redirect would lead to whatever host the request names.
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
    app.add_middleware(Gate, settings=settings, room=service.room, metrics=service.metrics)
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
    """A parameter that is missing, or not of its kind."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return problem_response(problem_body(422, f"{where}: {first['msg']}", "RequestError"))


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = problem_response(problem_body(error.status_code, f"{error.detail}; /openapi.json lists what there is"))
    response.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # The router names the methods of one route; a path may have another.
        path = getattr(request.scope.get("route"), "path", None)
        methods = {method.upper() for method in request.app.openapi()["paths"].get(path, {"get": None})}
        response.headers["Allow"] = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
    return response
