"""Runs an app: the socket, the signals, the server."""

import contextlib
import ctypes
import logging
import resource
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI

from pdb_core.errors import InputError, PdbError, ServiceError
from pdb_core.messages import as_typed
from pdb_service.connection_limits import Connection
from pdb_service.service import Service
from pdb_service.systemd import handed_socket

_log = logging.getLogger("tile_pdb.service")
_BACKLOG = 2048
# Of malloc.h.
_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK_BYTES = 65_536


def open_socket(host: str, port: int) -> socket.socket:
    """The socket to listen on: one that systemd hands over, else a new one. Raises `InputError`."""
    handed = handed_socket()
    if handed is not None:
        return handed
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except UnicodeError:  # a part between two dots is empty or too long
        raise InputError(f"{as_typed(host)} is not the name of a host; choose another with --host") from None
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen on {host} port {port}: {reason}; choose another with --host and --port"
        ) from None


def serve(app: FastAPI, listener: socket.socket, *, access_log: bool = False) -> None:
    """Answer on `listener` until SIGTERM or SIGINT; then answer what runs, within the time of grace, and return.

    Raises `KeyboardInterrupt` if it was SIGINT. Raises `ServiceError`, or the `PdbError` that was the cause, if the
    service cannot be made ready.
    """
    service: Service = app.state.service
    _raise_file_limit()
    _give_back_memory()
    config = uvicorn.Config(
        app,
        http=Connection,
        loop="uvloop",
        ws="none",
        lifespan="on",
        access_log=access_log,
        log_config=None,
        # Its warnings tell of what clients send: they must not fill the log.
        log_level="info" if access_log else "error",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=service.settings.keep_alive_s,
        # Reached only where all of them have a request under way, see Connection.
        limit_concurrency=service.settings.max_connections + 1,
        backlog=_BACKLOG,
        # Searches end by themselves when the time of grace is over; this is for whatever else hangs.
        timeout_graceful_shutdown=int(service.settings.grace_s) + 5,
    )
    server = _Server(config, service.searches.stopping.begin)
    service.start_up.on_failure = server.stop
    server.run(sockets=[listener])
    if server.stopped_by == signal.SIGINT:
        raise KeyboardInterrupt
    _check_start(service.start_up.failure)


def _check_start(failure: BaseException | None) -> None:
    """Raise what a start has failed with, as an error that the command line can name."""
    if isinstance(failure, PdbError):
        raise failure
    if failure is not None:
        raise ServiceError(
            f"the service could not be made ready: {type(failure).__name__}: {failure}; its log has the traceback"
        ) from failure


class _Server(uvicorn.Server):
    """A server that tells when it is going to stop: searches must know before they are waited for."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self.stopped_by: int | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 (the signature is uvicorn's)
        # uvicorn's own raises the signal once more in the end, so that a clean stop would look like a crash.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stopped_by = sig
        self.stop()

    def stop(self) -> None:
        """Stop as a signal would. For any thread."""
        self._on_stop()
        self.should_exit = True


def _give_back_memory() -> None:
    """Have large blocks of memory go back to the system when they are freed.

    glibc's malloc takes them out of its heaps once some have been freed, which then never shrink: large bodies, one
    after the other, would let the process grow to several times what they need at a time.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)


def _raise_file_limit() -> None:
    """As many connections as the system lets this process have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
