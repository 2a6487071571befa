"""`pdb stats`."""

import json
from pathlib import Path

from tests.command_line import pdb


def test_stats_tells_histogram_and_mean(small_table: str, tmp_path: Path) -> None:
    result = pdb("stats", small_table, "--boards", "2000", "--verify", "--load", "copy")
    assert result.returncode == 0
    assert "mean maximum" in result.stdout
    record = json.loads(pdb("stats", small_table, "--boards", "2000", "--format", "ndjson").stdout)
    assert [sum(p["histogram"]) for p in record["patterns"]] == [504, 504, 72]
    plot = tmp_path / "a.svg"
    assert pdb("stats", small_table, "--boards", "100", "--plot", str(plot)).returncode == 0
    assert plot.read_text(encoding="utf-8").startswith("<?xml")
    assert pdb("stats", small_table, "--plot", "a.txt").returncode == 2
