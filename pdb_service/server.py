"""The server process: sockets, signals, uvicorn, and the protocol of systemd, sd_listen_fds(3) and sd_notify(3)."""

import contextlib
import ctypes
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI

from pdb_core.errors import InputError, PdbError, ServiceError
from pdb_core.messages import as_typed
from pdb_core.resources import raise_file_limit
from pdb_service.connection_limits import Connection
from pdb_service.service import Service

_BACKLOG = 2048
# Of malloc.h.
_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK_BYTES = 65_536
_SYSTEMD_SOCKET = 3


def open_socket(host: str, port: int) -> socket.socket:
    """Return the socket to listen on: that of systemd, else a new one. Raises `InputError`."""
    inherited = _systemd_socket()
    if inherited is not None:
        return inherited
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except UnicodeError:  # a part between two dots is empty or too long
        raise InputError(f"{as_typed(host)} is not a host name; choose another with --host") from None
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen on {host} port {port}: {reason}; choose another with --host and --port"
        ) from None


def serve(app: FastAPI, listener: socket.socket, *, access_log: bool = False) -> None:
    """Answer requests until SIGTERM or SIGINT; then answer running requests, within the time of grace, and return.

    Raises `KeyboardInterrupt` if it was SIGINT. Raises `ServiceError`, or the `PdbError` that was the cause, if the
    service cannot be made ready.
    """
    service: Service = app.state.service
    raise_file_limit()
    _give_back_memory()
    config = uvicorn.Config(
        app,
        http=Connection,
        loop="auto",  # uvloop if it is installed, else asyncio: uvloop is not made for Windows
        ws="none",
        lifespan="on",
        access_log=access_log,
        log_config=None,
        # uvicorn warns of what clients send: that must not fill the log.
        log_level="info" if access_log else "error",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=service.settings.keep_alive_s,
        # Reached only if all connections have a current request, see Connection.
        limit_concurrency=service.settings.max_connections + 1,
        backlog=_BACKLOG,
        # Searches end by themselves after the time of grace; this bounds all other requests.
        timeout_graceful_shutdown=int(service.settings.grace_s) + 5,
    )
    server = _Server(config, service.searches.stop)
    service.on_failure = partial(setattr, server, "should_exit", True)
    server.run(sockets=[listener])
    if server.stopped_by == signal.SIGINT:
        raise KeyboardInterrupt
    failure = service.failure
    if isinstance(failure, PdbError):
        raise failure
    if failure is not None:
        raise ServiceError(
            f"the service could not be made ready: {type(failure).__name__}: {failure}; its log has the traceback"
        ) from failure


class _Server(uvicorn.Server):
    """Server of uvicorn that calls `on_stop` before it waits for requests: searches have to end first."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self.stopped_by: int | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 (the signature is uvicorn's)
        # uvicorn's own raises the signal again in the end: a clean stop would look like a crash.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stopped_by = sig
        self._on_stop()
        self.should_exit = True


def _give_back_memory() -> None:
    """Let malloc return large blocks of memory to the system when they are freed.

    By default glibc keeps them in heaps that never shrink: large bodies, one after the other, would let the process
    grow to several times the memory of one. Other C libraries lack the setting.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)


def _systemd_socket() -> socket.socket | None:
    """Return the socket that systemd listens on for this process, if any. Raises `InputError` if it is not TCP."""
    n_sockets = os.environ.get("LISTEN_FDS", "0")
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or n_sockets == "0":
        return None
    if n_sockets != "1":
        raise InputError(f"systemd passes {n_sockets} sockets; keep one ListenStream in the socket unit")
    try:
        listener = socket.socket(fileno=_SYSTEMD_SOCKET)
    except OSError as error:
        raise InputError(f"systemd passes no socket: {error.strerror}; check the socket unit") from None
    if listener.family not in (socket.AF_INET, socket.AF_INET6) or listener.type != socket.SOCK_STREAM:
        listener.close()
        raise InputError("the socket of systemd is not TCP; write ListenStream=ADDRESS:PORT")
    return listener


def notify_systemd() -> None:
    """Report to systemd, if it started this process, that the service is ready."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address or not hasattr(socket, "AF_UNIX"):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"READY=1", "\0" + address[1:] if address.startswith("@") else address)
