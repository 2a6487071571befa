"""Routes of the service, and the OpenAPI document that describes them."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from pdb_core import __version__
from pdb_service.answers import BINARY, JSON, Answer, Problem
from pdb_service.requests import Names
from pdb_service.responses import PROBLEM_MEDIA_TYPE

_REFERENCE = "#/components/schemas/{model}"
_TEXT = {"schema": {"type": "string"}}
_NAME = {"name": "name", "in": "path", "required": True, **_TEXT}
# Statuses of problems of routes that read tables: origins, unknown databases, parameters, the queue.
TABLE_STATUSES = (403, 404, 422, 503)
Endpoint = Callable[[Request], Awaitable[Response]]


def _reference(model: type[Answer]) -> dict[str, Any]:
    return {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}


@dataclass(frozen=True)
class ApiRoute:
    """A route with what the document says of it: nothing, if it has no answer.

    endpoint  its docstring is the summary
    query     the model of the parameters
    body      the model of a body in JSON
    answer    the model of an answer in JSON
    others    the other media types of an answer
    statuses  the statuses of its problems, other than those of every route: 400, 401, 413 and 500
    """

    endpoint: Endpoint
    query: type[Names] | None = None
    body: type[Names] | None = None
    answer: type[Answer] | None = None
    others: Collection[str] = ()
    statuses: Collection[int] = ()

    def described(self) -> dict[str, Any]:
        """Return the operation of the document."""
        content = dict.fromkeys(self.others, _TEXT)
        if self.answer is not None:
            content = {JSON: _reference(self.answer)} | content
        problem = _reference(Problem)
        operation: dict[str, Any] = {
            "summary": inspect.getdoc(self.endpoint),
            "operationId": self.endpoint.__name__,
            "parameters": query_parameters(self.query) if self.query else [],
            "responses": {
                "200": {"description": "The answer", "content": content},
            }
            | {
                str(status): {"description": HTTPStatus(status).phrase, "content": {PROBLEM_MEDIA_TYPE: problem}}
                for status in sorted({400, 401, 413, 500, *self.statuses})
            },
        }
        if self.body is not None:
            body: dict[str, Any] = {JSON: {"schema": self.body.model_json_schema()}}
            if BINARY in self.others:  # answers have the media type of the body
                body[BINARY] = {"schema": {"type": "string", "format": "binary"}}
            operation["requestBody"] = {"required": True, "content": body}
        return operation


# Routes by path and method. A path ends in `{name}` if its last part is a parameter.
Routes = Mapping[str, Mapping[str, ApiRoute]]


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


def openapi(routes: Routes) -> dict[str, Any]:
    """Return the OpenAPI document of the routes that have an answer."""
    paths: dict[str, dict[str, Any]] = {}
    models: set[type[Answer]] = {Problem}
    for path, methods in routes.items():
        for method, route in methods.items():
            if route.answer or route.others:
                paths.setdefault(path, {})[method.lower()] = operation = route.described()
                operation["parameters"] += [_NAME] * path.endswith("{name}")
            if route.answer:
                models.add(route.answer)
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
        # A server may need no token.
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
