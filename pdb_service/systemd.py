"""What systemd hands to a service, and hears from it: sd_listen_fds(3), sd_notify(3)."""

import os
import socket

from pdb_core.errors import InputError

_FIRST_SOCKET = 3


def handed_socket() -> socket.socket | None:
    """The socket that systemd listens on for this process, if any. Raises `InputError` where it is not one of TCP."""
    n_sockets = os.environ.get("LISTEN_FDS", "0")
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or n_sockets == "0":
        return None
    if n_sockets != "1":
        raise InputError(
            f"systemd hands over {n_sockets} sockets, one is taken; keep one ListenStream in the socket unit"
        )
    try:
        listener = socket.socket(fileno=_FIRST_SOCKET)
    except OSError as error:
        raise InputError(f"systemd hands over no socket: {error.strerror}; see the socket unit") from None
    if listener.family not in (socket.AF_INET, socket.AF_INET6) or listener.type != socket.SOCK_STREAM:
        listener.close()
        raise InputError("systemd hands over a socket that is not of TCP; write ListenStream=ADDRESS:PORT")
    return listener


def tell_ready() -> None:
    """Tell systemd, where it listens, that the service is ready."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"READY=1", "\0" + address[1:] if address.startswith("@") else address)
