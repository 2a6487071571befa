"""Malformed and hostile requests, made from a seed, and the statuses of their answers.

They are sent as raw bytes: an HTTP library would correct half of them. test_schema.py has the odd values of parameters
and bodies.
"""

import contextlib
import random
import re
import socket
import struct
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

# Boards as in a query. The search of the second outlasts a test.
EASY, WORST = "1+2+3+4/5+6+7+8/9+10+11+12/13+14+0+15", "0+12+9+13/15+11+10+14/3+7+2+5/4+8+6+1"
PATHS = (
    "/v1/databases", "/v1/lookup", "/v1/moves", "/v1/solve", "/v1/check", "/v1/instances/korf100", "/metrics",
    "/openapi.json", "/", "/page/", "/v1/", "/favicon.ico",
)  # fmt: skip
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r]")
# Longer than any answer may take.
_PATIENCE_S = 20.0
_HASTE_S = 0.15
# For unchanged requests. Most of them are complete, and loaded machines answer those within this time.
_WHOLE_S = 2.0


class Hostile(NamedTuple):
    """Data of one connection. The client leaves after `patience_s` seconds of silence, or at once without them."""

    data: bytes
    patience_s: float | None


def hostile_requests(n_requests: int, seed: int) -> list[Hostile]:
    """Return requests that are valid, odd, mutated, cut or sent together; the same for the same seed."""
    rng = random.Random(seed)
    return [_hostile(rng) for _ in range(n_requests)]


def send_all(port: int, requests: Iterable[Hostile], n_threads: int = 24) -> Counter[int]:
    """Send requests from several threads. Return the counts of statuses."""
    with ThreadPoolExecutor(n_threads) as pool:
        answers = pool.map(partial(_send, port), requests)
        return Counter(int(status) for answer in answers for status in _STATUS.findall(answer))


def _send(port: int, hostile: Hostile) -> bytes:
    """Return the beginning of the answer, until the server closes the connection or the client leaves."""
    answer = bytearray()
    # If the server closes or resets the connection, its answer may still be read.
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(hostile.data)
        if hostile.patience_s is not None:
            connection.settimeout(hostile.patience_s)
            with contextlib.suppress(OSError):
                while received := connection.recv(1 << 18):
                    answer += received
        elif len(hostile.data) % 2:  # half of the clients that leave reset the connection
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return bytes(answer)


def request(
    path: str, body: bytes | None = None, *headers: str, method: str | None = None, length: str | None = None
) -> bytes:
    """Return a request as bytes, with Connection: close. `length` replaces the true Content-Length."""
    lines = [f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    if body is not None or length is not None:
        lines.append(f"Content-Length: {len(body or b'') if length is None else length}")
    return "\r\n".join([*lines, *headers, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")


_JSON, _BYTES = "Content-Type: application/json", "Content-Type: application/octet-stream"
_LEVEL = EASY.replace("/", "+")
_LIST = f"[{_LEVEL.replace('+', ',')}]".encode()
# Valid requests; solves are short.
_GOOD = (
    *map(request, PATHS),
    *(request(f"/v1/{name}?board={_LEVEL}&time_limit=0.01") for name in ("lookup", "moves", "solve")),
    request("/v1/solve", b'{"board": ' + _LIST + b', "time_limit": 0.01}', _JSON),
    request("/v1/lookup", b'{"boards": [' + _LIST + b"]}", _JSON),
    request("/v1/lookup?size=4x4", bytes(range(16)) * 20, _BYTES),
)
_PIECES = (b"", b"\0", b"\r\n", b"\n", b"\xff", b"%", b",", b"[" * 50, b"9" * 40, b"a=b&" * 10)
_HEADERS = (
    "X: \x00", "X: \udcff\udcfe", "Host: b\r\nHost: c", "Host:", "Content-Encoding: gzip", "Content-Type: ;;;=",
    "Content-Type: application/json; charset=utf-16", "Authorization: Bearer \udcff", "Range: bytes=0-1,9999999999-",
    "Accept: " + "text/event-stream," * 2000, "If-None-Match: " + '"a",' * 3000, "Origin: " + "h" * 9000,
    "Access-Control-Request-Method: FOO", "Transfer-Encoding: gzip",
)  # fmt: skip
_LENGTHS = ("-1", "", "5, 5", "9" * 40, "16000001", "0", "3", "12000000")
_CHUNKS = (b"zz\r\nabc\r\n", b"5\r\nab", b"2\r\n{}\r\n0\r\n\r\n", b"1\r\n[\r\n" * 2000 + b"0\r\n\r\n")
# Odd headers, false lengths, wrong chunks.
_ODD = (
    *(request(path, None, header) for header in _HEADERS for path in (PATHS[0], f"/v1/lookup?board={_LEVEL}")),
    *(request("/v1/lookup?size=4x4", b"[1]", kind, length=length) for length in _LENGTHS for kind in (_JSON, _BYTES)),
    *(
        request("/v1/lookup?size=4x4", None, "Transfer-Encoding: chunked", kind, method="POST") + chunks
        for chunks in _CHUNKS
        for kind in (_JSON, _BYTES)
    ),
)


def _mutated(rng: random.Random, valid: bytes) -> bytes:
    """Return a request with wrong pieces. It may have become incomplete."""
    data = bytearray(valid)
    for _ in range(rng.choice((1, 1, 2, 3, 8, 30))):
        at, n_cut = rng.randrange(len(data) + 1), rng.choice((0, 1, 1, 2, 10))
        data[at : at + n_cut] = rng.choice((*_PIECES, rng.randbytes(1), rng.randbytes(8), data[at : at + 40] * 2))
    return bytes(data)


def _hostile(rng: random.Random) -> Hostile:
    data, kind, patience_s = rng.choice(rng.choice((_GOOD, _ODD))), rng.random(), _HASTE_S
    if kind < 0.02:
        requests = rng.choices(_GOOD, k=rng.choice((2, 5, 40, 150)))
        data = b"".join(requests).replace(b"Connection: close\r\n", b"")
    elif kind < 0.2:
        return Hostile(data[: rng.randrange(1, len(data))], None)
    elif kind < 0.7:
        data = _mutated(rng, data)
    else:
        patience_s = _WHOLE_S
    return Hostile(data, rng.choice((None, patience_s, patience_s, patience_s)))
