"""ASGI middleware of the service: the token, request limits, request ids, hosts, and headers of every answer."""

import asyncio
import contextlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdb_core.errors import BusyError, RequestError, RequestTooLargeError, TokenError
from pdb_core.messages import as_typed
from pdb_service.hosts import is_allowed
from pdb_service.metrics import Metrics
from pdb_service.problems import problem, problem_response, reported_problem
from pdb_service.settings import ServiceSettings

CLIENT_GONE = 499  # in the metrics: the client has closed the connection
# Bodies up to this size are read even if large ones fill the memory budget.
_SMALL_BODY_BYTES = 64_000
# An answer is sent in pieces of this size, each after the client has read most of those before.
_PIECE_BYTES = 256_000
_METHODS = ("GET", "OPTIONS", "POST")
_REQUEST_ID = b"x-request-id"
# The ids of a proxy that are accepted. Others are replaced: the id goes into the log.
_ACCEPTED_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_DEFAULT_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
# Load balancers and container probes name the address of the machine; these answers hold no data.
_PATHS_FOR_ANY_HOST = ("/healthz", "/readyz")


class DefaultHeaders:
    """Middleware that adds the headers which an answer does not set itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _DEFAULT_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class HeadAsGet:
    """Middleware that lets every GET route answer HEAD. The server leaves out the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A copy: the server reads in its own scope that the method is HEAD.
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app({**scope, "method": "GET"} if is_head else scope, receive, send)


class TrustedHosts:
    """Middleware that raises `RequestError` for requests to hosts that are not allowed.

    Starlette's `TrustedHostMiddleware` answers in plain text without a reason, and refuses all IPv6 addresses before
    version 1.7.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Collection[str]) -> None:
        self._app, self._allowed_hosts = app, allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _PATHS_FOR_ANY_HOST and "*" not in self._allowed_hosts:
            hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1 or not is_allowed(hosts[0], self._allowed_hosts):
                named = f"host {as_typed(hosts[0])!r}" if len(hosts) == 1 else f"{len(hosts)} Host headers"
                raise RequestError(f"this server does not answer for {named}; name its hosts with --allowed-host")
        await self._app(scope, receive, send)


class MemoryBudget:
    """Count of the bytes of bodies and answers in memory. Not thread-safe: for the event loop."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.n_bytes = 0

    @contextlib.contextmanager
    def request(self) -> Iterator[Callable[[int], None]]:
        """Yield a function that adds bytes of one request; subtract them all when the request ends."""
        n_taken = 0

        def take(n_bytes: int) -> None:
            nonlocal n_taken
            n_taken += n_bytes
            self.n_bytes += n_bytes

        try:
            yield take
        finally:
            self.n_bytes -= n_taken

    def check(self) -> None:
        """Raise `BusyError` if the budget is used up."""
        if self.n_bytes > self._max_bytes:
            raise BusyError("too many large requests at once; send smaller ones, or this one later")


class Gate:
    """Middleware that checks the token and the body of a request, answers errors as problems, and counts requests."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, memory: MemoryBudget, metrics: Metrics) -> None:
        self._app, self._settings, self._memory, self._metrics = app, settings, memory, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        with self._memory.request() as take:

            async def send_with_id(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    headers = [*message.get("headers", ()), (_REQUEST_ID, request_id.encode())]
                    message = {**message, "headers": headers}
                await _send_in_pieces(message, send, take)

            try:
                self._check_head(scope)
                await self._app(scope, self._limited(receive, take), send_with_id)
            except ClientDisconnect:
                status = CLIENT_GONE
            except Exception as error:
                body = reported_problem(error, request_id)
                if status:
                    raise
                await problem_response(body)(scope, receive, send_with_id)
            except asyncio.CancelledError:
                # The server ends, and the request took longer than the time of grace.
                if status:
                    raise
                body = problem(BusyError("this server has stopped; try again"))
                await problem_response(body)(scope, receive, send_with_id)
            finally:
                # The route, not the path: clients must not be able to create new series.
                route = getattr(scope.get("route"), "path", "other")
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._metrics.seconds.labels(route).observe(time.perf_counter() - started)
                self._metrics.requests.labels(route, method, status).inc()

    def _check_head(self, scope: Scope) -> None:
        """Raise `TokenError` if a required token is missing, and `RequestTooLargeError` for a large Content-Length."""
        headers = dict(scope["headers"])
        token = self._settings.token
        needs_token = scope["path"].startswith("/v1/") or scope["path"] == "/metrics"
        if token is not None and needs_token and scope["method"] != "OPTIONS":
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + token.encode()):
                raise TokenError("this server requires a token; send it as Authorization: Bearer TOKEN")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise RequestError("Content-Length is not a number")
        self._check_size(int(length[:20]))

    def _check_size(self, n_bytes: int) -> None:
        if n_bytes > self._settings.max_body_bytes:
            raise RequestTooLargeError(f"a request may have {self._settings.max_body_bytes:,} bytes; send several")

    def _limited(self, receive: Receive, take: Callable[[int], None]) -> Receive:
        """Return a `receive` that raises for a body that is too large or too slow, or exceeds the memory budget."""
        n_bytes = 0
        is_complete = False
        deadline = time.monotonic() + self._settings.request_s

        async def limited() -> Message:
            nonlocal n_bytes, is_complete
            if is_complete:  # only the end of the connection may follow
                return await receive()
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise RequestError(f"the body took more than {self._settings.request_s:.0f} seconds") from None
            n_new = len(message.get("body", b""))
            n_bytes += n_new
            take(n_new)
            is_complete = not message.get("more_body", False)
            self._check_size(n_bytes)
            if n_bytes > _SMALL_BODY_BYTES:
                self._memory.check()
            return message

        return limited


def _request_id(scope: Scope) -> str:
    """Return the id of a request: an accepted one of a proxy, else a new one."""
    given = next((value for name, value in scope["headers"] if name == _REQUEST_ID), b"")
    return given.decode() if _ACCEPTED_ID.fullmatch(given) else secrets.token_hex(16)


async def _send_in_pieces(message: Message, send: Send, take: Callable[[int], None]) -> None:
    """Send a part of an answer. Unread parts wait here, where they are counted, not in the buffer of a socket."""
    body = message.get("body", b"")
    if len(body) <= _PIECE_BYTES:
        await send(message)
        return
    take(len(body))
    for start in range(0, len(body), _PIECE_BYTES):
        is_last = start + _PIECE_BYTES >= len(body)
        more = message.get("more_body", False) or not is_last
        await send({**message, "body": body[start : start + _PIECE_BYTES], "more_body": more})
