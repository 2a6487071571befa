"""Hostile clients of a real `pdb serve`. Each kind attacks a new server, which is stopped during the attack.

Meanwhile a good client looks up boards and solves one. A trial is lost if the server takes too much memory, answers the
good client late, wrongly or not at all, prints a traceback, or ends late after SIGTERM.
"""

import argparse
import contextlib
import http.client
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

from tests.faults.driver import Tally, main
from tests.pdb_service.hostile_requests import (
    EASY,
    PATHS,
    WORST,
    Hostile,
    request,
    send_all,
)
from tests.pdb_service.server import Server, serving
from tests.tables import table_file

_ATTACK_S = 20.0
_GRACE_S = 2
# The most seconds from SIGTERM to the end: the server has 5 more than searches; the rest is for a loaded machine.
_MOST_END_S = _GRACE_S + 5 + 8
# For a loaded machine.
_MOST_LATENCY_S = 3
_PATIENCE_S = 20
_SMALLEST = b"GET / HTTP/1.1\r\n\r\n"


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


def _flood(n: int, first: bytes, block: bytes, port: int, is_over: threading.Event, pause_s: float = 0.002) -> None:
    """Send a block again and again on `n` connections, as fast as the server reads; read nothing."""
    with _connections(port, n) as connections:
        left = dict.fromkeys(connections, first + block)
        while not is_over.wait(pause_s):
            left = {connection: _sent(connection, rest) or block for connection, rest in left.items()}


def _kept_open(asked: bytes) -> bytes:
    return asked.replace(b"Connection: close\r\n", b"")


def pipelined(n: int, port: int, is_over: threading.Event) -> None:
    """Send requests behind a solve, on `n` connections, until the server closes them."""
    solve = _kept_open(request(f"/v1/solve?board={WORST}&time_limit=60"))
    _flood(n, solve, _SMALLEST * 10_000, port, is_over)


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
        for byte in request(f"/v1/lookup?board={EASY}", None, "X: " + "a" * 1000):
            for connection in connections:
                _sent(connection, bytes([byte]))
            if is_over.wait(0.3):
                break


def silent(n: int, port: int, is_over: threading.Event) -> None:
    """Send nothing."""
    with _connections(port, n):
        is_over.wait()


def odd_bodies(n: int, port: int, is_over: threading.Event) -> None:
    """Send bodies of all shapes and sizes to all routes, and long queries, and read the answers."""
    zeros = b"[0" + b",0" * 35 + b"]"
    items = (b"[]", b"{}", b'""', b'"x"', b"0", b"-9", b"300", b"null", b"9" * 4000, zeros, zeros.replace(b"0", b"300"))
    routes = (("/v1/lookup?size=6x6", b"boards"), ("/v1/solve", b"board"), *((path, b"") for path in PATHS))
    asked = list(itertools.product(routes, items, (60_000, 7_900_000, 15_900_000)))
    queries = [f"/v1/{name}?{'&x=%41' * 10_000}" for name in ("lookup", "moves", "solve")]

    def send(number: int) -> None:
        for (path, key), item, n_bytes in itertools.islice(itertools.cycle(asked), number * len(asked) // n, None):
            body = b'{"' + key + b'":[' + (item + b",") * (n_bytes // (len(item) + 1)) + item + b"]}"
            for data in (request(path, body, "Content-Type: application/json"), *map(request, queries)):
                if is_over.is_set():
                    return
                with contextlib.suppress(OSError):
                    send_all(port, [Hostile(data, _PATIENCE_S)], 1)

    with ThreadPoolExecutor(n) as pool:
        list(pool.map(send, range(n)))


class Kind(NamedTuple):
    """Hostile clients, and the bound of memory."""

    act: Callable[[int, threading.Event], None]
    most_mb: float = 80


KINDS = {
    "10 connections, requests behind solves": Kind(partial(pipelined, 10)),
    "1 connection after another, short requests without end": Kind(endless),
    "200 connections, heads byte by byte": Kind(partial(slow_heads, 200)),
    "500 connections, nothing sent": Kind(partial(silent, 500)),
    "10 connections, bodies of any shape to all routes, long queries": Kind(partial(odd_bodies, 10), 200),
}


def _good_client(server: Server, until: float) -> tuple[str | None, float]:
    """Look up a board again and again. Return the loss and the longest latency."""
    longest = 0.0
    while time.monotonic() < until or longest == 0:
        loss, seconds = _asked(server, f"/v1/lookup?board={EASY}")
        longest = max(longest, seconds)
        if loss is not None:
            return loss, longest
        time.sleep(0.02)
    return None, longest


def _asked(server: Server, path: str) -> tuple[str | None, float]:
    """Send a request. Return the loss, and the seconds until the whole answer."""
    started = time.monotonic()
    try:
        answer = server.ask(path, timeout=_PATIENCE_S)
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {error!r}", time.monotonic() - started
    loss = (
        None if answer.status == 200 and b'"h":1,' in answer.body else f"{path}: {answer.status} {answer.body[:200]!r}"
    )
    return loss, time.monotonic() - started


def attacked(kind: Kind, seconds: float) -> tuple[str | None, dict[str, float]]:
    """Attack a new server for some seconds, and stop it during the attack. Return the loss and the figures."""
    is_over = threading.Event()
    with serving(table_file("663", "4x4"), options=["--solves", "2", "--grace", str(_GRACE_S)]) as server:
        attackers = threading.Thread(target=kind.act, args=(server.port, is_over))
        _good_client(server, 0)
        server.ask(f"/v1/solve?board={WORST}&time_limit=0.5")  # loads the kernels of searches
        before = server.reset_peak()
        attackers.start()
        try:
            loss, latency_s = _good_client(server, time.monotonic() + seconds)
            # The search is short: long ones wait behind those of hostile clients, as behind others.
            loss = loss or _asked(server, f"/v1/solve?board={EASY}&time_limit=2")[0]
            growth = server.peak_bytes() - before
            stopped = time.monotonic()
            server.process.terminate()
            code = server.process.wait(60)
            end_s = time.monotonic() - stopped
        finally:
            is_over.set()
            attackers.join()
    figures = {
        "growth_mb": round(growth / 1e6, 1),
        "longest_latency_s": round(latency_s, 3),
        "end_s": round(end_s, 2),
    }
    if loss is None and (code != 0 or any("Traceback" in line for line in server.log)):
        loss = f"exit code {code}: {server.log[-3:]}"
    bounds = zip(figures.items(), (kind.most_mb, _MOST_LATENCY_S, _MOST_END_S), strict=True)
    beyond = (f"{name} is {figure}, more than {most}" for (name, figure), most in bounds if figure > most)
    return loss or next(beyond, None), figures


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Attack servers with hostile clients of all kinds."""
    for _ in range(options.tried):
        for name, kind in KINDS.items():
            loss, figures = attacked(kind, _ATTACK_S)
            tally.count(name, loss, **figures)


if __name__ == "__main__":
    main(attack, tried=1)
