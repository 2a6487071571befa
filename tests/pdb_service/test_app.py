"""Refused requests, headers of answers, errors and their log, metrics; valid settings."""

import re
from typing import Any

import pytest

from pdb_core.errors import TableFileDamagedError
from pdb_query import Database
from pdb_service.app import App
from pdb_service.settings import LOOPBACK, hosts_of, read_host, read_origin
from tests import rows
from tests.pdb_service.app_requests import (
    BOARDS,
    HeldSolvers,
    ask,
    ask_solve,
    metrics,
    ready_app,
    running_app,
)

ORIGIN = "https://example.org"
BOARD = "board=8+6+7/2+5+4/3+0+1"
LOOKUP = f"/v1/lookup?{BOARD}"
GOOD = b"[1,2,3,4,5,6,7,8,0]"


@pytest.fixture(scope="module")
def app(database: Database) -> App:
    hosts = (*LOOPBACK, "*.example.com")
    settings: dict[str, Any] = {"token": "s3cret", "cors_origins": (ORIGIN,), "allowed_hosts": hosts}
    return ready_app(database, max_boards=1100, max_body_bytes=1_100_000, **settings)


# A request | the status of the answer | a part of the problem's detail | the body in Python | headers.
# tests/golden/doors/http.ndjson has the rest: each route, and each kind of problem.
REQUESTS = rows("""
POST /v1/solve | 422 | board: Input should be a valid string | b'{"board": 1}'
POST /v1/solve | 422 | board: List should have at most 36 items | b'{"board": [%s0]}' % (b"0," * 36)
POST /v1/solve | 422 | goal: String should have at most 400 characters | b'{"board": [], "goal": ["%s"]}' % (b"x" * 400)
POST /v1/solve | 422 | unknown parameter timeout; known are goal, db, time_limit, | b'{"timeout": %s}' % GOOD
POST /v1/solve | 413 | 1,000,001 bytes, and JSON may have 1,000,000; | b" " * 1_000_001
POST /v1/solve | 413 | 1,100,000 bytes | b"{}" | Content-Length: 1100001
POST /v1/check | 200 | | b'{"board": %s, "moves": ["%s"]}' % (GOOD, b'","'.join([b"8"] * 200))
POST /v1/lookup | 200 | | b'{"boards": ["%s"]}' % b'","'.join([b"3x3: 1 2 3 4 5 6 7 8 0"] * 1001)
POST /v1/lookup | 400 | JSON | b"[" * 100_000 | Content-Type: text/plain
POST /v1/lookup?size=3x3 | 422 | boards.0: | b'{"boards": [1]}'
POST /v1/lookup?size=3x3 | 200 | | bytes(9 * 1100) | Content-Type: application/octet-stream
POST /v1/lookup?size=3x3 | 413 | 1,100 | bytes(9 * 1101) | Content-Type: application/octet-stream
POST /v1/lookup?size=3x3 | 413 | 1,100 | b'{"boards": [' + b"[]," * 1100 + b"[]]}"
POST /v1/lookup?size=3x3 | 413 | 1,100,000 bytes | b" " * 1_100_001

GET /v1/databases | 400 | --allowed-host | | Host:
GET /metrics | 400 | --allowed-host | | Host: evil.example
GET /metrics | 400 | --allowed-host | | Host: localhost.evil.example
GET /metrics | 400 | --allowed-host | | Host: evil@localhost
GET /metrics | 400 | --allowed-host | | Host: *
GET /metrics | 400 | --allowed-host | | Host: notexample.com
GET /page/app.js | 200 | | | Host: evil.example
GET / | 200 | | | Host: evil.example
GET /v1/lookup?BOARD | 200 | | | Host: LOCALHOST:80
GET /v1/lookup?BOARD | 200 | | | Host: [::1]:8015
GET /v1/lookup?BOARD | 200 | | | Host: a.b.example.com

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
    app: App, request_: str, status: str, detail: str, body: str, headers: str
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
    assert (reply.headers["x-content-type-options"], reply.headers["cache-control"]) == ("nosniff", "no-cache")
    # The page may load only its own files, and is in no frame.
    assert re.match("default-src 'self';.* frame-ancestors 'none'$", reply.headers["content-security-policy"])
    assert reply.headers.get("www-authenticate") == ("Bearer" if status == "401" else None)
    if reply.status >= 400:
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json["status"] == reply.status
        assert detail in reply.json["detail"]
        assert reply.json["detail"].isprintable()
        assert len(reply.json["detail"]) < 1000


def test_preflight_needs_no_token(app: App) -> None:
    preflight = ("Origin", ORIGIN), ("Access-Control-Request-Method", "POST")
    reply = ask(app, "/v1/lookup", *preflight, method="OPTIONS")
    assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert "POST" in reply.headers["access-control-allow-methods"]


def test_all_hosts_and_origins_can_be_allowed(database: Database) -> None:
    app = ready_app(database, cors_origins=(read_origin("*"),), allowed_hosts=(read_host("*"),))
    assert (
        ask(app, LOOKUP, ("Host", "anything.example"), ("Origin", "null")).headers["access-control-allow-origin"] == "*"
    )


def test_requests_are_counted(database: Database) -> None:
    app = ready_app(database)
    for request in ("GET /healthz", "HEAD /healthz", "GET /a", "GET /b", "PUT /v1/lookup"):
        method, _, path = request.partition(" ")
        ask(app, path, method=method)
    found = metrics(app)
    # Clients cannot create new series.
    assert {name: value for name, value in found.items() if re.match("tile_pdb_requests_total", name)} == {
        'tile_pdb_requests_total{method="GET",route="/healthz",status="200"}': 1,
        'tile_pdb_requests_total{method="HEAD",route="/healthz",status="200"}': 1,
        'tile_pdb_requests_total{method="GET",route="other",status="404"}': 2,
        'tile_pdb_requests_total{method="other",route="/v1/lookup",status="405"}': 1,
    }
    assert found['tile_pdb_request_seconds_count{route="/healthz"}'] == 2


@pytest.mark.anyio
@pytest.mark.parametrize("events", [False, True])
async def test_every_fault_is_logged(solvers: HeldSolvers, events: bool, caplog: pytest.LogCaptureFixture) -> None:
    solvers.release.set()
    solvers.error = TableFileDamagedError("secret.h5 is damaged")
    async with running_app(solvers) as app:
        reply = await ask_solve(app, BOARDS[0], events=events).reply()
        assert (reply.status, b'"status":500' in reply.body) == (200 if events else 500, True)
        assert b"secret" not in reply.body
        for logged in ("a request failed", "Traceback", "secret.h5"):
            assert logged in caplog.text


def test_origins_and_hosts_are_read() -> None:
    assert read_origin("HTTPS://Example.org") == ORIGIN
    hosts = ("tiles.lan", "*.example.org", "10.0.0.7", "[fe80::1]", "[::]")
    assert hosts_of("127.0.0.1", "Tiles.lan", *hosts[1:3], "[FE80:0::1]", "::", "::") == (*LOOPBACK, *hosts)
