"""What stands before every request: the token, the size of bodies, the time they take to arrive, and the count."""

import asyncio
import hmac
import re
import secrets
import time
from collections.abc import Callable

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pdb_core.errors import BusyError, RequestError, RequestTooLargeError, TokenError
from pdb_service.memory_budget import Room
from pdb_service.metrics import Metrics
from pdb_service.problems import problem, problem_response, reported_problem
from pdb_service.settings import ServiceSettings

# Bodies up to this are read even where large ones fill the room.
_SMALL_BODY_BYTES = 64_000
# An answer goes out in pieces of this size, each when the client has read most of those before.
_PIECE_BYTES = 256_000
_METHODS = ("GET", "OPTIONS", "POST")
CLIENT_GONE = 499  # for the count of requests: the client has closed the connection
_REQUEST_ID = b"x-request-id"
# An id that a proxy has given. Others are replaced: the id goes into the log.
_GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Gate:
    """An ASGI middleware: refuses what is not allowed, answers errors as problems, measures the rest."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, room: Room, metrics: Metrics) -> None:
        self._app, self._settings, self._room, self._metrics = app, settings, room, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        with self._room.share() as take:

            async def noting(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    id_header = _REQUEST_ID, request_id.encode()
                    message = {**message, "headers": [*message.get("headers", ()), id_header]}
                await _send_in_pieces(message, send, take)

            try:
                self._check_token(scope)
                self._check_length(scope)
                await self._app(scope, self._counted(receive, take), noting)
            except ClientDisconnect:
                status = CLIENT_GONE
            except Exception as error:
                body = reported_problem(error, request_id)
                if status:
                    raise
                await problem_response(body)(scope, receive, noting)
            except asyncio.CancelledError:
                # The server ends, and the request has not: the time of grace was too short for it.
                if status:
                    raise
                await problem_response(problem(BusyError("this server has stopped; ask again")))(scope, receive, noting)
            finally:
                # The route, not the path: what clients make up must not become new series.
                route = getattr(scope.get("route"), "path", "other")
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._metrics.seconds.labels(route).observe(time.perf_counter() - started)
                self._metrics.requests.labels(route, method, status).inc()

    def _check_length(self, scope: Scope) -> None:
        """Raise `RequestTooLargeError` where the head tells of a body that is too large."""
        n_bytes = _content_length(scope)
        if n_bytes is not None and n_bytes > self._settings.max_body_bytes:
            raise RequestTooLargeError(self._too_large())

    def _counted(self, receive: Receive, take: Callable[[int], None]) -> Receive:
        """`receive`, which gives up on a body that is too large, takes too long, or for which there is no room."""
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
            n_new = len(message.get("body", b""))
            n_bytes += n_new
            take(n_new)
            is_complete = not message.get("more_body", False)
            if n_bytes > self._settings.max_body_bytes:
                raise RequestTooLargeError(self._too_large())
            if n_bytes > _SMALL_BODY_BYTES:
                self._room.check()
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


def _request_id(scope: Scope) -> str:
    """Return the id of a request: the one that a proxy has given it, or a new one."""
    given = next((value for name, value in scope["headers"] if name == _REQUEST_ID), b"")
    return given.decode() if _GIVEN_ID.fullmatch(given) else secrets.token_hex(16)


async def _send_in_pieces(message: Message, send: Send, take: Callable[[int], None]) -> None:
    """Send a part of an answer. What a client does not read waits here, counted, and not uncounted in a socket."""
    body = message.get("body", b"")
    if len(body) <= _PIECE_BYTES:
        await send(message)
        return
    take(len(body))
    for start in range(0, len(body), _PIECE_BYTES):
        is_last = start + _PIECE_BYTES >= len(body)
        more = message.get("more_body", False) or not is_last
        await send({**message, "body": body[start : start + _PIECE_BYTES], "more_body": more})


def _content_length(scope: Scope) -> int | None:
    """The length that the request tells. Raises `RequestError` where that is no number."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit():
                raise RequestError("Content-Length is no number")
            return int(value[:20])
    return None
