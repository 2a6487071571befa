"""docs/http.md against a running server: routes, events, limits, metrics, problems.

tests/project/test_pages.py runs the examples, and test_figures.py compares the tables of fields with the code.
"""

import contextlib
import dataclasses
import http.client
import json
import re
from typing import Any

from pdb_core import errors
from pdb_core.puzzle import blank_last, parse_size
from pdb_query import read_instances
from pdb_service.answers import BatchAnswer
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


def test_routes_are_those_of_openapi(server: Server) -> None:
    documented = set().union(*map(routes_of, sections()))
    paths = server.ask("/openapi.json").json["paths"]
    assert documented == {(method, path) for path, methods in paths.items() for method in methods}


def test_answers_for_unsolvable_boards_are_those_documented(server: Server) -> None:
    answer = server.ask(f"/v1/lookup?board={UNSOLVABLE}").json
    assert (answer["solvable"], answer["h"], answer["sums"]) == (False, None, [])
    for path in ("lookup", "moves", "solve"):
        answer = server.ask(f"/v1/{path}?board={UNSOLVABLE}").json
        assert (answer["solvable"], bool(answer["why"])) == (False, True)


def test_batches_are_answered_as_documented(server: Server) -> None:
    boards = [BOARD.replace("+", " "), UNSOLVABLE.replace("+", " "), [1, 1]]
    answer = server.ask(
        "/v1/lookup?size=3x3", json.dumps({"boards": boards}).encode(), Content_Type="application/json"
    ).json
    assert BatchAnswer.model_validate_json(json.dumps(answer)).answers[0].h == 31
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


def test_problems_are_those_documented(server: Server) -> None:
    reply = server.ask("/v1/lookup?board=1+2")
    assert (reply.status, reply.json["type"]) == (422, errors.PROBLEM_TYPE + "BoardError")
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
