"""`pdb bench` as its users meet it."""

import json
import re
from pathlib import Path

from tests.command_line import pdb


def test_bench_prints_medians_and_writes_json(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    result = pdb(
        "bench", "663", "--repeats", "1", "--boards", "3", "--set", "classic", "--json", str(path), "--format", "ndjson"
    )
    assert result.returncode == 0, result.stderr
    records = json.loads(path.read_text(encoding="utf-8"))
    assert [json.loads(line) for line in result.stdout.splitlines()] == records
    assert records[0]["measurement"] == "663 bits: build, whole process"
    assert records[1]["boards"] == 3
    assert records[1]["nodes_per_second"] > 100_000


def test_bench_tells_seconds_and_nodes() -> None:
    result = pdb("bench", "663", "--repeats", "1", "--boards", "3", "--set", "classic")
    assert result.returncode == 0, result.stderr
    build, *solve = result.stdout.splitlines()
    assert re.fullmatch(r"663 bits: build, whole process +\d+\.\d\d s \(median of 1\).*", build)
    assert all(
        re.search(r"[\d.]+ s, +[\d.]+ ms a board, mean h [\d.]+, [\d,]+ nodes, [\d.]+ million/s", at) for at in solve
    )
    assert solve
