"""Runs an app: the socket, the signals, and what a connection may do before there is a request."""

import asyncio
import logging
import resource
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pdb_core.errors import InputError
from pdb_query.service.service import Service
from pdb_query.service.systemd import handed_socket

_log = logging.getLogger("tile_pdb.service")
# A head may take this long to arrive, and this many bytes.
_HEAD_S = 10.0
_MAX_HEAD_BYTES = 64_000
_KEEP_ALIVE_S = 30
_BACKLOG = 2048
# Connections beside which no other request is answered but by 503.
_MAX_CONNECTIONS = 1000


def open_socket(host: str, port: int) -> socket.socket:
    """The socket to listen on: one that systemd hands over, else a new one. Raises `InputError`."""
    handed = handed_socket()
    if handed is not None:
        return handed
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen on {host} port {port}: {reason}; choose another with --host and --port"
        ) from None


def serve(app: FastAPI, listener: socket.socket, *, access_log: bool = False) -> None:
    """Answer on `listener` until SIGTERM or SIGINT; then answer what runs, within the time of grace, and return.

    Raises `KeyboardInterrupt` where it was SIGINT.
    """
    service: Service = app.state.service
    _raise_file_limit()
    config = uvicorn.Config(
        app,
        http=_Protocol,
        loop="uvloop",
        ws="none",
        lifespan="on",
        access_log=access_log,
        log_config=None,
        log_level="info" if access_log else "warning",
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        limit_concurrency=_MAX_CONNECTIONS,
        backlog=_BACKLOG,
        # Searches end by themselves when the time of grace is over; this is for whatever else hangs.
        timeout_graceful_shutdown=int(service.settings.grace_s) + 5,
    )
    server = _Server(config, service.queue.stop)
    server.run(sockets=[listener])
    if server.stopped_by == signal.SIGINT:
        raise KeyboardInterrupt


class _Server(uvicorn.Server):
    """A server that tells when it is going to stop: searches must know before they are waited for."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self.stopped_by: int | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 (the signature is uvicorn's)
        # uvicorn's own raises the signal once more in the end, so that a clean stop would look like a crash.
        self._on_stop()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        self.stopped_by = sig


class _Protocol(HttpToolsProtocol):
    """A connection that is closed where a head is too long in coming, or too large.

    uvicorn limits neither: a client that sends a header without end, or nothing, would hold memory or a connection for
    ever.
    """

    _head_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._have_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head_timer is not None and self._head_bytes > _MAX_HEAD_BYTES:
            self.send_400_response("The head of the request is too large.")
            return
        super().data_received(data)
        if self._head_timer is not None:
            self._head_bytes += len(data)

    def on_message_begin(self) -> None:
        self._expect_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._have_head()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._have_head()
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(_HEAD_S, self._close)

    def _have_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def _raise_file_limit() -> None:
    """As many connections as the system lets this process have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
