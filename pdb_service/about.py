"""Routes about the service itself: databases, instance sets, health, metrics, and the files of the page."""

import asyncio
from functools import cache
from pathlib import Path

from prometheus_client import generate_latest
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from pdb_core.errors import InstanceError
from pdb_core.messages import did_you_mean, shorten
from pdb_query.instances import instance_sets, read_instances
from pdb_service.answers import DatabasesAnswer, InstanceInfo, Instances, InstanceSet, InstanceSets
from pdb_service.openapi import ApiRoute, Routes
from pdb_service.requests import BoardQuery, read_query
from pdb_service.responses import AnswerResponse
from pdb_service.service import Service

_TEXT = "text/plain"
_PAGE = Path(__file__).parent / "page"
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}


def about_routes(service: Service) -> Routes:
    """Return the routes about the service, and those of the page."""
    page = StaticFiles(directory=_PAGE)

    async def databases(_: Request) -> Response:
        """List the databases, in the order in which the service looks for one that serves a board."""
        return AnswerResponse(DatabasesAnswer.of(service.databases, service.settings))

    async def sets(_: Request) -> Response:
        """List the instance sets: boards that are used to compare solvers."""
        return AnswerResponse(await asyncio.to_thread(_sets))

    async def instances(request: Request) -> Response:
        """List the boards of an instance set."""
        return AnswerResponse(await asyncio.to_thread(_instances, _name(request)))

    async def healthz(_: Request) -> Response:
        """Answer while the process lives."""
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        """Answer with 200 when tables and kernels are loaded, and with 503 before."""
        service.check_ready()
        return PlainTextResponse("ready\n")

    async def metrics(_: Request) -> Response:
        """Return the metrics for Prometheus."""
        return Response(generate_latest(service.metrics.registry), media_type="text/plain; version=0.0.4")

    async def board(request: Request) -> Response:
        found = service.databases.read(read_query(BoardQuery, request).board)
        return AnswerResponse(to_json({"board": found, "size": str(found.size)}))

    async def file(request: Request) -> Response:
        response = await page.get_response(_name(request) or "index.html", request.scope)
        response.headers.update(PAGE_HEADERS)
        return response

    routes = {
        "/v1/databases": ApiRoute(databases, answer=DatabasesAnswer, statuses=[403, 503]),
        "/v1/instances": ApiRoute(sets, answer=InstanceSets),
        "/v1/instances/{name}": ApiRoute(instances, answer=Instances, statuses=[404]),
        "/healthz": ApiRoute(healthz, others=[_TEXT]),
        "/readyz": ApiRoute(readyz, others=[_TEXT], statuses=[503]),
        "/metrics": ApiRoute(metrics, others=[_TEXT]),
        "/": ApiRoute(file),
        "/page/board": ApiRoute(board),
        "/page/{name}": ApiRoute(file),
    }
    return {path: {"GET": route} for path, route in routes.items()}


def _name(request: Request) -> str:
    """Return the last part of the path."""
    name: str = request.scope["path"].rpartition("/")[2]
    return name


@cache
def _sets() -> bytes:
    """Return the names of the instance sets in JSON. Reads all of them."""
    found = (InstanceSet(name=name, n_boards=sum(1 for _ in read_instances(name))) for name in instance_sets())
    return InstanceSets(sets=tuple(found)).to_json()


@cache
def _instances(name: str) -> bytes:
    """Return an instance set in JSON. Raises `InstanceError` if there is none."""
    if name not in instance_sets():
        raise InstanceError(
            f"there is no instance set {shorten(name, 40)!r}; /v1/instances lists them"
            f"{did_you_mean(name, instance_sets())}"
        )
    return Instances(name=name, instances=tuple(map(InstanceInfo.of, read_instances(name)))).to_json()
