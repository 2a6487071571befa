"""Figures of `pdb serve` on this machine: its start, single lookups and batches over loopback."""

import asyncio
import json
import re
import statistics
import time
from pathlib import Path

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import blank_last, format_board, random_boards
from tests.pdb_service.server import Server, serving

BATCH = 100_000
_SIZE = BoardSize(4, 4)
_CONNECTIONS, _SECONDS, _BATCHES = 8, 10.0, 15


def measured(path: Path) -> dict[str, float]:
    """Return the figures of a server with one table file."""
    start = time.perf_counter()
    with serving(path) as server:
        ready_s = round(time.perf_counter() - start, 2)
        boards = random_boards(_SIZE, blank_last(_SIZE), BATCH, 4)
        few = boards[: BATCH // 10].tolist()  # JSON may have 1 MB
        times = sorted(asyncio.run(single_lookups(server.port)))
        return {
            "ready_s": ready_s,
            "single_per_s": round(len(times) / _SECONDS),
            "single_p99_ms": round(1e3 * times[len(times) * 99 // 100], 2),
            "bytes_per_s": boards_per_s(server, "application/octet-stream", boards.tobytes(), BATCH),
            "json_per_s": boards_per_s(server, "application/json", json.dumps({"boards": few}).encode(), len(few)),
        }


async def single_lookups(port: int) -> list[float]:
    """Send lookups of single boards one after another on each connection, and return the seconds of each."""
    boards = random_boards(_SIZE, blank_last(_SIZE), 5000, 3).tolist()
    requests = [
        f"GET /v1/lookup?board={format_board(board).replace(' ', '+')} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        for board in boards
    ]
    times: list[float] = []
    end = time.perf_counter() + _SECONDS

    async def send(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (start := time.perf_counter()) < end:
            number += 1
            writer.write(requests[number * 997 % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
            await reader.readexactly(int(length))
            times.append(time.perf_counter() - start)
            assert head.startswith(b"HTTP/1.1 200")
        writer.close()

    await asyncio.gather(*(send(number) for number in range(_CONNECTIONS)))
    return times


def boards_per_s(server: Server, media_type: str, body: bytes, n_boards: int) -> int:
    """Return the boards per second of the median of batches, one after another."""
    times = []
    for _ in range(_BATCHES):
        start = time.perf_counter()
        assert server.ask(f"/v1/lookup?size={_SIZE}", body, Content_Type=media_type).status == 200
        times.append(time.perf_counter() - start)
    return round(n_boards / statistics.median(times))
