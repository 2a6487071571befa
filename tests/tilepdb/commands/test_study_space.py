"""`pdb study space`."""

import csv
import json
from pathlib import Path

from tests.command_line import pdb, records


def test_space_prints_counts_maximum_depth_and_farthest_boards() -> None:
    assert "2 boards at distance 31, 1 of them\n" in pdb("study", "space", "3x3", "--antipodes", "1").stdout
    shown = pdb("study", "space", "3x3").stdout
    assert "maximum depth 31, mean 21.972" in shown
    assert shown.endswith("2 boards at distance 31\n  6 4 7/8 5 0/3 2 1\n  8 6 7/2 5 4/3 0 1\n")


def test_space_in_other_formats() -> None:
    (record,) = records("study", "space", "2x3", "--goal", "blank-first")
    assert (record["boards"], record["max_depth"], record["complete"], sum(record["counts"])) == (360, 21, True, 360)
    rows = list(csv.DictReader(pdb("study", "space", "2x3", "--format", "csv").stdout.splitlines()))
    assert [int(row["boards"]) for row in rows] == record["counts"]
    assert [int(row["distance"]) for row in rows] == list(range(22))


def test_depth_ends_the_search() -> None:
    (record,) = records("study", "space", "4x4", "--depth", "6")
    assert record["counts"] == [1, 2, 4, 10, 24, 54, 107]
    assert (record["complete"], record["max_depth"], record["mean"], record["antipodes"]) == (False, None, None, [])
    assert "202 boards up to depth 6" in pdb("study", "space", "4x4", "--depth", "6").stdout


def test_memory_limit_tells_what_is_known_and_exits_with_5() -> None:
    result = pdb("study", "space", "4x4", "--memory-limit", "100k", "--format", "ndjson")
    depth = json.loads(result.stdout)["depth"]
    before, end = result.stderr.splitlines()
    assert before.startswith("pdb: warning: the 10,461,394,944,000 boards of 4x4 do not fit into 100 kB")
    assert f"4x4: all boards up to depth {depth} are counted; depth {depth + 1} takes more than the memory" in end
    assert result.returncode == 5


def test_plot_is_drawn_the_same_each_time(tmp_path: Path) -> None:
    plots = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for plot in plots:
        pdb("study", "space", "3x2", "--plot", str(plot), code=0)
    assert plots[0].read_bytes() == plots[1].read_bytes()
    pdb("study", "space", "4x4", "--depth", "5", "--plot", str(tmp_path / "c.png"), code=0)
