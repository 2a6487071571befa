"""The OpenAPI document of the routes that have an answer."""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from pdb_core.version import version_text
from pdb_service.answers import Problem
from pdb_service.routes import ROUTES

_SCHEMAS = "#/components/schemas/"


@cache
def openapi() -> bytes:
    """Return the document in JSON."""
    schemas: dict[str, Any] = {}

    def content(kinds: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for media_type, kind in kinds.items():
            schema = TypeAdapter(kind).json_schema(ref_template=_SCHEMAS + "{model}")
            if kind is not str:
                schemas.update(schema.pop("$defs", {}), **{kind.__name__: schema})
                schema = {"$ref": _SCHEMAS + kind.__name__}
            found[media_type] = {"schema": schema}
        return found

    paths: dict[str, dict[str, Any]] = {}
    for path, operations in ROUTES.items():
        for method, at in operations.items():
            if at.answers:
                query: dict[str, Any] = {} if at.query is None else at.query.model_json_schema()
                parameters = [
                    {"name": name, "in": "query", "required": name in query.get("required", ()), "schema": schema}
                    for name, schema in query.get("properties", {}).items()
                ] + [
                    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                    for name in re.findall(r"{(\w+)}", path)
                ]
                paths.setdefault(path, {})[method.lower()] = {
                    "summary": inspect.getdoc(at.endpoint),
                    "parameters": parameters,
                    **({"requestBody": {"required": True, "content": content(at.bodies)}} if at.bodies else {}),
                    "responses": {
                        "200": {"description": "The answer", "content": content(at.answers)},
                        "default": {
                            "description": "A problem", "content": content({"application/problem+json": Problem}),
                        },
                    },
                }  # fmt: skip
    return to_json({
        "openapi": "3.1.0",
        "info": {
            "title": "tile-pdb",
            "summary": "Pattern databases for sliding-tile puzzles, over HTTP.",
            "version": version_text(),
        },
        "security": [{}, {"token": []}],  # a server may need no token
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    })  # fmt: skip
