"""Tables that are made from the code, in Markdown: errors, and the page of the fields of HTTP."""

from collections.abc import Iterable, Iterator
from typing import Any

from pdb_core import errors
from pdb_service.app import create_app
from pdb_service.openapi import openapi

Schema = dict[str, Any]
# The cells of a row.
Row = tuple[str, ...]


def code_table(name: str) -> str:
    """Return the table `errors`. Raises `KeyError` for another name."""
    if name != "errors":
        raise KeyError(name)
    return _markdown(("code", "exceptions"), _error_rows())


def fields_page() -> str:
    """Return the page of the parameters, bodies and answers of all routes."""
    document = openapi(create_app([]).state.routes)
    schemas = document["components"]["schemas"]
    return "\n\n".join(
        ["# HTTP fields", "[HTTP](http.md) has examples and rules.", *_sections(document["paths"], schemas)]
    )


def _sections(paths: Schema, schemas: Schema) -> Iterator[str]:
    parameter_head, answer_head = ("name", "type", "limits", "meaning"), ("field", "type", "meaning")
    for path, routes in paths.items():
        for method, route in routes.items():
            answer = route["responses"]["200"]["content"].get("application/json")
            if answer is not None:
                yield f"## {method.upper()} {path}\n\n{route['summary']}"
                for title, rows in (("Parameters", _parameters(route)), ("Body", _body(route))):
                    if table := sorted(rows, key=lambda row: "required" not in row[2]):
                        yield f"{title}:\n\n{_markdown(parameter_head, table)}"
                yield f"Answer:\n\n{_markdown(answer_head, _answer_rows(schemas, answer['schema']))}"
    yield f"## Problem\n\n{_markdown(answer_head, _answer_rows(schemas, schemas['Problem']))}"


def _markdown(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _error_rows() -> Iterator[Row]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.PdbError)]
    for code in sorted({kind.exit_code for kind in kinds}):
        yield str(code), ", ".join(f"`{kind.__name__}`" for kind in kinds if kind.exit_code == code)


def _parameters(route: Schema) -> Iterator[Row]:
    for given in route["parameters"]:
        yield _parameter(given["name"], given["schema"], given.get("description", ""), is_required=given["required"])


def _body(route: Schema) -> Iterator[Row]:
    if "requestBody" in route:
        schema = route["requestBody"]["content"]["application/json"]["schema"]
        for name, given in schema["properties"].items():
            yield _parameter(name, given, given.get("description", ""), is_required=name in schema["required"])


def _parameter(name: str, schema: Schema, meaning: str, *, is_required: bool) -> Row:
    value = schema.get("anyOf", [schema])[0]
    limits = ["required"] * is_required
    if "maxLength" in value:
        limits.append(f"up to {value['maxLength']} characters")
    if "minimum" in value:
        largest = value["maximum"]
        limits.append(f"{value['minimum']} to " + ("10^15" if largest == 10**15 else f"{largest:,.0f}"))
    return f"`{name}`", _type({}, value), ", ".join(limits), meaning


def _answer_rows(named: Schema, schema: Schema, path: str = "") -> Iterator[Row]:
    """Yield path, type and meaning of each field of an answer at any depth; `sums[].h` is a field in a list."""
    schema = _resolved(named, schema)
    for name, field in schema.get("properties", {}).items():
        # A field that is not required is left out instead of null.
        is_required = name in schema.get("required", ())
        yield f"`{path}{name}`", _type(named, field, is_required=is_required), " ".join(field["description"].split())
        inner = _resolved(named, field)
        if name == "error":
            continue  # a problem, which has its own table
        if inner.get("type") == "array":
            yield from _answer_rows(named, inner["items"], f"{path}{name}[].")
        else:
            yield from _answer_rows(named, inner, f"{path}{name}.")


def _type(named: Schema, schema: Schema, *, is_required: bool = True) -> str:
    """Return the type of a value in words, such as `list of integers or null`."""
    if {"type": "null"} in schema.get("anyOf", ()):
        return _type(named, schema["anyOf"][0]) + " or null" * is_required
    schema = _resolved(named, schema)
    if schema.get("type") != "array":
        return {"string": "text"}.get(schema["type"], schema["type"])
    if "anyOf" in schema["items"]:
        return "list"
    inner = _type(named, schema["items"])
    return f"list of {inner.replace('list', 'lists') if 'list' in inner else inner + 's'}"


def _resolved(named: Schema, schema: Schema) -> Schema:
    """Return a schema, or the one that a reference names."""
    return named[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
