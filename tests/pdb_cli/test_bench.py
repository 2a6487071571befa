"""`pdb bench`."""

import json
import re
from pathlib import Path

from tests.command_line import pdb


def test_bench_prints_medians_and_writes_json(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    result = pdb("bench", "663", "--repeats", "1", "--boards", "3", "--set", "classic", "--verify", "--json", str(path))
    assert result.returncode == 0, result.stderr
    records = json.loads(path.read_text(encoding="utf-8"))
    assert records[0]["measurement"] == "663 bits: build, whole process"
    assert [record["boards"] for record in records[1:3]] == [3, 3]
    build, *searches = result.stdout.splitlines()
    assert re.fullmatch(r"663 bits: build, whole process +\d+\.\d\d s \(median of 1\).*", build)
    assert len(searches) == len(records) - 1
    for line in searches:
        assert re.search(r"[\d.]+ s, +[\d.]+ ms a board, mean h [\d.]+, [\d,]+ nodes, [\d.]+ million/s", line)
