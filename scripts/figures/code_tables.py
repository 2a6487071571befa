"""Tables of the pages that are made from the code, in Markdown: errors, and the parameters and answers of HTTP."""

from collections.abc import Iterable, Iterator
from typing import Any

from pdb_core import errors
from pdb_service.app import create_app
from pdb_service.openapi import openapi

Schema = dict[str, Any]
# The cells of a row.
Row = tuple[str, ...]
_ANSWER_HEAD = ("field", "type", "meaning")


def code_table(name: str) -> str:
    """Return the table `errors` or `problem`, or one of a route: its `parameters`, its `body` or its `answer`.

    A route is named as in `answer GET /v1/lookup`. Raises `KeyError` for an unknown name.
    """
    if name == "errors":
        return _markdown(("exception", "exit code", "meaning"), _error_rows())
    document = openapi(create_app([]).routes)
    schemas = document["components"]["schemas"]
    if name == "problem":
        return _markdown(_ANSWER_HEAD, _answer_rows(schemas, schemas["Problem"]))
    kind, method, path = name.split()
    route = document["paths"][path][method.lower()]
    if kind == "answer":
        schema = route["responses"]["200"]["content"]["application/json"]["schema"]
        return _markdown(_ANSWER_HEAD, _answer_rows(schemas, schema))
    rows = {"parameters": _parameters, "body": _body}[kind](route)
    return _markdown(("name", "type", "limits", "meaning"), sorted(rows, key=lambda row: "required" not in row[2]))


def _markdown(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _error_rows() -> Iterator[Row]:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.PdbError):
            meaning = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
            yield f"`{kind.__name__}`", str(kind.exit_code), meaning


def _parameters(route: Schema) -> Iterator[Row]:
    for given in route["parameters"]:
        yield _parameter(given["name"], given["schema"], given.get("description", ""), is_required=given["required"])


def _body(route: Schema) -> Iterator[Row]:
    schema = route["requestBody"]["content"]["application/json"]["schema"]
    for name, given in schema["properties"].items():
        yield _parameter(name, given, given["description"], is_required=name in schema["required"])


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
            continue  # a problem, which has a table of its own
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
