"""docs/http.md against the OpenAPI document and a running server: routes, parameters, fields, events, limits, problems.

tests/project/test_pages.py runs the examples.
"""

import contextlib
import dataclasses
import http.client
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from pdb_core import errors
from pdb_core.puzzle import blank_last, parse_size
from pdb_query import read_instances
from pdb_service.requests import HINT_S, MAX_NUMBERS
from pdb_service.responses import STATUS, status_of
from pdb_service.settings import ServiceSettings
from tests.pdb_service.server import Server
from tests.project.test_docs import page
from tests.tables import table_file

S3, S4 = parse_size("3x3"), parse_size("4x4")
BOARD, UNSOLVABLE = "8+6+7/2+5+4/3+0+1", "1+2+3/4+5+6/8+7+0"


def sections() -> dict[str, str]:
    """Return the text below each heading."""
    _, *parts = re.split(r"^## (.*)\n", page("docs/http.md"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def names_in(answer: Any) -> set[str]:
    """Return every name in an answer, at any depth, except for sizes."""
    if isinstance(answer, list):
        return set().union(*map(names_in, answer))
    if isinstance(answer, dict):
        names = {name for name in answer if not re.fullmatch(r"\d+x\d+", name)}
        return names.union(*map(names_in, answer.values()))
    return set()


def routes_of(heading: str) -> set[tuple[str, str]]:
    """Return the routes that a heading names, each a method and a path."""
    methods, paths = re.findall(r"\b(GET|POST)\b", heading), re.findall(r"/[\w/{}]+", heading)
    return {(method.lower(), path) for method in methods for path in paths}


def tables(text: str, *columns: str) -> list[list[list[str]]]:
    """Return the tables with these columns, each as its rows of cells."""
    head = "| " + " | ".join(columns) + " |\n|" + "---|" * len(columns) + "\n"
    rest = (part.partition("\n\n")[0] for part in text.split(head)[1:])
    return [[[cell.strip() for cell in row[1:-1].split("|")] for row in part.splitlines()] for part in rest]


def named(cell: str) -> list[str]:
    return re.findall(r"`(.*?)`", cell)


class Schemas:
    """Schemas of the OpenAPI document, as the page writes them."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.paths = document["paths"]
        self._named = document["components"]["schemas"]

    def parameter(self, name: str, schema: dict[str, Any], *, is_required: bool) -> tuple[str, str, bool, str]:
        """Return the cells of a parameter: name, type, whether it is required, limits."""
        first = schema.get("anyOf", [schema])[0]
        limits = f"up to {first['maxLength']} characters" if "maxLength" in first else ""
        if "minimum" in first:
            limits = f"{first['minimum']} to {_number(first['maximum'])}"
        return name, self.type_of(first, is_required=True), is_required, limits

    def parameters(self, method: str, path: str) -> list[tuple[str, str, bool, str]]:
        """Return the parameters of a route."""
        given = self.paths[path][method].get("parameters", ())
        return sorted(self.parameter(at["name"], at["schema"], is_required=at["required"]) for at in given)

    def body(self, path: str) -> list[tuple[str, str, bool, str]]:
        """Return the fields of a JSON body."""
        schema = self.paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        fields = schema["properties"].items()
        return sorted(self.parameter(name, at, is_required=name in schema["required"]) for name, at in fields)

    def answer(self, method: str, path: str) -> dict[str, str]:
        """Return the type of each field of an answer, by its path, such as `sums[].h`."""
        schema = self.paths[path][method]["responses"]["200"]["content"]["application/json"]["schema"]
        return dict(self.fields(schema))

    def fields(self, schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yield the path and the type of each field, at any depth, except for problems in answers."""
        schema = self._resolved(schema)
        for name, value in schema.get("properties", {}).items():
            yield prefix + name, self.type_of(value, is_required=name in schema.get("required", ()))
            if name == "error":
                continue
            inner = self._resolved(value)
            if inner.get("type") == "array":
                yield from self.fields(inner["items"], f"{prefix}{name}[].")
            yield from self.fields(inner, f"{prefix}{name}.")

    def type_of(self, schema: dict[str, Any], *, is_required: bool) -> str:
        """Return the type of a field. A field that is not required is left out instead of null."""
        if "anyOf" in schema and {"type": "null"} in schema["anyOf"]:
            return self.type_of(schema["anyOf"][0], is_required=True) + (" or null" if is_required else "")
        schema = self._resolved(schema)
        if schema.get("type") != "array":
            kind = str(schema.get("type", ""))
            return "text" if kind == "string" else kind
        inner = self.type_of(schema["items"], is_required=True)
        return "list" + (" of " + inner.replace("list", "lists") + "s" * ("list" not in inner) if inner else "")

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        return self._named[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _number(value: float) -> str:
    return "10^15" if value == 10**15 else f"{value:,.0f}"


@pytest.fixture(scope="module")
def schemas(server: Server) -> Schemas:
    return Schemas(server.ask("/openapi.json").json)


def test_routes_are_those_of_openapi(schemas: Schemas) -> None:
    documented = set().union(*map(routes_of, sections()))
    assert documented == {(method, path) for path, methods in schemas.paths.items() for method in methods}


def test_parameters_are_those_of_openapi(schemas: Schemas) -> None:
    for heading, text in sections().items():
        documented = [
            sorted((named(name)[0], kind, default == "required", limits) for name, kind, default, limits, _ in rows)
            for rows in tables(text, "name", "type", "default", "limits", "meaning")
        ]
        expected = [at for route in sorted(routes_of(heading)) if (at := schemas.parameters(*route))]
        if heading == "POST /v1/lookup":
            expected.append(schemas.body("/v1/lookup"))
        assert documented == expected, heading


def test_body_of_a_solve_has_the_parameters_of_its_query(schemas: Schemas) -> None:
    assert schemas.body("/v1/solve") == schemas.parameters("get", "/v1/solve")


def test_defaults_and_limits_of_searches_are_those_documented() -> None:
    texts = sections()
    assert re.search(rf"^\| `seconds` \| number \| {HINT_S:g} \|", texts["GET /v1/moves"], re.MULTILINE)
    assert f"list of up to {MAX_NUMBERS} integers" in texts["GET or POST /v1/solve"]
    assert f"list of up to {MAX_NUMBERS} integers" in texts["Boards, goals and databases"]


@pytest.mark.parametrize("path", ["databases", "lookup", "moves", "solve", "instances", "instances/{name}"])
def test_fields_are_those_of_openapi(schemas: Schemas, path: str) -> None:
    documented = fields_below(next(at for at in sections() if ("get", f"/v1/{path}") in routes_of(at)))
    expected = schemas.answer("get", f"/v1/{path}")
    shared = fields_below("GET /v1/lookup")
    assert {name: kind or shared[name] for name, kind in documented.items()} == expected


def fields_below(heading: str) -> dict[str, str]:
    """Return the type of each field in the table below a heading."""
    (rows,) = tables(sections()[heading], "field", "type", "meaning")
    return {name: kind for cell, kind, _ in rows for name in named(cell)}


@pytest.mark.parametrize(
    ("heading", "asked"),
    [
        ("GET /v1/databases", "/v1/databases"),
        ("GET /v1/lookup", f"/v1/lookup?board={BOARD}"),
        ("GET /v1/moves", f"/v1/moves?board={BOARD}"),
        ("GET or POST /v1/solve", f"/v1/solve?board={BOARD}"),
        ("GET /v1/instances", "/v1/instances"),
        ("GET /v1/instances/{name}", "/v1/instances/hardest80"),
    ],
)
def test_answers_have_the_documented_names(server: Server, heading: str, asked: str) -> None:
    # `why` is only in answers about boards that cannot be solved.
    documented = {name.rpartition(".")[2] for name in fields_below(heading)} - {"why"}
    assert documented == names_in(server.ask(asked).json)


def test_answers_for_unsolvable_boards_are_those_documented(server: Server) -> None:
    answer = server.ask(f"/v1/lookup?board={UNSOLVABLE}").json
    assert (answer["solvable"], answer["h"], answer["sums"]) == (False, None, [])
    for path in ("lookup", "moves", "solve"):
        answer = server.ask(f"/v1/{path}?board={UNSOLVABLE}").json
        assert (answer["solvable"], bool(answer["why"])) == (False, True)


def test_batches_are_answered_as_documented(server: Server, schemas: Schemas) -> None:
    assert fields_below("POST /v1/lookup") == {**schemas.answer("post", "/v1/lookup"), "answers[].h": "integer or null"}
    boards = [BOARD.replace("+", " "), UNSOLVABLE.replace("+", " "), [1, 1]]
    answer = server.ask(
        "/v1/lookup?size=3x3", json.dumps({"boards": boards}).encode(), Content_Type="application/json"
    ).json
    problem = {"type", "title", "status", "detail"}
    assert {name.rpartition("[].")[2] for name in fields_below("POST /v1/lookup")} | problem == names_in(answer)
    assert answer["answers"][1] == {"h": None, "solvable": False}
    reply = server.ask(
        "/v1/lookup?size=3x3", bytes([1, 2, 3, 4, 5, 6, 8, 7, 0] + [1] * 9), Content_Type="application/octet-stream"
    )
    assert reply.body == b"\xff\xff\xfe\xff"


def test_solve_from_a_body_equals_that_from_the_query(server: Server) -> None:
    solved = server.ask(f"/v1/solve?board={BOARD}").json
    for board in (BOARD.replace("+", " "), solved["board"]):
        answer = server.ask("/v1/solve", json.dumps({"board": board, "seconds": 5}).encode()).json
        assert answer["moves"] == solved["moves"]
    text = json.dumps({"board": solved["board"]}).encode()
    assert b"event: result\n" in server.ask("/v1/solve", text, Accept="text/event-stream").body
    for wrong in (b"", b"[]", b"{}", b'{"board": 5}', b'{"board": [true]}', text[:-1] + b', "seconds": "5"}'):
        reply = server.ask("/v1/solve", wrong)
        assert (reply.status, reply.json["type"]) == (422, "urn:tile-pdb:RequestError")
    assert server.ask("/v1/solve", b'{"board": "1 2"}').json["type"] == "urn:tile-pdb:BoardError"


def test_events_are_those_documented(server: Server) -> None:
    rows = dict(re.findall(r"^\| (queued|progress|result|problem) \| (.*) \|$", page("docs/http.md"), re.MULTILINE))
    assert set(rows) == {"queued", "progress", "result", "problem"}
    board = "+".join(map(str, next(iter(read_instances("hardest80", None))).board))
    body = server.ask(f"/v1/solve?board={board}&seconds=1", Accept="text/event-stream").body.decode()
    events = re.findall(r"event: (\w+)\ndata: (.*)\n\n", body)
    assert {"progress", "result"} <= {name for name, _ in events} <= set(rows)
    for name, data in events:
        if name in ("queued", "progress"):
            assert set(re.findall(r'"(\w+)":', rows[name])) == names_in(json.loads(data))


def test_limits_are_those_documented() -> None:
    """The table has exactly the numbers of the settings."""
    rows = re.findall(r"^\| .* \| `(\w+)`.* \| ([\d,]+).* \| .* \|$", sections()["Limits"], re.MULTILINE)
    written = {name: float(number.replace(",", "")) for name, number in rows}
    assert len(rows) == len(written)
    settings = {at.name: at.default for at in dataclasses.fields(ServiceSettings)}
    assert written == {name: value for name, value in settings.items() if type(value) in (int, float)}


def test_metrics_are_those_documented(server: Server) -> None:
    (rows,) = tables(sections()["GET /metrics"], "metric", "labels", "meaning")
    families = re.findall(r"^# TYPE (tile_pdb_\w+)", server.ask("/metrics").body.decode(), re.MULTILINE)
    written = [name for cell, _, _ in rows for name in named(cell)]
    assert sorted(written) == sorted(name for name in families if not name.endswith("_created"))


def test_problems_are_those_documented(server: Server, schemas: Schemas) -> None:
    reply = server.ask("/v1/lookup?board=1+2")
    assert (reply.status, reply.json["type"]) == (422, errors.PROBLEM_TYPE + "BoardError")
    assert fields_below("Problems") == dict(schemas.fields({"$ref": "/Problem"}))
    assert set(fields_below("Problems")) - {"request_id"} == names_in(reply.json)
    rows = re.findall(r"^\| (.*) \| (\d+) \|", sections()["Problems"], re.MULTILINE)
    written = {name: int(status) for names, status in rows for name in re.findall(r"`(\w+)`", names)}
    assert written == {kind.__name__: int(status) for kind, status in STATUS if status < 500 or status == 503}
    for name, status in written.items():
        assert status_of(getattr(errors, name)("")) == status


def test_databases_are_listed_without_paths(server: Server) -> None:
    reply = server.ask("/v1/databases")
    assert [(at["partition"], at["size"]) for at in reply.json["databases"]] == [
        ("663", "4x4"), ("8", "3x3"), ("1,2,5/3,4,6/7,8", "3x3"),
    ]  # fmt: skip
    assert str(table_file("8", "3x3").parent).encode() not in reply.body
    assert reply.json["default_goals"] == {"3x3": list(blank_last(S3)), "4x4": list(blank_last(S4))}


def test_head_has_the_headers_of_get_and_no_body(server: Server) -> None:
    for path in ("/", "/v1/databases", "/v1/nowhere", "/healthz"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        with contextlib.closing(connection):
            replies = []
            for method in ("GET", "HEAD", "GET"):  # over one connection: a body would be read as the next answer
                connection.request(method, path, headers={"X-Request-Id": "1"})
                response = connection.getresponse()
                replies.append((response.status, dict(response.getheaders()), response.read()))
        get, head, again = ((status, {**headers, "date": ""}, body) for status, headers, body in replies)
        assert head == (get[0], get[1], b"")
        assert again == get


def test_nodes_of_all_searches_are_counted(server: Server) -> None:
    for board, headers in (("6+4+7/8+5+0/3+2+1", {}), ("8+0+6/5+4+7/2+3+1", {"Accept": "text/event-stream"})):
        before = server.metric("tile_pdb_nodes_total")
        reply = server.ask(f"/v1/solve?board={board}", **headers)
        answer = json.loads(reply.body.decode().rpartition("data: ")[2])
        assert answer["length"] is not None
        assert server.metric("tile_pdb_nodes_total") == before + answer["generated"] > before
