"""Tables of the parameters, bodies and answers of all routes, and the page /docs that shows them."""

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]
# The cells of a row, with names in backticks.
Row = tuple[str, ...]


class Table(NamedTuple):
    """Table with a title: its head, and its rows."""

    title: str
    head: Row
    rows: list[Row]


class Section(NamedTuple):
    """Section of a route, or of problems."""

    title: str
    text: str
    tables: list[Table]


def sections(document: Schema) -> Iterator[Section]:
    """Yield a section for each route of an OpenAPI document, and one for problems."""
    schemas = document["components"]["schemas"]
    head, answer_head = ("name", "type", "limits", "meaning"), ("field", "type", "meaning")
    for path, routes in document["paths"].items():
        for method, route in routes.items():
            answers = route["responses"]["200"]["content"]
            tables = []
            for title, rows in (("Parameters", _parameters(route)), ("Body", _body(route))):
                if ordered := sorted(rows, key=lambda row: "required" not in row[2]):
                    tables.append(Table(title, head, ordered))
            if "application/json" in answers:
                fields = [*_answer_rows(schemas, answers["application/json"]["schema"])]
                tables.append(Table("Answer", answer_head, fields))
            kinds = " or ".join(f"`{kind}`" for kind in answers)
            statuses = ", ".join(status for status in route["responses"] if status != "200")
            text = f"{route['summary']}\n\nThe answer is {kinds}, and problems have status {statuses}."
            yield Section(f"{method.upper()} {path}", text, tables)
    problem = Table("Fields", answer_head, [*_answer_rows(schemas, schemas["Problem"])])
    yield Section("Problem", "An error, as `application/problem+json`.", [problem])


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>tile-pdb: HTTP</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page/style.css">
<link rel="stylesheet" href="page/docs.css">
<script src="page/theme_first.js"></script>
</head>
<body>
<header class="top">
<h1><img class="logo" src="page/icon.svg" alt="">tile-pdb {version}: HTTP</h1>
<nav><a class="quiet" href="./">Board</a><a class="quiet" href="openapi.json">OpenAPI</a></nav>
</header>
<main>
<ul>{links}</ul>
{sections}
</main>
</body>
</html>
"""


def docs_page(document: Schema) -> str:
    """Return an OpenAPI document as a page in HTML, which loads nothing but files of the page at /."""
    links, shown = "", ""
    for section in sections(document):
        title, anchor = section.title, section.title.replace(" ", "")
        links += f'<li><a href="#{anchor}">{title}</a></li>'
        paragraphs = "".join(f"<p>{_inline(part)}</p>" for part in section.text.split("\n\n"))
        tables = "".join(map(_table, section.tables))
        shown += f'<section class="card" id="{anchor}"><h2>{title}</h2>{paragraphs}{tables}</section>\n'
    return _PAGE.format(version=document["info"]["version"], links=links, sections=shown)


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{cell}</th>' for cell in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<h3>{table.title}</h3><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


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
        kind: str = schema["type"]
        return "text" if kind == "string" else kind
    if "anyOf" in schema["items"]:
        return "list"
    inner = _type(named, schema["items"])
    return f"list of {inner.replace('list', 'lists') if 'list' in inner else inner + 's'}"


def _resolved(named: Schema, schema: Schema) -> Schema:
    """Return a schema, or the one that a reference names."""
    return named[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
