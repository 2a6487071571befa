"""`pdb bench` as its users meet it."""

import json
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
