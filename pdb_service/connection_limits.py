"""Limits of a connection: the size and time of a request head, unread answers, idle connections.

uvicorn limits none of these: an endless head, a missing head or an unread answer would hold memory or a connection for
ever.
"""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pdb_service.settings import ServiceSettings

# Requests that a client may send before the first one is answered; more are invalid, as too large heads are.
_MAX_PIPELINED = 100


class _QuietTransport:
    """Transport that ignores writes after its end, as those of asyncio do; those of uvloop raise `RuntimeError`."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def pause_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(HttpToolsProtocol):
    """Connection that is closed if it exceeds a limit, or if it is idle and a new connection needs its slot."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        service = self.config.app.state.service  # type: ignore[union-attr]
        self._settings: ServiceSettings = service.settings
        # Connections of this server without a current request, the longest idle first.
        self._idle: dict[Connection, None] = service.idle_connections
        self._head_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        # Bytes received of this message outside its body. Sizes of chunks may take as many bytes as the body.
        self._other_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= self._settings.max_connections and self._idle:
            longest = next(iter(self._idle))
            del self._idle[longest]
            self.connections.discard(longest)
            longest.transport.abort()
        super().connection_made(cast(asyncio.Transport, _QuietTransport(transport)))
        self._idle[self] = None
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle.pop(self, None)
        self._unset_keepalive_if_required()
        self._head_timer = _cancelled(self._head_timer)
        self._stall_timer = _cancelled(self._stall_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._other_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._other_bytes > self._settings.max_head_bytes:
            self.send_400_response("The head of the request is too large.")
        elif self._head_timer is None and self in self._idle:
            # The rest of an unread body, or empty lines: neither may go on for ever.
            self._expect_head()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            # uvicorn would parse all that it has read, up to 256 kB, and read on after each answer.
            raise ValueError("too many requests wait behind one that is not answered")
        self._header_bytes = 0
        self._expect_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count_header(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_header(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_timer = _cancelled(self._head_timer)
        self._idle.pop(self, None)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._other_bytes -= 2 * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._other_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._idle[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall_timer = _cancelled(self._stall_timer)
        # abort, not close: that would wait for the client to read.
        self._stall_timer = self.loop.call_later(self._settings.stall_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._stall_timer = _cancelled(self._stall_timer)
        super().resume_writing()

    def _count_header(self, n_bytes: int) -> None:
        self._header_bytes += n_bytes
        if self._header_bytes > self._settings.max_head_bytes:
            # After an exception in a callback the parser reports an invalid request, which is answered with 400.
            raise ValueError("the head of the request is too large")

    def _expect_head(self) -> None:
        self._head_timer = _cancelled(self._head_timer)
        self._head_timer = self.loop.call_later(self._settings.head_s, self.transport.close)


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    if timer is not None:
        timer.cancel()
    return None
