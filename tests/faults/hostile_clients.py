"""Hostile clients of a real `pdb serve`. Each kind attacks a new server, which is stopped during the attack.

Meanwhile a good client looks up boards and solves one. A trial is lost if the server takes too much memory, answers the
good client late, wrongly or not at all, prints a traceback, or ends late after SIGTERM.
"""

import argparse
import contextlib
import http.client
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

from tests.faults.driver import Ended, Running, Tally, main
from tests.pdb_service.hostile_requests import EASY, request, resident_bytes
from tests.tables import table_file

_ATTACK_S = 20.0
_GRACE_S = 2
# The most seconds from SIGTERM to the end: the server has 5 more than searches; the rest is for a loaded machine.
_MOST_END_S = _GRACE_S + 5 + 8
_START_S = 120
_PATIENCE_S = 20
# A search of this board takes longer than an attack.
_WORST = "0+12+9+13/15+11+10+14/3+7+2+5/4+8+6+1"
_EASY = EASY.replace(" ", "+")
_SMALLEST = b"GET / HTTP/1.1\r\n\r\n"
_FOREIGN_GET = ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image")
_FOREIGN_POST = (*_FOREIGN_GET[:2], "Origin: https://evil.example", "Content-Type: text/plain")


def _solve(seconds: int) -> str:
    """Return the path of a long solve."""
    return f"/v1/solve?board={_WORST}&seconds={seconds}"


@contextmanager
def _connections(port: int, n: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", port), _PATIENCE_S)) for _ in range(n)]


def _sent(connection: socket.socket, data: bytes) -> bytes:
    """Send what the server takes now. Return the rest; nothing if the connection is closed."""
    connection.setblocking(False)
    try:
        return data[connection.send(data) :]
    except BlockingIOError:
        return data
    except OSError:
        return b""


def pipelined(n: int, port: int, is_over: threading.Event) -> None:
    """Send requests behind a solve, on `n` connections, as fast as the server reads them, until it closes them."""
    block = _SMALLEST * 10_000
    with _connections(port, n) as connections:
        left = {}
        for connection in connections:
            left[connection] = request(_solve(60)).replace(b"Connection: close\r\n", b"") + block
        while not is_over.wait(0.002):
            left = {connection: _sent(connection, rest) or block for connection, rest in left.items()}


def endless(port: int, is_over: threading.Event) -> None:
    """Send short requests as fast as the server reads them, and read the answers, on one connection after another."""
    block = _SMALLEST * 10_000
    while not is_over.is_set():
        with contextlib.suppress(ConnectionError), _connections(port, 1) as (connection,):
            left = block
            while not is_over.wait(0.002):
                left = _sent(connection, left) or block
                with contextlib.suppress(BlockingIOError):
                    if not connection.recv(1 << 20):
                        break


def slow_heads(n: int, port: int, is_over: threading.Event) -> None:
    """Send heads byte by byte."""
    with _connections(port, n) as connections:
        for byte in request(f"/v1/lookup?board={_EASY}", None, "X: " + "a" * 1000):
            for connection in connections:
                _sent(connection, bytes([byte]))
            if is_over.wait(0.3):
                break


def silent(n: int, port: int, is_over: threading.Event) -> None:
    """Send nothing."""
    with _connections(port, n):
        is_over.wait()


def unread(n: int, port: int, is_over: threading.Event) -> None:
    """Send batches and read no answer. Answers have megabytes: a problem for each board."""
    body = b'{"boards": [' + b",".join([b'"1 2 3"'] * 60_000) + b"]}"
    batch = request("/v1/lookup?size=4x4", body, "Content-Type: application/json")
    batch = batch.replace(b"Connection: close\r\n", b"")
    with _connections(port, n) as connections:
        left = dict.fromkeys(connections, batch)
        while not is_over.wait(0.01):
            left = {connection: _sent(connection, rest) or batch for connection, rest in left.items()}


def foreign(n: int, port: int, is_over: threading.Event) -> None:
    """Ask as pages of another site do: for images, and by POST of plain text."""
    while not is_over.wait(0.1):
        # The server may end meanwhile.
        with contextlib.suppress(OSError), _connections(port, n) as connections:
            for connection in connections[::2]:
                connection.sendall(request(_solve(2), None, *_FOREIGN_GET))
            for connection in connections[1::2]:
                body = b'{"board": "%s", "seconds": 2}' % _WORST.replace("+", " ").encode()
                connection.sendall(request("/v1/solve", body, *_FOREIGN_POST))
            is_over.wait(1)


class Kind(NamedTuple):
    """Hostile clients, and the bounds of memory and latency, for a loaded machine."""

    act: Callable[[int, threading.Event], None]
    most_mb: float = 40
    most_latency_s: float = 3


KINDS = {
    "1 connection, requests behind a solve": Kind(partial(pipelined, 1)),
    "10 connections, requests behind solves": Kind(partial(pipelined, 10)),
    "1 connection after another, short requests without end": Kind(endless),
    "200 connections, heads byte by byte": Kind(partial(slow_heads, 200)),
    "500 connections, nothing sent": Kind(partial(silent, 500)),
    "20 connections, answers of batches not read": Kind(partial(unread, 20), 200),
    "20 searches at a time of pages of another site": Kind(partial(foreign, 20)),
}


def _good_client(port: int, pid: int, until: float) -> tuple[str | None, float, int]:
    """Look up a board again and again. Return the loss, the longest latency and the most memory."""
    longest, most_bytes = 0.0, 0
    while time.monotonic() < until or longest == 0:
        loss, seconds = _asked(port, f"/v1/lookup?board={_EASY}")
        longest, most_bytes = max(longest, seconds), max(most_bytes, resident_bytes(pid))
        if loss is not None:
            return loss, longest, most_bytes
        time.sleep(0.02)
    return None, longest, most_bytes


def _asked(port: int, path: str) -> tuple[str | None, float]:
    """Send a request. Return the loss, and the seconds until the whole answer."""
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {error!r}", time.monotonic() - started
    finally:
        connection.close()
    loss = None if answer.status == 200 and b'"h":1,' in body else f"{path}: {answer.status} {body[:200]!r}"
    return loss, time.monotonic() - started


def _started() -> tuple[Running, int]:
    """Return a server that is ready, and its port."""
    table = str(table_file("663", "4x4"))
    options = ["--port", "0", "--db", table, "--solves", "2", "--grace", str(_GRACE_S)]
    server = Running(["serve", *options])
    end = time.monotonic() + _START_S
    while "ready: " not in server.stderr():
        assert time.monotonic() < end, server.stderr()
        assert not server.has_ended(), server.stderr()
        time.sleep(0.02)
    return server, int(server.stderr().partition("ready: ")[2].split("/")[2].rpartition(":")[2])


def attacked(kind: Kind, seconds: float) -> tuple[str | None, dict[str, float]]:
    """Attack a new server for some seconds, and stop it during the attack. Return the loss and the figures."""
    server, port = _started()
    is_over = threading.Event()
    attackers = threading.Thread(target=kind.act, args=(port, is_over))
    try:
        _good_client(port, server.pid, 0)
        before = resident_bytes(server.pid)
        attackers.start()
        loss, latency_s, most_bytes = _good_client(port, server.pid, time.monotonic() + seconds)
        # The search is short: long ones wait behind those of hostile clients, as behind others.
        loss = loss or _asked(port, f"/v1/solve?board={_EASY}&seconds=2")[0]
    finally:
        stopped = time.monotonic()
        os.kill(server.pid, signal.SIGTERM)
        ended = server.wait(60)
        end_s = time.monotonic() - stopped
        is_over.set()
        if attackers.ident is not None:
            attackers.join()
    figures = {
        "growth_mb": round((most_bytes - before) / 1e6, 1),
        "longest_latency_s": round(latency_s, 3),
        "end_s": round(end_s, 2),
    }
    return loss or ended.problem() or _beyond(kind, ended, figures), figures


def _beyond(kind: Kind, ended: Ended, figures: dict[str, float]) -> str | None:
    """Return the bound that an attack has exceeded, or None."""
    if figures["growth_mb"] > kind.most_mb:
        return f"{figures['growth_mb']} MB more memory"
    if figures["longest_latency_s"] > kind.most_latency_s:
        return f"an answer after {figures['longest_latency_s']} s"
    if figures["end_s"] > _MOST_END_S:
        return f"the end {figures['end_s']} s after SIGTERM"
    return None if ended.code == 0 else f"exit code {ended.code}: {ended.stderr[-200:]}"


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Attack servers with hostile clients of all kinds."""
    for _ in range(options.tried):
        for name, kind in KINDS.items():
            loss, figures = attacked(kind, _ATTACK_S)
            tally.count(name, loss, **figures)


if __name__ == "__main__":
    main(attack, tried=1)
