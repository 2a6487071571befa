"""Refused requests, headers of answers, errors and their log, metrics; valid settings."""

import json
import re
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from pdb_core.errors import TableFileDamagedError
from pdb_query import Database
from pdb_service.settings import LOOPBACK, advice, hosts_of, read_host, read_origin
from tests import rows
from tests.pdb_service.app_requests import (
    BOARDS,
    HeldSolvers,
    ask,
    ask_solve,
    in_event_loop,
    metrics,
    ready_app,
    running_app,
)

ORIGIN = "https://example.org"
BOARD = "board=8+6+7/2+5+4/3+0+1"
LOOKUP = f"/v1/lookup?{BOARD}"
SIZED = "/v1/lookup?size=3x3"
GOOD = b"[1,2,3,4,5,6,7,8,0]"


@pytest.fixture(scope="module")
def app(database: Database) -> Starlette:
    hosts = (*LOOPBACK, "*.example.com")
    settings: dict[str, Any] = {"token": "s3cret", "cors_origins": (ORIGIN,), "allowed_hosts": hosts}
    return ready_app(database, max_boards=1100, max_body_bytes=1_100_000, **settings)


# A request | the status of the answer | a part of the problem's detail | the body in Python | headers.
REQUESTS = rows("""
GET /v1/lookup/ | 404 | /openapi.json
PUT /v1/lookup | 405 | /openapi.json
GET /v1/instances/none | 404 | 'none'
GET /v1/instances/korf10 | 404 | did you mean korf100?

GET /v1/lookup?board=1+2 | 422 | '1 2'
GET /v1/lookup?BOARD&goal=nowhere | 422 | goal
GET /v1/lookup?BOARD&goal=1+2+3/4+0+5/6+7+8 | 422 | pdb build
GET /v1/lookup?BOARD&db=../x | 404 | '../x'

GET /v1/moves?BOARD&time_limit=nan | 422 | time_limit
POST /v1/solve | 422 | board [True] must be integers | b'{"board": [true]}'
POST /v1/solve | 422 | board: Input should be a valid string | b'{"board": 1}'
POST /v1/solve | 422 | board: List should have at most 36 items | b'{"board": [%s0]}' % (b"0," * 36)
POST /v1/solve | 422 | goal: String should have at most 400 characters | b'{"board": [], "goal": ["%s"]}' % (b"x" * 400)
POST /v1/solve | 200 | | b'{"board": [[1, 2, 3], [4, 5, 6], [7, null, 8]]}'
POST /v1/solve | 422 | time_limit | b'{"board": %s, "time_limit": "5"}' % GOOD
POST /v1/solve | 400 | JSON | b'{"board": %s' % GOOD

GET /v1/lookup?BOARD&gaol=snail | 422 | unknown parameter gaol; known are goal, db, board; did you mean goal?
GET /v1/moves?BOARD&BOARD | 422 | board is given twice
GET /v1/solve | 422 | board
POST /v1/solve | 422 | did you mean time_limit? | b'{"board": %s, "timelimit": 5}' % GOOD
POST /v1/solve | 422 | unknown parameter timeout; known are goal, db, time_limit, | b'{"timeout": %s}' % GOOD
POST /v1/solve | 413 | 1,000,001 bytes, and JSON may have 1,000,000; | b" " * 1_000_001
POST /v1/solve | 413 | 1,100,000 bytes | b"{}" | Content-Length: 1100001
POST /v1/solve?time_limit=5 | 422 | time_limit stands in the query | b'{"board": %s}' % GOOD

POST /v1/check | 200 | | b'{"board": %s, "moves": ["%s"]}' % (GOOD, b'","'.join([b"8"] * 200))
POST /v1/check | 422 | moves | b'{"board": %s}' % GOOD
POST /v1/check | 422 | moves: Input should be a valid string | b'{"board": %s, "moves": {}}' % GOOD
POST /v1/check | 422 | 'north' is no move | b'{"board": %s, "moves": "north"}' % GOOD
POST /v1/check | 422 | tile-directions | b'{"board": %s, "moves": "R", "notation": "letters"}' % GOOD
POST /v1/check | 422 | it can be solved for snail | b'{"board": [1,2,3,8,0,4,7,6,5], "moves": "8"}'

POST /v1/lookup | 400 | JSON | b""
POST /v1/lookup | 200 | | b'{"boards": ["%s"]}' % b'","'.join([b"3x3: 1 2 3 4 5 6 7 8 0"] * 1001)
POST /v1/lookup | 400 | JSON | b"[" * 100_000
POST /v1/lookup | 400 | size | b'{"boards": []}'
POST /v1/lookup?size=4x4 | 404 | 4x4 | b'{"boards": []}'
POST /v1/lookup?size=x | 422 | 'x' | b'{"boards": []}'
POST /v1/lookup?size=3x3 | 422 | boards.0: | b'{"boards": [1]}'
POST /v1/lookup?size=3x3 | 413 | 1,100 | b'{"boards": [' + b"[]," * 1100 + b"[]]}"
POST /v1/lookup?size=3x3 | 413 | application/octet-stream | b" " * 1_000_001
POST /v1/lookup?size=3x3 | 400 | 10 bytes | bytes(10) | Content-Type: application/octet-stream
POST /v1/lookup?size=3x3 | 415 | 'text/xml' | b"<board/>" | Content-Type: text/xml
POST /v1/lookup?size=3x3 | 413 | 1,100,000 bytes | b" " * 1_100_001

GET / | 400 | --allowed-host | | Host:
GET /metrics | 400 | --allowed-host | | Host: evil.example
GET /metrics | 400 | --allowed-host | | Host: localhost.evil.example
GET /metrics | 400 | --allowed-host | | Host: evil@localhost
GET /metrics | 400 | --allowed-host | | Host: *
GET /metrics | 400 | --allowed-host | | Host: notexample.com
GET /page/app.js | 200 | | | Host: evil.example
GET /v1/lookup?BOARD | 200 | | | Host: LOCALHOST:80
GET /v1/lookup?BOARD | 200 | | | Host: [::1]:8015
GET /v1/lookup?BOARD | 200 | | | Host: a.b.example.com; Sec-Fetch-Site: same-origin
GET /healthz | 200 | | | Host: 10.1.2.3:8015

GET /v1/databases | 200 | | | Authorization: bearer s3cret
GET /v1/databases | 401 | Bearer | | Authorization:
GET /v1/databases | 401 | Bearer | | Authorization: Bearer wrong
GET /v1/databases | 401 | Bearer | | Authorization: s3cret
GET /v1/databases | 401 | Bearer | | Authorization: Bearer s3cret\xe9
GET /metrics | 401 | Bearer | | Authorization:
GET / | 200 | | | Authorization:
GET /healthz | 200 | | | Authorization:
GET /openapi.json | 200 | | | Authorization:

GET /v1/lookup?BOARD | 200 | | | Origin:
GET /v1/lookup?BOARD | 200 | | | Origin: https://evil.example
""")


@pytest.mark.parametrize(("request_", "status", "detail", "body", "headers"), [(*row, "", "")[:5] for row in REQUESTS])
def test_request_is_answered_or_refused(
    app: Starlette, request_: str, status: str, detail: str, body: str, headers: str
) -> None:
    """Requests are of the allowed origin and have the token, if the headers name no others."""
    method, _, address = request_.replace("BOARD", BOARD).partition(" ")
    pairs = [header.partition(":") for header in headers.split(";") if header]
    named = [(name.strip(), value.strip() or None) for name, _, value in pairs]
    usual = {"Authorization": "Bearer s3cret", "Origin": ORIGIN}
    origin = (usual | dict(named))["Origin"]
    given = [header for header in usual.items() if header[0] not in dict(named)]
    reply = ask(app, address, *given, *named, method=method, body=eval(body, {"GOOD": GOOD}) if body else None)
    assert reply.status == int(status), reply.body
    assert reply.headers.get("access-control-allow-origin") == (ORIGIN if origin == ORIGIN else None)
    assert origin != ORIGIN or "Retry-After" in reply.headers["access-control-expose-headers"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] in ("no-store", "no-cache")
    assert reply.headers.get("www-authenticate") == ("Bearer" if status == "401" else None)
    if reply.status >= 400:
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json["status"] == reply.status
        assert detail in reply.json["detail"]
        assert reply.json["detail"].isprintable()
        assert len(reply.json["detail"]) < 1000


@pytest.mark.parametrize("path", ["/", "/page/app.js"])
def test_page_may_load_only_its_own_files_and_is_in_no_frame(app: Starlette, path: str) -> None:
    headers = ask(app, path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert not re.search("(script|connect|style)-src", policy)
    assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-cache")


def test_preflight_needs_no_token(app: Starlette) -> None:
    preflight = ("Origin", ORIGIN), ("Access-Control-Request-Method", "POST")
    reply = ask(app, "/v1/lookup", *preflight, method="OPTIONS")
    assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert "POST" in reply.headers["access-control-allow-methods"]


def test_app_below_a_path_of_another_app_needs_the_token(database: Database) -> None:
    below = Starlette(routes=[Mount("/tiles", ready_app(database, token="secret"))])
    assert ask(below, f"/tiles/v1/lookup?{BOARD}").status == 401
    assert ask(below, f"/tiles/v1/lookup?{BOARD}", ("Authorization", "Bearer secret")).status == 200


def test_path_that_ends_in_a_line_break_needs_the_token(database: Database) -> None:
    assert ask(ready_app(database, token="secret"), "/metrics\n").status == 401


def test_all_hosts_and_origins_can_be_allowed(database: Database) -> None:
    app = ready_app(database, cors_origins=(read_origin("*"),), allowed_hosts=(read_host("*"),))
    assert (
        ask(app, LOOKUP, ("Host", "anything.example"), ("Origin", "null")).headers["access-control-allow-origin"] == "*"
    )


# Metrics


def test_requests_are_logged_and_counted_and_boards_are_counted(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    app = ready_app(database, access_log=True)
    requests = ["GET /healthz", "HEAD /healthz", "GET /a", "GET /b", "PUT /v1/lookup"]
    for request in requests:
        method, _, path = request.partition(" ")
        ask(app, path, method=method)
    assert [" ".join(line.split()[:2]) for line in caplog.messages] == requests
    ask(app, LOOKUP)
    solved = ask(app, f"/v1/solve?{BOARD}").json
    ask(app, "/v1/lookup", body=b'{"boards": [%s, %s]}' % (GOOD, GOOD))
    found = metrics(app)
    counted = {name: value for name, value in found.items() if value and re.match(r"tile_pdb\w+_total", name)}
    # Clients cannot create new series.
    assert counted == {
        'tile_pdb_requests_total{method="GET",route="/healthz",status="200"}': 1,
        'tile_pdb_requests_total{method="HEAD",route="/healthz",status="200"}': 1,
        'tile_pdb_requests_total{method="GET",route="other",status="404"}': 2,
        'tile_pdb_requests_total{method="other",route="/v1/lookup",status="405"}': 1,
        'tile_pdb_requests_total{method="GET",route="/v1/lookup",status="200"}': 1,
        'tile_pdb_requests_total{method="POST",route="/v1/lookup",status="200"}': 1,
        'tile_pdb_requests_total{method="GET",route="/v1/solve",status="200"}': 1,
        "tile_pdb_nodes_total": solved["generated"],
        "tile_pdb_boards_total": 3,
    }
    assert found['tile_pdb_request_seconds_count{route="/healthz"}'] == 2
    assert 0 < found['tile_pdb_request_seconds_sum{route="/healthz"}'] < 60


# Errors of the server


@in_event_loop
@pytest.mark.parametrize("events", [False, True])
async def test_every_fault_is_logged(solvers: HeldSolvers, events: bool, caplog: pytest.LogCaptureFixture) -> None:
    solvers.release.set()
    async with running_app(solvers) as app:
        for error in (KeyError("secret.h5"), TableFileDamagedError("secret.h5 is damaged")):
            solvers.error_of = lambda _: error  # noqa: B023
            caplog.clear()
            reply = await ask_solve(app, BOARDS[0], events=events).reply()
            found = json.loads(reply.body.rpartition(b"data: ")[2])
            assert (reply.status, found["status"]) == (200 if events else 500, 500)
            assert b"secret" not in reply.body
            for logged in ("a request failed", "Traceback", "secret.h5"):
                assert logged in caplog.text


# Settings


def test_origins_are_read() -> None:
    assert read_origin("HTTPS://Example.org") == ORIGIN


def test_server_answers_for_its_own_addresses_and_advises_hosts_for_all_addresses() -> None:
    hosts = ("tiles.lan", "*.example.org", "10.0.0.7", "[fe80::1]", "[::]")
    assert hosts_of("127.0.0.1", "Tiles.lan", *hosts[1:3], "[FE80:0::1]", "::", "::") == (*LOOPBACK, *hosts)
    for address in ("0.0.0.0", "::"):
        assert "--allowed-host" in (advice(address, ()) or "")
        assert advice(address, ("tiles.example.org",)) is None
    assert advice("10.0.0.7", ()) is None
