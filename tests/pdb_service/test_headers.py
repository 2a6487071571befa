"""Headers of the service: Host, HEAD, CORS, Cache-Control; no redirects."""

import asyncio
import json
from typing import Any

import pytest
from fastapi import FastAPI

from pdb_core.errors import InputError
from pdb_service.settings import (
    LOOPBACK,
    ServiceSettings,
    advice,
    hosts_of,
    read_host,
    read_origin,
)
from tests.pdb_service.app_requests import AppRequest, ready_app
from tests.pdb_service.server import Reply

ORIGIN = ("Origin", "https://example.org")
BOARD = "/v1/lookup?board=8+6+7/2+5+4/3+0+1"
PATHS = (
    "/", "/page/app.js", "/page/none.js", "/v1/databases", BOARD, "/v1/lookup", "/v1/lookup/", "/v1/moves", "/v1/solve",
    "/v1/instances", "/v1/instances/hardest80", "/v1/instances/none", "/healthz", "/readyz", "/metrics",
    "/openapi.json", "/nowhere",
)  # fmt: skip


@pytest.fixture(scope="module")
def app(database: Any) -> FastAPI:
    return app_of(database)


def app_of(database: Any, **changes: Any) -> FastAPI:
    return ready_app(database, ServiceSettings(cors_origins=(ORIGIN[1],), **changes))


def ask(
    app: FastAPI, path: str, *headers: tuple[str, str], method: str = "GET", host: str | None = "localhost"
) -> Reply:
    """Return the answer to one request. With `host=None` it has no Host header."""
    path, _, query = path.partition("?")
    named = [*((("Host", host),) if host is not None else ()), *headers]

    async def work() -> Reply:
        return await AppRequest(app, path, method=method, headers=named, query=query.encode()).reply()

    return asyncio.run(work())


def is_problem(answer: Reply, status: int, match: str = "") -> bool:
    return (
        answer.status == status
        and answer.headers["content-type"] == "application/problem+json"
        and match in json.loads(answer.body)["detail"]
    )


# -- CORS, nosniff, Cache-Control -------------------------------------------------------------------------------------


def is_complete(answer: Reply) -> bool:
    """Return whether an answer to the allowed origin has the headers of every answer."""
    return (
        answer.headers.get("access-control-allow-origin") == ORIGIN[1]
        and "Origin" in answer.headers["vary"]
        and answer.headers.get("x-content-type-options") == "nosniff"
        and "x-request-id" in answer.headers
        and answer.headers.get("cache-control") in ("no-store", "no-cache")
    )


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_its_headers_and_no_redirect(app: FastAPI, path: str) -> None:
    answers = {method: ask(app, path, ORIGIN, method=method) for method in ("GET", "POST", "PUT", "OPTIONS")}
    for name in (path.partition("?")[0] + "/", path.partition("?")[0] + "//"):
        answers[name] = ask(app, name, ORIGIN)
    for name, answer in answers.items():
        assert is_complete(answer), (name, answer)
        assert answer.status not in range(300, 400), (name, answer)


def test_refused_requests_have_their_headers(database: Any) -> None:
    app = app_of(database, token="s3cret")
    assert is_problem(answer := ask(app, BOARD, ORIGIN), 401)
    assert is_complete(answer)
    assert is_problem(answer := ask(app, "/", ORIGIN, ("Content-Length", "17000000")), 413)
    assert is_complete(answer)


def test_errors_of_the_server_have_their_headers(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("a bug")

    app = app_of(database)
    monkeypatch.setattr(app.state.service.databases, "place", fail)
    answer = ask(app, BOARD, ORIGIN)
    assert is_problem(answer, 500)
    assert is_complete(answer)


def test_allowed_origin_may_read_retry_after_and_others_nothing(app: FastAPI) -> None:
    answer = ask(app, BOARD, ORIGIN)
    assert "Retry-After" in answer.headers["access-control-expose-headers"]
    for origin in ("https://example.com", "http://example.org", "null", ""):
        assert "access-control-allow-origin" not in ask(app, BOARD, ("Origin", origin)).headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        # Behind a proxy that leaves out the port in Host.
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://localhost:8443"}, 200),
        ({"Origin": "https://localhost"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Origin": ORIGIN[1]}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        # Another port of this machine, or a neighbour such as www.example.org.
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_pages_of_other_sites_start_no_searches(app: FastAPI, headers: dict[str, str], status: int) -> None:
    for path in ("/v1/lookup", "/v1/moves", "/v1/solve"):
        answer = ask(app, f"{path}?board=2+1+3/4+5+6/7+8+0", *headers.items())
        assert answer.status == status, path
        assert status == 200 or is_problem(answer, 403, "--cors-origin")
    assert ask(app, "/", *headers.items()).status == 200


def test_all_origins_can_be_allowed(database: Any) -> None:
    app = ready_app(database, ServiceSettings(cors_origins=("*",)))
    assert ask(app, BOARD, ("Sec-Fetch-Site", "cross-site"), ("Origin", "null")).status == 200


# -- Host -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8015", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2", "[::2]", "",
     "localhost:", "localhost:x", "localhost:80:80", "evil@localhost", "localhost/", "[::1", "::1", "*", " localhost"],
)  # fmt: skip
def test_other_hosts_are_refused(app: FastAPI, host: str) -> None:
    for path in ("/", BOARD, "/metrics", "/openapi.json", "/nowhere"):
        answer = ask(app, path, ORIGIN, host=host)
        assert is_problem(answer, 400, "--allowed-host")
        assert is_complete(answer)


def test_only_one_host_is_accepted_except_for_health(app: FastAPI) -> None:
    assert is_problem(ask(app, BOARD, host=None), 400, "--allowed-host")
    assert is_problem(ask(app, BOARD, ("Host", "evil.example")), 400, "--allowed-host")
    for host in ("10.1.2.3:8015", None):
        for path in ("/healthz", "/readyz"):
            assert ask(app, path, host=host).status == 200


@pytest.mark.parametrize(
    ("allowed", "accepted", "refused"),
    [
        (LOOPBACK, ["localhost", "LOCALHOST:80", "127.0.0.1:8015", "[::1]", "[::1]:8015"], []),
        (("tiles.example.org",), ["tiles.example.org"], ["www.tiles.example.org", "example.org", "localhost"]),
        (("*.example.com",), ["a.b.example.com", ".example.com"], ["example.com", "notexample.com"]),
        (("*",), ["anything.example"], []),
    ],
)
def test_allowed_hosts_are_names_patterns_or_all(
    database: Any, allowed: tuple[str, ...], accepted: list[str], refused: list[str]
) -> None:
    app = app_of(database, allowed_hosts=allowed)
    assert {ask(app, BOARD, host=host).status for host in accepted} == {200}
    assert {ask(app, BOARD, host=host).status for host in refused} <= {400}


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "host"),
    [("tiles.example.org", "tiles.example.org"), ("Tiles", "tiles"), ("*.example.org", "*.example.org"), ("*", "*"),
     ("10.0.0.7", "10.0.0.7"), ("::1", "[::1]"), ("[FE80:0::1]", "[fe80::1]"), ("a_b-c", "a_b-c")],
)  # fmt: skip
def test_valid_hosts_are_read(text: str, host: str) -> None:
    assert read_host(text) == host


@pytest.mark.parametrize(
    "text",
    ["", " ", "https://example.org", "example.org:80", "example.org/", "*example.org", "a.*", "**", "[::1]:80", "a b",
     "a..b", ".a", "[a]", "\u0661", "*."],
)  # fmt: skip
def test_invalid_hosts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--allowed-host"):
        read_host(text)


@pytest.mark.parametrize("text", ["https://example.org", "http://localhost:3000", "http://[::1]:80", "app://page", "*"])
def test_origins_are_read(text: str) -> None:
    assert read_origin(text) == text
    assert read_origin(text.upper()) == text


@pytest.mark.parametrize("text", ["", "example.org", "https://", "https://example.org/", "https://a/b", "null", "//a"])
def test_invalid_origins_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--cors-origin"):
        read_origin(text)


def test_server_answers_for_its_own_addresses() -> None:
    assert hosts_of("127.0.0.1", "127.0.0.1") == LOOPBACK
    assert hosts_of("tiles.lan", "10.0.0.7") == (*LOOPBACK, "tiles.lan", "10.0.0.7")
    assert hosts_of("::", "::") == (*LOOPBACK, "[::]")


def test_server_on_all_addresses_advises_allowed_hosts() -> None:
    for address in ("0.0.0.0", "::"):
        assert "--allowed-host" in (advice(address, ()) or "")
        assert advice(address, ("tiles.example.org",)) is None
    assert advice("10.0.0.7", ()) is None
