"""ASGI middleware of the service: hosts, the token, request limits, request ids, headers and metrics."""

import asyncio
import hmac
import logging
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdb_core.errors import OriginError, RequestError, RequestTooLargeError, TokenError
from pdb_core.messages import as_typed
from pdb_service.openapi import Routes
from pdb_service.responses import problem, problem_response, reported_problem
from pdb_service.service import Service
from pdb_service.settings import is_allowed

CLIENT_GONE = 499  # in the metrics: the client has closed the connection
# Origins that are refused and told, each once.
_MOST_TOLD = 100
# Bodies up to this size are read even if large ones fill the memory budget.
_SMALL_BODY_BYTES = 64_000
# An answer is sent in pieces of this size, each after the client has read most of those before.
_PIECE_BYTES = 256_000
_METHODS = ("GET", "OPTIONS", "POST")
# The ids of a proxy that are accepted. Others are replaced: the id goes into the log.
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Load balancers and container probes name the address of the machine; these answers hold no data.
_PATHS_FOR_ANY_HOST = ("/healthz", "/readyz")
# Headers of answers that do not have them.
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
# Requests of the service's own page, and of no page: an address that a user types.
_OWN_SITES = (b"same-origin", b"none")
_LOGGED_CHARACTERS = 400
_log = logging.getLogger("tile_pdb.service")


@dataclass
class Gate:
    """Middleware that checks requests, answers errors as problems, adds headers, and counts requests.

    HEAD is answered and counted as GET; the server leaves out the body. `other` takes all but HTTP, as the lifespan.
    """

    other: ASGIApp
    service: Service
    routes: Routes

    def __post_init__(self) -> None:
        self._settings = self.service.settings
        self._told: set[str] = set()
        # Not for pages of other origins (403). They wait until the first database is loaded.
        self._paths_with_tables = {
            path for path, methods in self.routes.items() if any(403 in route.statuses for route in methods.values())
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.other(scope, receive, send)
            return
        started = time.perf_counter()
        headers = dict(scope["headers"])  # of a repeated header the last
        request_id = headers.get(b"x-request-id", b"").decode("latin-1")
        if not _ACCEPTED_ID.fullmatch(request_id):
            request_id = f"{random.getrandbits(128):032x}"
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        scope = {**scope, "request_id": request_id}
        path = scope["path"].removeprefix(scope.get("root_path", ""))  # of an app that mounts this one
        # The route, not the path, is counted: clients must not be able to create new series.
        parent, _, name = path.rpartition("/")
        route = path if path in self.routes or not name else f"{parent}/{{name}}"
        methods = self.routes.get(route, {})
        exchange = _Exchange(self.service, request_id, receive, send)
        try:
            self._check_head(path, method, headers, [value for name, value in scope["headers"] if name == b"host"])
            # The server refuses a length that is not a number.
            _check_size(int(headers.get(b"content-length", b"0")), self._settings.max_body_bytes)
            if path in self._paths_with_tables and not self.service.databases.is_complete:
                await self.service.wait_until_ready()
            if not methods:
                raise HTTPException(404)
            if method not in methods:  # all paths have GET
                allowed = ", ".join(sorted({"HEAD", *methods}))
                raise HTTPException(405, headers={"Allow": allowed})
            response = await methods[method].endpoint(Request(scope, exchange.receive))
            await response(scope, exchange.receive, exchange.send)
            if not exchange.is_sent:
                exchange.status = CLIENT_GONE
        except ClientDisconnect:
            # Or the body is malformed: the server does not tell these apart.
            found = problem(RequestError("the body of the request is incomplete or malformed"))
            await problem_response(found)(scope, receive, exchange.send)
            exchange.status = CLIENT_GONE
        except Exception as error:
            found = reported_problem(error, request_id)
            if exchange.status:
                raise  # the server then cuts the answer
            await problem_response(found, getattr(error, "headers", None))(scope, receive, exchange.send)
        finally:
            self.service.n_held_bytes -= exchange.n_held_bytes
            known_method = method if method in _METHODS else "other"
            seconds = time.perf_counter() - started
            self.service.metrics.count_request(route if methods else "other", known_method, exchange.status, seconds)
            if self._settings.access_log:
                asked = as_typed(f"{scope['method']} {scope['path']}", _LOGGED_CHARACTERS)
                _log.info("%s %s %d %.3f s", request_id, asked, exchange.status, seconds)

    def _check_head(self, path: str, method: str, headers: Mapping[bytes, bytes], hosts: Sequence[bytes]) -> None:
        """Raise `RequestError` or a subclass, `OriginError` or `TokenError` for a request refused by its head."""
        is_served = len(hosts) == 1 and is_allowed(hosts[0], self._settings.allowed_hosts)
        if not is_served and path not in _PATHS_FOR_ANY_HOST and "*" not in self._settings.allowed_hosts:
            raise RequestError(
                f"this server does not answer for host {as_typed(b', '.join(hosts).decode('latin-1'))!r}; name its "
                "hosts with --allowed-host"
            )
        if path in self._paths_with_tables:
            self._check_origin(headers)
        token = self._settings.token
        needs_token = path.startswith("/v1/") or path == "/metrics"
        if token is not None and needs_token and method != "OPTIONS":
            given = headers.get(b"authorization")
            if given is None:
                raise TokenError("this server requires a token; send it as Authorization: Bearer TOKEN")
            scheme, _, sent = given.partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(sent.strip(), token.encode()):
                raise TokenError(
                    "this is not the token of this server; send the right one as Authorization: Bearer TOKEN"
                )

    def _check_origin(self, headers: Mapping[bytes, bytes]) -> None:
        """Raise `OriginError` for a request of a page of another origin that is not allowed.

        Such a page cannot read the answer, but it would take the place of a search. Browsers name the site in all
        requests by HTTPS or to this machine, and the origin in all requests by POST; other programs name neither.
        """
        given, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        if given is None and site is None:
            return
        origin = (given or b"").decode("latin-1")
        if origin in self._settings.cors_origins or "*" in self._settings.cors_origins:
            return
        # Behind a proxy the host may have another port than the page. The browser itself knows the site.
        if site is None:
            is_foreign = origin.partition("://")[2] != headers.get(b"host", b"").decode("latin-1")
        else:
            is_foreign = site not in _OWN_SITES
        if is_foreign:
            # Browsers write `null` for a page that was opened as a file.
            page = "without an origin" if origin == "null" else f"of {as_typed(origin) or 'another site'}"
            others = "all, or serve it over HTTP and allow its origin," if origin == "null" else "its origin"
            refused = OriginError(f"a web page {page} sent this request; allow {others} with --cors-origin")
            # Once each: a page may send many requests.
            if origin not in self._told and len(self._told) < _MOST_TOLD:
                self._told.add(origin)
                _log.warning("refused: %s", refused)
            raise refused


@dataclass
class _Exchange:
    """A request with its answer: limits of the body, headers of the answer, and the memory that both take."""

    service: Service
    request_id: str
    receive_part: Receive
    send_part: Send
    status: int = 0
    n_held_bytes: int = 0
    n_body_bytes: int = 0
    is_received: bool = False
    is_sent: bool = False
    deadline: float | None = None

    def _hold(self, n_bytes: int) -> None:
        self.n_held_bytes += n_bytes
        self.service.n_held_bytes += n_bytes

    async def receive(self) -> Message:
        """Return the next part of the body. Raises if it is too large or too slow, or exceeds the memory budget."""
        if self.is_received:  # only the end of the connection may follow
            return await self.receive_part()
        settings = self.service.settings
        if self.deadline is None:
            self.deadline = asyncio.get_running_loop().time() + settings.request_s
        try:
            async with asyncio.timeout_at(self.deadline):
                message = await self.receive_part()
        except TimeoutError:
            raise RequestError(f"the body took more than {settings.request_s:.0f} seconds; send smaller ones") from None
        n_new = len(message.get("body", b""))
        self.n_body_bytes += n_new
        self._hold(n_new)
        self.is_received = not message.get("more_body", False)
        _check_size(self.n_body_bytes, settings.max_body_bytes)
        if self.n_body_bytes > _SMALL_BODY_BYTES:
            self.service.check_memory()
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer. Unread parts wait here, where they are counted, not in the server."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message["headers"]
            headers.append((b"x-request-id", self.request_id.encode()))
            headers += [header for header in _HEADERS if all(header[0] != name for name, _ in headers)]
        elif not message.get("more_body", False):
            self.is_sent = True
        body = message.get("body", b"")
        if len(body) <= _PIECE_BYTES:
            await self.send_part(message)
            return
        self._hold(len(body))
        for start in range(0, len(body), _PIECE_BYTES):
            more = message.get("more_body", False) or start + _PIECE_BYTES < len(body)
            await self.send_part({**message, "body": body[start : start + _PIECE_BYTES], "more_body": more})


def _check_size(n_bytes: int, most_bytes: int) -> None:
    if n_bytes > most_bytes:
        raise RequestTooLargeError(f"the body has more than the {most_bytes:,} bytes allowed here; send less")
