"""The server process: its socket, signals, granian, and the report to systemd that it is ready, sd_notify(3)."""

import asyncio
import os
import signal
import socket
import sys

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.net import SocketHolder  # type: ignore[attr-defined]
from granian.server.embed import Server

from pdb_core.errors import InputError
from pdb_core.messages import as_typed
from pdb_core.resources import raise_file_limit
from pdb_service.app import App

_BACKLOG = 2048
# Seconds that requests other than searches have after the time of grace.
_LAST_REQUEST_S = 5


def open_socket(host: str, port: int) -> socket.socket:
    """Return a new socket that listens. Raises `InputError`."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:  # a part of the host between two dots may be empty or too long
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot listen on {as_typed(host)} port {port}: {reason}; choose another with --host and --port"
        ) from None
    # Connections inherit it. Without it, the end of a file waits 40 ms until the client confirms what came before.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    return listener


def serve(app: App, listener: socket.socket) -> None:
    """Answer requests until SIGTERM, SIGHUP or SIGINT; then answer running requests, within the time of grace.

    Raises `KeyboardInterrupt` if it was SIGINT.
    """
    raise_file_limit()
    # A thread whose search has ended waits for the event loop: by default up to 5 ms, as long as 8 searches take.
    sys.setswitchinterval(0.0001)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(app, listener))


async def _serve(app: App, listener: socket.socket) -> None:
    service = app.service
    settings = service.settings
    server = _Server(
        app,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        websockets=False,
        backlog=_BACKLOG,
        backpressure=settings.max_connections,
        http1_settings=HTTP1Settings(
            header_read_timeout=round(1000 * settings.head_s), max_buffer_size=settings.max_head_bytes
        ),
        log_enabled=False,  # `Gate` logs every request that fails
    )
    server.listener = listener
    loop = asyncio.get_running_loop()
    serving = asyncio.create_task(server.serve())
    stopping = loop.create_future()  # a signal cancels it
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for a server that nohup started
            loop.add_signal_handler(number, stopping.cancel)
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:  # also after SIGINT, for which the runner cancels this task; a second one ends the process
        stopping.cancel()
        service.stop()
        server.stop()  # type: ignore[no-untyped-call]
        loop.set_exception_handler(lambda *_: None)  # granian would report the connections that are cut
        # Searches end by themselves after the time of grace; this bounds all other requests.
        await asyncio.wait({serving}, timeout=settings.grace_s + _LAST_REQUEST_S)
    if serving.done():
        serving.result()


class _Server(Server):
    """granian in this process, on the socket of `open_socket`.

    It closes connections that send no whole head in time, and reads no further while an answer is unread.
    """

    listener: socket.socket

    def _init_shared_socket(self) -> None:
        self._shd = SocketHolder(self.listener.dup().detach(), False, _BACKLOG)  # type: ignore[assignment, call-arg]


def notify_systemd() -> None:
    """Report to systemd, if it started this process, that the service is ready."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"READY=1", "\0" + address[1:] if address.startswith("@") else address)
