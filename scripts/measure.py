"""Measure figures of the pages, print them as a table, and store them in docs/figures.json: scripts/measure --help."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pdb_core.pattern import NAMED_PARTITIONS
from pdb_core.puzzle import format_board, random_boards
from pdb_core.resources import available_cores
from pdb_core.version import version_text
from pdb_query import open_database, read_instances
from scripts.markdown import markdown
from solver.solve import Solver
from tests import ROOT
from tests.pdb_service.server import serving

Row = dict[str, Any]

FIGURES = ROOT / "docs" / "figures.json"
TABLES = ROOT / "data" / "bench"
# Single lookups by HTTP: connections and seconds. Batches: boards, and boards in JSON, which may have 1 MB.
_CONNECTIONS, _SECONDS, _BATCH, _BATCH_IN_JSON = 8, 10.0, 100_000, 10_000


def least_time(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least seconds of three calls, or of the first if it takes more than 20 s, and the last result."""
    times: list[float] = []
    while len(times) < 3 and max(times, default=0) < 20:
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def pdb(*words: object) -> Any:
    """Run a command, and return the object in JSON that it prints."""
    command = [sys.executable, "-m", "tilepdb", *map(str, words), "--format", "ndjson"]
    return json.loads(subprocess.check_output(command, stderr=subprocess.DEVNULL))


def table(name: str) -> Path:
    """Return the table file of a partition, such as `78` or `78-bytes`, and build it if it is missing."""
    path = TABLES / f"{name}.h5"
    if not path.exists():
        build(name)
    return path


def build(name: str) -> Row:
    """Return the figures of `pdb build`; the memory is that of the last process."""
    path, partition = TABLES / f"{name}.h5", name.removesuffix("-bytes")
    path.parent.mkdir(parents=True, exist_ok=True)
    encoding = "bits" if name == partition else "bytes"
    words = ("build", partition, "--out", path, "--encoding", encoding, "--fresh")
    seconds, built = least_time(partial(pdb, *words))
    return {
        "build_s": seconds,
        "memory_gb": built["peak_memory_bytes"] / 1e9,
        "file_mb": path.stat().st_size / 1e6,
    }


def with_error(values: Sequence[float], digits: int) -> str:
    """Return the mean of values and its standard error as text."""
    return f"{np.mean(values):,.{digits}f} ± {np.std(values, ddof=1) / len(values) ** 0.5:,.{digits}f}"


def searched(instances: str, name: str, ids: Collection[str] = (), n_threads: int = 1) -> Row:
    """Return the figures of a set of boards, or of some of them, searched with databases such as `78 78d --plain`."""
    chosen = [each for each in read_instances(instances) if not ids or each.id in ids]
    boards = [each.board for each in chosen]
    with ExitStack() as stack:
        paths = [table(word) for word in name.split() if not word.startswith("--")]
        databases = [stack.enter_context(open_database(path, load="huge")) for path in paths]
        solver = Solver(*databases, plain="--plain" in name, reflects="--no-reflection" not in name)
        solve = partial(solver.solve_many, goal=chosen[0].goal, n_threads=n_threads)
        solve(boards[:1])  # compiles
        seconds, solved = least_time(partial(solve, boards))
    assert solved.lengths.tolist() == [each.optimal_length for each in chosen]
    return {
        "mean_h": with_error(solved.h, 2),
        "nodes": with_error(solved.generated, 0),
        "generated": int(solved.generated.sum()),
        "expanded": int(solved.expanded.sum()),
        "seconds": seconds,
    }


def served(name: str) -> Row:
    """Return the figures of `pdb serve` with a table, and of its batches when the library looks them up."""
    boards = random_boards("4x4", "blank-last", _BATCH, 4)
    in_json = json.dumps({"boards": boards[:_BATCH_IN_JSON].tolist()}).encode()
    with open_database(table(name), load="huge") as database:
        in_process, _ = least_time(lambda: database.probe_batch(boards))
    with serving(table(name)) as server:
        singles = sorted(asyncio.run(single_lookups(server.port)))
        ask = partial(server.ask, "/v1/lookup?size=4x4")
        as_bytes, reply = least_time(lambda: ask(boards.tobytes(), Content_Type="application/octet-stream"))
        as_json, reply_in_json = least_time(lambda: ask(in_json, Content_Type="application/json"))
    assert reply.status == reply_in_json.status == 200
    return {
        "single_per_s": len(singles) / _SECONDS,
        "single_p99_ms": 1e3 * singles[len(singles) * 99 // 100],
        "bytes_per_s": _BATCH / as_bytes,
        "json_per_s": _BATCH_IN_JSON / as_json,
        "in_process_per_s": _BATCH / in_process,
    }


async def single_lookups(port: int) -> list[float]:
    """Send lookups of single boards one after another on each connection, and return the seconds of each."""
    boards = [format_board(board).replace(" ", "+") for board in random_boards("4x4", "blank-last", 5000, 3).tolist()]
    times: list[float] = []
    end = time.perf_counter() + _SECONDS

    async def send(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (start := time.perf_counter()) < end:
            number += 997
            board = boards[number % len(boards)]
            writer.write(f"GET /v1/lookup?board={board} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            await reader.readexactly(int(re.findall(rb"(?i)content-length: (\d+)", head)[0]))
            times.append(time.perf_counter() - start)
        writer.close()

    await asyncio.gather(*map(send, range(_CONNECTIONS)))
    return times


def strength(name: str) -> Row:
    """Return eta of a heuristic or of a database for the 24-puzzle, and its standard error."""
    if name in NAMED_PARTITIONS:
        words = ["--db", table(name), "--chains", 400, "--steps", 8000]
    else:
        words = ["--heuristic", name, "--chains", 1000, "--steps", 3000]
    found = pdb("study", "strength", "5x5", "--goal", "blank-first", *words)
    return {"eta": found["eta"], "eta_error": found["standard_error"]}


# The rows of each section.
SECTIONS: dict[str, dict[str, Callable[[], Row]]] = {
    "builds": {
        name: partial(build, name) for name in (*NAMED_PARTITIONS, "78+78d", "663-bytes", "78-bytes", "6666-bytes")
    },
    "random1000": {
        name: partial(searched, "random1000", name)
        for name in (
            "555",
            "663",
            "663 --plain",
            "663-bytes",
            "663-bytes --plain",
            "78",
            "78 --plain",
            "78-bytes",
            "78-bytes --plain",
            "78 78d",
            "78 78d 78v",
            "78 96",
            "78 78d 96",
            "78d",
            "78v",
            "96",
            "555-bytes --plain",
            "555-bytes --plain --no-reflection",
            "663-bytes --plain --no-reflection",
            "78-bytes --plain --no-reflection",
        )
    },
    "hardest80": {
        f"{name}, {n} threads": partial(searched, "hardest80", name, n_threads=n)
        for name in ("663", "78", "78-bytes", "78 78d")
        for n in (1, 2)
    },
    "easy24": {
        f"{name}, {len(ids)} boards, {n} threads": partial(searched, "korf50-24puzzle", name, ids, n)
        for name in ("6666", "24-small", "24-large")
        # Other programs were timed with the first three boards.
        for ids, n in ((("38", "40", "25", "44", "32"), available_cores()), (("38", "40", "25"), 1))
    },
    "service": {name: partial(served, name) for name in ("78", "78-bytes")},
    "strength": {
        name: partial(strength, name)
        for name in (
            "manhattan",
            "walking-distance",
            "linear-conflict",
            "55554",
            "6666",
            "7773",
            "24-small",
            "24-large",
        )
    },
}


def formatted(value: Any) -> str:
    """Return a figure as text; a float with three significant digits."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value


def main(section: str = "", *rows: str) -> None:
    """Measure rows of a section, or all; store each with its date and version, and print it."""
    works = SECTIONS.get(section, {})
    if unknown := {section} - set(SECTIONS) | set(rows) - set(works):
        raise SystemExit(f"unknown: {', '.join(map(repr, unknown))}; choose from {', '.join(works or SECTIONS)}")
    for name in rows or works:
        row = works[name]() | {"date": time.strftime("%Y-%m-%d"), "version": version_text()}
        figures = json.loads(FIGURES.read_text(encoding="utf-8"))
        figures.setdefault(section, {})[name] = row
        FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(markdown([section, *row], [[name, *map(formatted, row.values())]]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
