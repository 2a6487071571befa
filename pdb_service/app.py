"""The service as an ASGI app: its routes and its middleware. Read this first.

/v1/lookup                        lookups
/v1/moves, /v1/solve, /v1/check   solves
threads, queues of searches       searches
/v1/databases, /metrics, the page about, page/
parameters and bodies, answers    requests, answers
/openapi.json, /docs              openapi, reference
the database that serves a board  served_databases
boards that wait, in one call     together
state of the server, its start    service
responses, errors                 responses
token, sizes, hosts, headers      middleware, settings
sockets, signals, systemd         server
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import cache

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from pdb_query.database import Database
from pdb_service.about import PAGE_HEADERS, about_routes
from pdb_service.lookups import lookup_routes
from pdb_service.middleware import Gate
from pdb_service.openapi import ApiRoute, openapi
from pdb_service.reference import docs_page
from pdb_service.responses import AnswerResponse
from pdb_service.service import Service
from pdb_service.settings import ServiceSettings
from pdb_service.solves import solve_routes


def create_app(databases: Iterable[Database], settings: ServiceSettings | None = None) -> Starlette:
    """Return the app that serves `databases`, which must stay open; its `state.service` is a `Service`.

    Its lifespan begins to load tables and kernels; an app that mounts this one must run it. If loading fails,
    `server.serve` ends. Under another server, and without the lifespan, /readyz stays 503, as do lookups and searches.
    """
    service = Service(databases, settings or ServiceSettings())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        service.pools.stop()
        await service.pools.close()

    made_document = cache(lambda: to_json(openapi(routes)))
    made_docs = cache(lambda: docs_page(openapi(routes)))

    async def document(_: Request) -> Response:
        return AnswerResponse(await asyncio.to_thread(made_document))

    async def docs(_: Request) -> Response:
        return HTMLResponse(await asyncio.to_thread(made_docs), headers=PAGE_HEADERS)

    routes = {
        **lookup_routes(service), **solve_routes(service), **about_routes(service),
        "/openapi.json": {"GET": ApiRoute(document)}, "/docs": {"GET": ApiRoute(docs)},
    }  # fmt: skip
    app = Starlette(lifespan=lifespan)
    app.state.service, app.state.routes = service, routes
    # Starlette only runs the lifespan: its routes take longer than a lookup.
    app.middleware_stack = Gate(app.router, service, routes)
    # Outermost: errors of the gate have the headers of CORS too.
    if service.settings.cors_origins:
        app.middleware_stack = CORSMiddleware(
            app.middleware_stack,
            allow_origins=list(service.settings.cors_origins),
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-Request-Id"],
            expose_headers=["Retry-After", "X-Request-Id"],
        )
    return app
