"""Routes of the service, and the OpenAPI document that describes them."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from pdb_core import __version__
from pdb_service.answers import Answer, Problem
from pdb_service.requests import Names
from pdb_service.responses import JSON, PROBLEM_MEDIA_TYPE

_REFERENCE = "#/components/schemas/{model}"
_TEXT = {"schema": {"type": "string"}}
# Statuses of problems of routes that read tables: origins, unknown databases, parameters, the queue.
TABLE_STATUSES = (403, 404, 422, 503)
Endpoint = Callable[[Request], Awaitable[Response]]


class ApiRoute(Route):
    """A route with what the document says of it: nothing, if it has no answer.

    query     the model of the parameters
    body      the content of the body by media type, as in the document
    answer    the model of an answer in JSON
    others    the other media types of an answer
    statuses  the statuses of its problems, other than those of every route: 400, 401, 413 and 500
    """

    def __init__(
        self,
        path: str,
        endpoint: Endpoint,
        *,
        method: str = "GET",
        query: type[Names] | None = None,
        body: Mapping[str, Any] | None = None,
        answer: type[Answer] | None = None,
        others: Iterable[str] = (),
        statuses: Iterable[int] = (),
    ) -> None:
        super().__init__(path, endpoint, methods=[method])
        self.method, self.query, self.body, self.answer, self.others = method, query, body, answer, others
        self.statuses = sorted({400, 401, 413, 500, *statuses})

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the route serves a request; name it in the scope, as not all versions of Starlette do."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}

    def described(self) -> dict[str, Any]:
        """Return the operation of the document."""
        content = dict.fromkeys(self.others, _TEXT)
        if self.answer is not None:
            content = {JSON: {"schema": {"$ref": _REFERENCE.format(model=self.answer.__name__)}}} | content
        problem = {"schema": {"$ref": _REFERENCE.format(model=Problem.__name__)}}
        operation: dict[str, Any] = {
            "summary": inspect.getdoc(self.endpoint),
            "operationId": self.name,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in self.param_convertors
            ],
            "responses": {
                "200": {"description": "The answer", "content": content},
            }
            | {
                str(status): {"description": HTTPStatus(status).phrase, "content": {PROBLEM_MEDIA_TYPE: problem}}
                for status in self.statuses
            },
        }
        if self.query is not None:
            operation["parameters"] += query_parameters(self.query)
        if self.body is not None:
            operation["requestBody"] = {"required": True, "content": self.body}
        return operation


def query_parameters(model: type[Names]) -> list[dict[str, Any]]:
    """Return the parameters of a query for the document."""
    schema = model.model_json_schema()
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": field.pop("description"),
            "schema": field,
        }
        for name, field in schema["properties"].items()
    ]


def openapi(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the OpenAPI document of all `ApiRoute`."""
    known = [route for route in routes if isinstance(route, ApiRoute) and (route.answer or route.others)]
    paths: dict[str, dict[str, Any]] = {}
    for route in known:
        paths.setdefault(route.path, {})[route.method.lower()] = route.described()
    models = {route.answer for route in known if route.answer is not None} | {Problem}
    _, schemas = models_json_schema(
        [(model, "serialization") for model in sorted(models, key=lambda model: model.__name__)],
        ref_template=_REFERENCE,
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tile-pdb",
            "summary": "Pattern databases for sliding-tile puzzles, over HTTP.",
            "version": __version__,
        },
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }
