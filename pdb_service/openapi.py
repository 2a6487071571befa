"""The OpenAPI document of the routes that have an answer."""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from pdb_core.version import version_text
from pdb_service.answers import Problem
from pdb_service.routes import ROUTES


@cache
def openapi() -> bytes:
    """Return the document in JSON."""
    operations = [(path, method, at) for path in ROUTES for method, at in ROUTES[path].items() if at.answers]
    kinds: set[Any] = {kind for *_, at in operations for kind in (*at.answers.values(), *at.bodies.values())}
    adapters: list[Any] = [(kind, "validation", TypeAdapter(kind)) for kind in sorted(kinds | {Problem}, key=str)]
    schemas, definitions = TypeAdapter.json_schemas(adapters, ref_template="#/components/schemas/{model}")

    def content(kinds: Mapping[str, Any]) -> dict[str, Any]:
        return {media_type: {"schema": schemas[kind, "validation"]} for media_type, kind in kinds.items()}

    paths: dict[str, dict[str, Any]] = {path: {} for path, *_ in operations}
    for path, method, at in operations:
        query: dict[str, Any] = {} if at.query is None else at.query.model_json_schema()
        parameters = [
            {"name": name, "in": "query", "required": name in query.get("required", ()), "schema": schema}
            for name, schema in query.get("properties", {}).items()
        ]
        if path.endswith("{name}"):
            parameters.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
        problem = content({"application/problem+json": Problem})
        paths[path][method.lower()] = {
            "summary": inspect.getdoc(at.endpoint),
            "operationId": at.endpoint.__name__,
            "parameters": parameters,
            **({"requestBody": {"required": True, "content": content(at.bodies)}} if at.bodies else {}),
            "responses": {
                "200": {"description": "The answer", "content": content(at.answers)},
                "default": {"description": "A problem", "content": problem},
            },
        }
    return to_json({
        "openapi": "3.1.0",
        "info": {
            "title": "tile-pdb",
            "summary": "Pattern databases for sliding-tile puzzles, over HTTP.",
            "version": version_text(),
        },
        "security": [{}, {"token": []}],  # a server may need no token
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })  # fmt: skip
