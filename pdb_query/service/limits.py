"""What stands before every request: the token, the size of bodies, the time they take to arrive, and the count."""

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable

from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdb_core.errors import BusyError, PdbError, RequestError, RequestTooLargeError, TokenError
from pdb_query.service.problems import problem, problem_body, problem_response
from pdb_query.service.settings import ServiceSettings

_log = logging.getLogger("tile_pdb.service")
# Bodies above this wait for room, so that many at once do not fill the memory.
_SMALL_BODY_BYTES = 64_000
_LARGE_BODIES = 4


class Gate:
    """An ASGI middleware: refuses what is not allowed, answers errors as problems, measures the rest."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, seconds: Histogram, requests: Counter) -> None:
        self._app, self._settings = app, settings
        self._seconds, self._requests = seconds, requests
        self._room = asyncio.Semaphore(_LARGE_BODIES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            self._check_token(scope)
            await self._pass_on(scope, receive, noting)
        except PdbError as error:
            if status:
                raise
            await problem_response(problem(error))(scope, receive, noting)
        except Exception:
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if status:
                raise
            body = problem_body(500, "the server failed to answer; its log says why")
            await problem_response(body)(scope, receive, noting)
        finally:
            # The route, not the path: what clients make up must not become new series.
            route = getattr(scope.get("route"), "path", "other")
            self._seconds.labels(route).observe(time.perf_counter() - started)
            self._requests.labels(route, scope["method"] if route != "other" else "", status).inc()

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, its body counted. Large ones wait for room."""
        n_bytes = _content_length(scope)
        if n_bytes is not None and n_bytes > self._settings.max_body_bytes:
            raise RequestTooLargeError(self._too_large())
        if scope["method"] in ("GET", "HEAD") or (n_bytes is not None and n_bytes <= _SMALL_BODY_BYTES):
            await self._app(scope, self._counted(receive), send)
            return
        try:
            async with asyncio.timeout(self._settings.request_s):
                await self._room.acquire()
        except TimeoutError:
            raise BusyError("too many large requests at once; send smaller ones, or this one later") from None
        try:
            await self._app(scope, self._counted(receive), send)
        finally:
            self._room.release()

    def _counted(self, receive: Receive) -> Callable[[], Awaitable[Message]]:
        """`receive`, which gives up on a body that is too large or takes too long."""
        n_bytes = 0
        is_complete = False
        deadline = time.monotonic() + self._settings.request_s

        async def counted() -> Message:
            nonlocal n_bytes, is_complete
            if is_complete:  # what may come now is that the client has gone
                return await receive()
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise RequestError(f"the body took more than {self._settings.request_s:.0f} seconds") from None
            n_bytes += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if n_bytes > self._settings.max_body_bytes:
                raise RequestTooLargeError(self._too_large())
            return message

        return counted

    def _too_large(self) -> str:
        return f"a request may have {self._settings.max_body_bytes:,} bytes here; send several"

    def _check_token(self, scope: Scope) -> None:
        """Raise `TokenError` where a token is wanted and not shown."""
        token = self._settings.token
        path = scope["path"]
        if token is None or not (path.startswith("/v1/") or path == "/metrics") or scope["method"] == "OPTIONS":
            return
        shown = dict(scope["headers"]).get(b"authorization", b"")
        if not hmac.compare_digest(shown, b"Bearer " + token.encode()):
            raise TokenError("this server wants its token: send it as Authorization: Bearer TOKEN")


def _content_length(scope: Scope) -> int | None:
    """The length that the request tells. Raises `RequestError` where that is no number."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit():
                raise RequestError("Content-Length is no number")
            return int(value[:20])
    return None
