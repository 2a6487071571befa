"""What is here: databases, instance sets, health, metrics, and the page."""

from functools import lru_cache

import orjson
from fastapi import APIRouter, Request
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from pdb_core.errors import InstanceError
from pdb_core.messages import shorten
from pdb_core.puzzle import Board, blank_last, parse_goal
from pdb_query.instances import instance_sets, read_instances
from pdb_service.answers import DatabasesAnswer, Instances, InstanceSets
from pdb_service.page_files import PageFiles
from pdb_service.parameters import problems
from pdb_service.service import Service


def about_routes(service: Service) -> APIRouter:
    """The routes that tell what is here."""
    router = APIRouter()
    page = PageFiles()

    @router.get("/v1/databases", tags=["about"], response_model=DatabasesAnswer, responses=problems())
    async def databases() -> Response:
        """The databases that answer here, in the order in which they are asked."""
        return Response(orjson.dumps(_databases(service)), media_type="application/json")

    @router.get("/v1/instances", tags=["about"], response_model=InstanceSets, responses=problems())
    async def sets() -> Response:
        """The instance sets: boards that people compare solvers with."""
        body = {"sets": [{"name": name, "n_boards": len(_instances(name))} for name in instance_sets()]}
        return Response(orjson.dumps(body), media_type="application/json")

    @router.get("/v1/instances/{name}", tags=["about"], response_model=Instances, responses=problems(404, 422))
    async def instances(name: str) -> Response:
        """The boards of a set."""
        if name not in instance_sets():
            raise InstanceError(f"there is no instance set {shorten(name, 40)!r} here; /v1/instances lists them")
        return Response(orjson.dumps({"name": name, "instances": _instances(name)}), media_type="application/json")

    @router.get("/healthz", tags=["health"], response_class=PlainTextResponse)
    async def healthz() -> Response:
        """Whether the process lives."""
        return Response(b"ok\n", media_type="text/plain")

    @router.get("/readyz", tags=["health"], response_class=PlainTextResponse, responses=problems(503))
    async def readyz() -> Response:
        """Whether tables and kernels are warm."""
        if service.start_up.failure is not None:
            raise HTTPException(503, "the tables could not be made ready; the server's log says why")
        if not service.start_up.is_ready:
            raise HTTPException(503, "the tables are being made ready")
        return Response(b"ready\n", media_type="text/plain")

    @router.get("/metrics", tags=["health"], response_class=PlainTextResponse, responses=problems())
    async def metrics() -> Response:
        """For Prometheus."""
        service.metrics.running.set(service.searches.n_running)
        service.metrics.waiting.set(service.searches.n_waiting)
        service.metrics.cached.set(service.searches.n_cached_bytes)
        return Response(generate_latest(service.metrics.registry), media_type="text/plain; version=0.0.4")

    @router.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return await file("index.html", request)

    @router.get("/page/{name:path}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        response = page.response(name, request)
        if response is None:
            raise HTTPException(404, "there is no such page")
        return response

    return router


def _databases(service: Service) -> dict[str, object]:
    described: list[dict[str, object]] = []
    goals: dict[str, Board] = {}
    for name, database in service.databases:
        header = database.header
        goals.setdefault(str(database.size), service.databases.default_goal(database))
        described.append(
            {
                "id": name,
                "partition": header.partition.name,
                "size": str(database.size),
                "goal": database.goal,
                "encoding": database.encoding,
                "cost": database.cost,
                "patterns": [
                    {"tiles": at.pattern.tiles, "n_entries": sum(at.histogram), "max": len(at.histogram) - 1}
                    for at in header.patterns
                ],
                "n_bytes": sum(at.n_bytes for at in header.tables.values()),
            }
        )
    settings = service.settings
    limits = {
        "solve_seconds_limit": settings.solve_s,
        "short_seconds_limit": settings.short_s,
        "wait_seconds_limit": settings.wait_s,
        "body_bytes_limit": settings.max_body_bytes,
        "batch_boards_limit": settings.max_boards,
    }
    return {"databases": described, "default_goals": goals, "limits": limits}


@lru_cache(maxsize=64)
def _instances(name: str) -> list[dict[str, object]]:
    return [
        {
            "id": at.id,
            "size": str(at.size),
            "board": at.board,
            "goal": blank_last(at.size) if at.goal is None else parse_goal(at.goal, at.size),
            "optimal_length": at.optimal_length,
        }
        for at in read_instances(name, None)
    ]
