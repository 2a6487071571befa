"""Malformed and hostile requests, made from a seed, and the answers of a server.

They are sent as raw bytes: an HTTP library would correct half of them. test_fuzz_service.py has the odd values of
parameters and bodies.
"""

import json
import random
import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

# Their searches take many seconds: the clients leave before the answer.
WORST_BOARDS = (
    "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1",
    "0 12 10 13/15 11 9 14/7 3 6 2/4 8 5 1",
    "0 11 9 13/12 15 10 14/3 7 6 2/4 8 5 1",
)
EASY = "1 2 3 4/5 6 7 8/9 10 11 12/13 14 0 15"
PATHS = (
    "/v1/databases", "/v1/lookup", "/v1/moves", "/v1/solve", "/v1/instances", "/v1/instances/korf100", "/healthz",
    "/readyz", "/metrics", "/openapi.json", "/", "/page/index.html", "/page/", "/v1", "/v1/", "/docs", "/favicon.ico",
)  # fmt: skip
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r]")
# Longer than any answer may take.
_PATIENCE_S = 20.0
_HASTE_S = 0.15
_KEPT_BYTES = 400_000


@dataclass(frozen=True)
class Hostile:
    """Data of one connection: pieces, with a pause before each but the first.

    The client then waits `patience_s` for the end of the answer, or leaves at once if that is None. If `is_owed`, the
    server must answer or close the connection within that time.
    """

    kind: str
    pieces: tuple[bytes, ...]
    pause_s: float = 0.0
    patience_s: float | None = _PATIENCE_S
    is_owed: bool = True


@dataclass
class Outcomes:
    """Counts of the answers by status, of closed and of left connections; requests with a wrong outcome."""

    statuses: Counter[int] = field(default_factory=Counter)
    n_sent: int = 0
    n_closed: int = 0
    n_left: int = 0
    unanswered: list[Hostile] = field(default_factory=list)
    failed: list[tuple[int, Hostile]] = field(default_factory=list)


def hostile_requests(n_requests: int, seed: int) -> Iterator[Hostile]:
    """Yield requests of all kinds; the same for the same seed."""
    rng = random.Random(seed)
    kinds, weights = list(KINDS), [weight for weight, _ in KINDS.values()]
    for kind in rng.choices(kinds, weights, k=n_requests):
        yield KINDS[kind][1](rng, kind)


def send_all(port: int, requests: Iterator[Hostile], n_threads: int = 24) -> Outcomes:
    """Send requests from several threads. The answers 5xx other than 503 are in `failed`."""
    outcomes = Outcomes()
    lock = Lock()

    def work() -> None:
        while True:
            with lock:
                hostile = next(requests, None)
            if hostile is None:
                return
            answer = send(port, hostile)
            with lock:
                _note(outcomes, hostile, answer)

    with ThreadPoolExecutor(n_threads) as pool:
        for done in [pool.submit(work) for _ in range(n_threads)]:
            done.result()
    return outcomes


def _note(outcomes: Outcomes, hostile: Hostile, answer: bytes | None) -> None:
    outcomes.n_sent += 1
    if answer is None:
        outcomes.n_left += 1
        if hostile.is_owed and hostile.patience_s is not None:
            outcomes.unanswered.append(hostile)
        return
    statuses = [int(status) for status in _STATUS.findall(answer)]
    outcomes.statuses.update(statuses)
    outcomes.n_closed += not statuses
    outcomes.failed.extend((status, hostile) for status in statuses if status >= 500 and status != 503)


def send(port: int, hostile: Hostile) -> bytes | None:
    """Return the beginning of the answer until the server closes; None if the client left before."""
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for at, piece in enumerate(hostile.pieces):
                if at and hostile.pause_s:
                    time.sleep(hostile.pause_s)
                connection.sendall(piece)
        except OSError:
            pass  # closed by the server; its answer may still be read
        if hostile.patience_s is None:
            if len(hostile.pieces[0]) % 2:  # half of the clients that leave reset the connection
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return None
        answer = b""
        deadline = time.monotonic() + hostile.patience_s
        while True:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                received = connection.recv(1 << 18)
            except TimeoutError:
                return answer or None
            except OSError:
                return answer
            if not received:
                return answer
            answer = (answer + received)[:_KEPT_BYTES]


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


def open_files(process: int) -> int:
    """Return the number of open files and sockets of a process."""
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


def request(
    path: str, body: bytes | None = None, *headers: str, method: str | None = None, length: str | None = None
) -> bytes:
    """Return a request as bytes, with Connection: close. `length` replaces the true Content-Length."""
    lines = [f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    if body is not None or length is not None:
        lines.append(f"Content-Length: {len(body or b'') if length is None else length}")
    return "\r\n".join([*lines, *headers, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")


def _typed(media_type: str) -> str:
    return f"Content-Type: {media_type}"


_JSON, _NDJSON, _BYTES = map(_typed, ("application/json", "application/x-ndjson", "application/octet-stream"))
_LEVEL = EASY.replace("/", " ").replace(" ", "+")


def _good(rng: random.Random) -> bytes:
    """Return a valid request; solves are short."""
    list_text = f"[{EASY.replace('/', ' ').replace(' ', ',')}]".encode()
    return rng.choice(
        [
            lambda: request(rng.choice(PATHS)),
            lambda: request(f"/v1/lookup?board={_LEVEL}"),
            lambda: request(f"/v1/moves?board={_LEVEL}&seconds=0.01"),
            lambda: request(f"/v1/solve?board={_LEVEL}&seconds=0.01"),
            lambda: request("/v1/solve", b'{"board": ' + list_text + b', "seconds": 0.01}', _JSON),
            lambda: request("/v1/lookup", b'{"boards": [' + list_text + b"]}", _JSON),
            lambda: request("/v1/lookup", (list_text + b"\n") * rng.randrange(1, 40), _NDJSON),
            lambda: request("/v1/lookup?size=4x4", bytes(range(16)) * rng.randrange(1, 40), _BYTES),
        ]
    )()


def _mutated(rng: random.Random, kind: str) -> Hostile:
    data = bytearray(_good(rng))
    for _ in range(rng.choice((1, 1, 2, 3, 8, 30))):
        at = rng.randrange(len(data))
        what = rng.randrange(5)
        if what == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            data[at] = rng.randrange(256)
        elif what == 2:
            del data[at : at + rng.choice((1, 2, 10))]
        elif what == 3:
            data[at:at] = rng.choice(
                (b"\0", b"\r\n", b"\n", b"\xff", b"%", b",", b"[" * 50, b"9" * 40, rng.randbytes(8))
            )
        else:
            data[at:at] = data[at : at + rng.randrange(1, 60)]
        data = data or bytearray(b"x")
    # It may have become an incomplete request.
    return Hostile(kind, (bytes(data),), patience_s=_HASTE_S, is_owed=False)


def _cut(rng: random.Random, kind: str) -> Hostile:
    data = _good(rng)
    return Hostile(kind, (data[: rng.randrange(1, len(data))],), patience_s=None)


def _request_line(rng: random.Random, kind: str) -> Hostile:
    line = rng.choice(
        [
            b"", b"\r\n\r\n", b"GET", b"GET /", b"GET / HTTP/1.1 extra", b"GET / HTTP/9.9", b"GET / HTTP/0.9",
            b"GET / HTTP/1.1\n", b"GET  /  HTTP/1.1", b"get / HTTP/1.1", b"\0\0\0\0", b"GET /\0 HTTP/1.1",
            b"GET / HTTP/1.1\r", b"GET http:///// HTTP/1.1", b"GET http://[::1 HTTP/1.1",
            b"GET //a:99999999/ HTTP/1.1", b"GET * HTTP/1.1", b"OPTIONS * HTTP/1.1", b"CONNECT a:1 HTTP/1.1",
            b"CONNECT / HTTP/1.1", b"GET ?board=1 HTTP/1.1", b"GET # HTTP/1.1", b"GET /\xff\xfe HTTP/1.1",
            "GET /\u00e9\u20ac HTTP/1.1".encode(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(80), rng.randbytes(200), b"A" * 100_000,
            b"GET /" + b"a" * rng.choice((9_000, 70_000, 400_000)) + b" HTTP/1.1", b"GET / HTTP/" + b"1" * 5000,
            b"M-SEARCH * HTTP/1.1", b"SOURCE / ICE/1.0", b"RTSP/1.0 200 OK", b"HTTP/1.1 200 OK", b"GET / HTTP/1.0",
        ]
    )  # fmt: skip
    return Hostile(kind, (line + b"\r\nHost: a\r\nConnection: close\r\n\r\n",), patience_s=_HASTE_S, is_owed=False)


def _headers(rng: random.Random, kind: str) -> Hostile:
    header = rng.choice(
        [
            "X: " + "a" * rng.choice((8_000, 60_000, 300_000)), "X" * rng.choice((5_000, 100_000)) + ": a",
            ": no name", "no colon", "Na me: a", "X: \x00", "X: \x7f", "X: \udcff\udcfe", "X:\r\n folded", "\tX: a",
            "X : a", "X: a\rY: b", "Host: b\r\nHost: c", "Host:", "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: \x0bchunked",
            "Content-Encoding: gzip", "Content-Type: " + "a/" * 500, "Content-Type: ;;;=", "Content-Type:",
            "Content-Type: application/json; charset=utf-16",
            "Content-Type: multipart/form-data; boundary=" + "b" * 200, "Authorization: Bearer \udcff",
            "Authorization: Basic " + "A" * 4000, "Authorization:", "Accept: " + "text/event-stream," * 2000,
            "Accept: */*;q=nan", "If-None-Match: " + '"a",' * 3000, "Range: bytes=0-1,2-3,99999999999999999999-",
            "Cookie: " + "a=b;" * 3000, "X-Forwarded-For: " + "1.2.3.4," * 500, "X-Forwarded-Proto: \udcff://",
            "Forwarded: for=\x01", "Origin: null", "Origin: " + "h" * 9000, "Access-Control-Request-Method: FOO",
            "Connection: upgrade, close, keep-alive", "Keep-Alive: timeout=-1", "TE: trailers",
            "Trailer: Content-Length", "Date: never", "X-HTTP-Method-Override: DELETE", "Max-Forwards: -1",
            "Via: " + "1.1 a," * 2000, "\r\n".join(f"X-{n}: {n}" for n in range(rng.choice((100, 3000)))),
            "\r\n".join(["X: 1"] * 2000),
        ]
    )  # fmt: skip
    path = rng.choice([*PATHS, f"/v1/lookup?board={_LEVEL}"])
    body = rng.choice((None, None, b"[1]", b"{}"))
    return Hostile(kind, (request(path, body, header),), patience_s=1.0, is_owed=False)


def _lying_length(rng: random.Random, kind: str) -> Hostile:
    length = rng.choice(
        ["-1", "+5", "0x10", "1e3", "", " ", "5, 5", "5 5", "5\r\nContent-Length: 6", "9" * 19, "9" * 40,
         "99999999999", "16000001", "NaN", "0", "1", "3", "17", "\u0663", "00000000000000000000000000005", "100000",
         "12000000"]
    )  # fmt: skip
    path = rng.choice(("/v1/lookup?size=4x4", "/v1/solve", "/v1/databases", "/nowhere", "/v1/lookup"))
    data = request(path, rng.randbytes(rng.choice((0, 3, 40))), rng.choice((_JSON, _NDJSON, _BYTES)), length=length)
    return Hostile(kind, (data,), patience_s=rng.choice((None, _HASTE_S)), is_owed=False)


def _chunked(rng: random.Random, kind: str) -> Hostile:
    body = rng.choice(
        [
            b"zz\r\nabc\r\n", b"-5\r\nabc\r\n", b"ffffffffffffffff\r\nabc", b"fffffffffffffffffffff\r\n", b"5\r\nab",
            b"5;" + b"x" * 90_000, b"3\r\nabcdef\r\n0\r\n\r\n", b"0\r\nTrailer: a\r\n\r\n",
            b"0\r\n" + b"T: a\r\n" * 20_000 + b"\r\n", b"3\nabc\n0\n\n", b"\r\n", b"0\r\nT: " + b"a" * 200_000,
            b"1\r\n[\r\n" * 2000 + b"0\r\n\r\n", b"5;ext=\"\r\n\"\r\nabcde\r\n0\r\n\r\n",
            b"0x5\r\nabcde\r\n0\r\n\r\n", b"2\r\n{}\r\n0\r\n\r\n", b"1\r\n\n\r\n" * 3000 + b"0\r\n\r\n",
            b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n", rng.randbytes(300),
        ]
    )  # fmt: skip
    path = rng.choice(("/v1/lookup?size=4x4", "/v1/solve", "/v1/lookup", "/nowhere", "/v1/databases"))
    head = request(path, None, "Transfer-Encoding: chunked", rng.choice((_JSON, _NDJSON, _BYTES)), method="POST")
    return Hostile(kind, (head, body), patience_s=_HASTE_S, is_owed=False)


def _pipelined(rng: random.Random, kind: str) -> Hostile:
    requests = [_good(rng).replace(b"Connection: close\r\n", b"") for _ in range(rng.choice((2, 5, 40, 150)))]
    if rng.random() < 0.5:
        requests.insert(rng.randrange(len(requests)), rng.randbytes(20))
    return Hostile(kind, (b"".join(requests),), patience_s=rng.choice((None, _HASTE_S)), is_owed=False)


def _traversal(rng: random.Random, kind: str) -> Hostile:
    step = rng.choice(
        (
            "../", "..%2f", "%2e%2e/", "..\\", "%2e%2e%5c", "..%c0%af", "....//", "%252e%252e%252f", ".%00./", "/",
            "//", "./",
        )
    )  # fmt: skip
    target = rng.choice(
        (
            "etc/passwd", "app.py", "server.py", "__init__.py", "index.html%00.png", "proc/self/environ", "%00", "%",
            "%zz", "a" * 3000,
        )
    )  # fmt: skip
    prefix = rng.choice(
        (
            "/page/", "/v1/instances/", "/", "/page/page/", "/v1/databases/", "/page/index.html/",
            "/v1/instances/korf100/",
        )
    )  # fmt: skip
    return Hostile(kind, (request(prefix + step * rng.randrange(0, 9) + target),))


def _million_lines(rng: random.Random, kind: str) -> Hostile:
    line = rng.choice((b"\n", b"[1]\n", b"1\n", b"[]\n", b" \n", b"\r\n", b'""\n'))
    return Hostile(kind, (request("/v1/lookup?size=4x4", line * 1_000_000, _NDJSON),))


def _heavy_json(rng: random.Random, kind: str) -> Hostile:
    body = rng.choice(
        (
            b'{"boards": [' + b"[]," * 2_000_000 + b"[]]}", b'{"boards": [' + b"{}," * 2_000_000 + b"{}]}",
            b'{"boards": [' + b"0," * 3_000_000 + b"0]}", b'{"boards": [[' + b"0," * 3_000_000 + b"0]]}",
            b'{"boards": ["' + b"0 " * 3_000_000 + b'0"]}', b'{"boards": ["1 2 3 0"' + b',"x"' * 90_000 + b"]}",
            b" " * 17_000_000,
        )
    )  # fmt: skip
    return Hostile(kind, (request("/v1/lookup?size=4x4", body, _JSON),))


def _methods(rng: random.Random, kind: str) -> Hostile:
    method = rng.choice(
        (
            "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "PATCH", "CONNECT", "FOO", "get", "PROPFIND", "PURGE", "BREW",
            "POST", "G\0T",
        )
    )  # fmt: skip
    headers = rng.choice(
        (
            (), ("Origin: https://evil.example", "Access-Control-Request-Method: POST"), (_JSON,), (_NDJSON,),
            (_typed("x/y"),),
        )
    )  # fmt: skip
    body = rng.choice((None, b"", b"{}", b"a=b"))
    return Hostile(kind, (request(rng.choice(PATHS), body, *headers, method=method),), patience_s=2.0, is_owed=False)


def _upgrades(rng: random.Random, kind: str) -> Hostile:
    headers = rng.choice(
        [
            ("Expect: 100-continue",), ("Expect: 100-continue, 200-ok",), ("Expect: " + "1" * 500,),
            ("Upgrade: websocket",),
            ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
            ("Upgrade: h2c", "HTTP2-Settings: AAMAAABk"), ("Upgrade: TLS/1.0",), ("Upgrade: \x01",),
            ("Upgrade: " + "websocket," * 500,),
        ]
    )  # fmt: skip
    data = request(rng.choice(PATHS), rng.choice((None, b"{}", b"[1]")), *headers)
    if rng.random() < 0.7:
        data = data.replace(b"Connection: close", b"Connection: Upgrade")
    return Hostile(kind, (data, rng.randbytes(rng.randrange(1, 90))), patience_s=_HASTE_S, is_owed=False)


def _leavers(rng: random.Random, kind: str) -> Hostile:
    board = rng.choice(WORST_BOARDS)
    data = rng.choice(
        [
            lambda: request("/v1/solve?seconds=60&board=" + board.replace(" ", "+")),
            lambda: request("/v1/solve?board=" + board.replace(" ", "+"), None, "Accept: text/event-stream"),
            lambda: request("/v1/solve", json.dumps({"board": board}).encode(), "Accept: text/event-stream"),
            lambda: request("/v1/moves?seconds=60&board=" + board.replace(" ", "+")),
            lambda: request("/v1/lookup?size=4x4", bytes(range(16)) * 20_000, _BYTES),
            lambda: request("/v1/lookup?size=4x4", b"[1]\n" * 4_000, _NDJSON),
        ]
    )()
    wait_s = rng.choice((0.0, 0.0, 0.02, 0.3))
    return Hostile(kind, (data, b"") if wait_s else (data,), pause_s=wait_s, patience_s=None)


def _slow(rng: random.Random, kind: str) -> Hostile:
    data = _good(rng)
    cuts = sorted(rng.randrange(len(data)) for _ in range(rng.randrange(2, 7)))
    pieces = tuple(data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True))
    return Hostile(kind, pieces, pause_s=0.02)


KINDS: dict[str, tuple[float, Callable[[random.Random, str], Hostile]]] = {
    "mutated": (20, _mutated),
    "cut": (8, _cut),
    "request line": (8, _request_line),
    "headers": (8, _headers),
    "lying length": (5, _lying_length),
    "chunked": (5, _chunked),
    "pipelined": (1, _pipelined),
    "traversal": (6, _traversal),
    "million lines": (0.02, _million_lines),
    "heavy json": (0.02, _heavy_json),
    "methods": (5, _methods),
    "upgrades": (2, _upgrades),
    "leavers": (1, _leavers),
    "slow": (1, _slow),
}
