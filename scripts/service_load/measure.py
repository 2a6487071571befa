"""Measure `pdb serve` on this machine: its start, single lookups, batches, lookups during a hard solve.

Starts servers on loopback. JSON goes to --json. Run it by scripts/bench --service.
"""

import argparse
import asyncio
import json
import os
import random
import re
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import uvloop

sys.path.insert(0, str(Path(__file__).parents[2]))

from pdb_core.puzzle import BoardSize, blank_last, format_board, random_boards
from pdb_query import open_database, read_instances
from tests.pdb_service.server import serving

_BATCH = 100_000
_JSON, _BYTES = "application/json", "application/octet-stream"


async def read_reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return the status and the body of a reply with a length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return int(head[9:12]), await reader.readexactly(int(length[1])) if length else b""


async def send_requests(port: int, requests: list[bytes], seconds: float, n_connections: int) -> list[float]:
    """Send requests one after another on each connection, and return the seconds of each."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        at = number * 997
        while time.perf_counter() < end:
            at += 1
            start = time.perf_counter()
            writer.write(requests[at % len(requests)])
            status, _ = await read_reply(reader)
            times.append(time.perf_counter() - start)
            if status != 200:
                raise RuntimeError(f"a lookup was answered with {status}")
        writer.close()

    await asyncio.gather(*(one(number) for number in range(n_connections)))
    return times


def described(times: list[float], seconds: float) -> dict[str, float]:
    """Return requests per second, and quantiles in milliseconds."""
    ordered = sorted(times)
    return {
        "per_s": round(len(ordered) / seconds),
        **{f"p{q}_ms": round(1e3 * ordered[min(len(ordered) - 1, len(ordered) * q // 100)], 2) for q in (50, 99)},
        "max_ms": round(1e3 * ordered[-1], 2),
    }


async def single_lookups(port: int, size: BoardSize, hard: str | None, seconds: float, n: int) -> dict[str, float]:
    """Measure single lookups, during the solve of a hard board if there is one."""
    boards = random_boards(size, blank_last(size), 5000, 3).tolist()
    requests = [
        f"GET /v1/lookup?board={format_board(board).replace(' ', '+')} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        for board in boards
    ]
    writer = None
    if hard is not None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /v1/solve?board={hard.replace(' ', '+')} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await asyncio.sleep(0.5)
    times = await send_requests(port, requests, seconds, n)
    if writer is not None:
        running = await metric(port, "tile_pdb_solves_running")
        if running != 1:
            raise RuntimeError("the solve ended before the lookups; choose smaller tables with --solve-db")
        writer.close()
    return described(times, seconds)


async def metric(port: int, name: str) -> float:
    """Return a value of /metrics."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    _, body = await read_reply(reader)
    writer.close()
    return next(float(line.split()[1]) for line in body.decode().splitlines() if line.startswith(name + " "))


async def batches(port: int, size: BoardSize, media_type: str, n_times: int) -> dict[str, float]:
    """Measure batches on one connection, one after another: boards per second of the median batch."""
    boards = random_boards(size, blank_last(size), _BATCH, 4)
    body = boards.tobytes() if media_type == _BYTES else json.dumps({"boards": boards.tolist()}).encode()
    head = f"POST /v1/lookup?size={size} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {media_type}\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    times = []
    for _ in range(n_times):
        start = time.perf_counter()
        writer.write(request)
        status, answer = await read_reply(reader)
        times.append(time.perf_counter() - start)
        if status != 200:
            raise RuntimeError(answer.decode())
    writer.close()
    return {"boards_per_s": round(_BATCH / sorted(times)[n_times // 2]), "request_bytes": len(body)}


def in_process(path: Path, n_times: int) -> dict[str, float]:
    """Measure the same boards with the Python library."""
    with open_database(path) as database:
        boards = random_boards(database.size, blank_last(database.size), _BATCH, 4)
        times = []
        for _ in range(n_times):
            start = time.perf_counter()
            database.probe_batch(boards)
            times.append(time.perf_counter() - start)
    return {"boards_per_s": round(_BATCH / sorted(times)[n_times // 2])}


def hardest_board(size: BoardSize) -> str:
    """Return one of the published hardest boards of the 15-puzzle."""
    boards = [format_board(at.board) for at in read_instances("hardest80", size)]
    return random.Random(1).choice(boards)


def main() -> None:
    """Measure everything, print it and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("db", type=Path, help="a 4x4 table file for lookups; in bytes for many of them")
    parser.add_argument("--solve-db", type=Path, help="a weak 4x4 table file: a hard solve must outlast the lookups")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--json", type=Path, default=Path("service.json"))
    options = parser.parse_args()
    uvloop.install()
    results: dict[str, Any] = {"in_process": in_process(options.db, 9)}

    def note(name: str, value: Any) -> None:
        results[name] = value
        print(f"{name}: {value}", flush=True)

    def measure(name: str, work: Callable[[], Awaitable[Any]]) -> None:
        async def run() -> Any:
            return await work()

        note(name, asyncio.run(run()))

    print(f"in_process: {results['in_process']}")
    start = time.perf_counter()
    with serving(options.db) as server:
        note("ready_s", round(time.perf_counter() - start, 2))
        size = open_database(options.db).size
        measure("bytes", lambda: batches(server.port, size, _BYTES, 15))
        measure("json", lambda: batches(server.port, size, _JSON, 15))
        measure("single", lambda: single_lookups(server.port, size, None, options.seconds, options.connections))
    with serving(options.solve_db or options.db, options=["--seconds", "600", "--grace", "0"]) as server:
        hard = hardest_board(size)
        measure(
            "single_beside_a_solve",
            lambda: single_lookups(server.port, size, hard, options.seconds, options.connections),
        )
    options.json.write_text(json.dumps({"cores": os.cpu_count(), **results}, indent=1) + "\n")


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
