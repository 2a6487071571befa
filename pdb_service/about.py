"""Routes about the service itself: databases, instance sets, health, metrics, and the files of the page."""

from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request
from prometheus_client import generate_latest
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from pdb_core.errors import InstanceError
from pdb_core.messages import shorten
from pdb_query.instances import instance_sets, read_instances
from pdb_service.answers import DatabasesAnswer, InstanceInfo, Instances, InstanceSet, InstanceSets
from pdb_service.responses import AnswerResponse
from pdb_service.service import Service

_PAGE = Path(__file__).parent / "page"
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}


def about_routes(service: Service) -> APIRouter:
    """Return the routes about the service, and those of the page."""
    router = APIRouter()
    page = StaticFiles(directory=_PAGE)

    @router.get("/v1/databases", tags=["about"], response_model=DatabasesAnswer)
    async def databases() -> Response:
        """List the databases, in the order in which the service looks for one that serves a board."""
        return AnswerResponse(DatabasesAnswer.of(service.databases, service.settings))

    @router.get("/v1/instances", tags=["about"], response_model=InstanceSets)
    async def sets() -> Response:
        """List the instance sets: boards that are used to compare solvers."""
        found = (InstanceSet(name=name, n_boards=len(_instances(name).instances)) for name in instance_sets())
        return AnswerResponse(InstanceSets(sets=tuple(found)))

    @router.get("/v1/instances/{name}", tags=["about"], response_model=Instances)
    async def instances(name: str) -> Response:
        """List the boards of an instance set."""
        if name not in instance_sets():
            raise InstanceError(f"there is no instance set {shorten(name, 40)!r}; /v1/instances lists them")
        return AnswerResponse(_instances(name))

    @router.get("/healthz", tags=["health"], response_class=PlainTextResponse)
    async def healthz() -> Response:
        """Answer while the process lives."""
        return PlainTextResponse("ok\n")

    @router.get("/readyz", tags=["health"], response_class=PlainTextResponse)
    async def readyz() -> Response:
        """Answer with 200 when tables and kernels are loaded, and with 503 before."""
        service.check_ready()
        return PlainTextResponse("ready\n")

    @router.get("/metrics", tags=["health"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        return Response(generate_latest(service.metrics.registry), media_type="text/plain; version=0.0.4")

    @router.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return await file("index.html", request)

    @router.get("/page/{name:path}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        response = await page.get_response(name, request.scope)
        response.headers.update(_PAGE_HEADERS)
        return response

    return router


@lru_cache(maxsize=64)
def _instances(name: str) -> Instances:
    """Return an instance set that is present."""
    return Instances(name=name, instances=tuple(map(InstanceInfo.of, read_instances(name, None))))
