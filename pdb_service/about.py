"""Routes about the service itself: databases, instance sets, health, metrics, and the files of the page."""

import asyncio
from functools import cache
from pathlib import Path

from prometheus_client import generate_latest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from pdb_core.errors import InstanceError
from pdb_core.messages import shorten
from pdb_query.instances import instance_sets, read_instances
from pdb_service.answers import DatabasesAnswer, InstanceInfo, Instances, InstanceSet, InstanceSets
from pdb_service.openapi import ApiRoute
from pdb_service.responses import AnswerResponse
from pdb_service.service import Service

_TEXT = "text/plain"
_PAGE = Path(__file__).parent / "page"
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}


def about_routes(service: Service) -> list[ApiRoute]:
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
        return AnswerResponse(await asyncio.to_thread(_instances, request.path_params["name"]))

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

    async def file(request: Request) -> Response:
        response = await page.get_response(request.path_params.get("name", "index.html"), request.scope)
        response.headers.update(_PAGE_HEADERS)
        return response

    return [
        ApiRoute("/v1/databases", databases, answer=DatabasesAnswer),
        ApiRoute("/v1/instances", sets, answer=InstanceSets),
        ApiRoute("/v1/instances/{name}", instances, answer=Instances, statuses=[404]),
        ApiRoute("/healthz", healthz, others=[_TEXT]),
        ApiRoute("/readyz", readyz, others=[_TEXT], statuses=[503]),
        ApiRoute("/metrics", metrics, others=[_TEXT]),
        ApiRoute("/", file),
        ApiRoute("/page/{name:path}", file),
    ]


@cache
def _sets() -> bytes:
    """Return the names of the instance sets in JSON. Reads all of them."""
    found = (InstanceSet(name=name, n_boards=sum(1 for _ in read_instances(name))) for name in instance_sets())
    return InstanceSets(sets=tuple(found)).to_json()


@cache
def _instances(name: str) -> bytes:
    """Return an instance set in JSON. Raises `InstanceError` if there is none."""
    if name not in instance_sets():
        raise InstanceError(f"there is no instance set {shorten(name, 40)!r}; /v1/instances lists them")
    return Instances(name=name, instances=tuple(map(InstanceInfo.of, read_instances(name)))).to_json()
