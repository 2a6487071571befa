"""`pdb study compare`: heuristics and searches on the same boards."""

import csv
import json
import statistics
from io import StringIO
from pathlib import Path

import pytest

from tests.command_line import pdb, refused

CSV = ("--format", "csv")


def test_rows_are_means_of_the_answers_of_solve() -> None:
    boards = ("--instances", "classic", "--size", "3x3")
    shown = pdb("study", "compare", *boards, "--boards", "2", "--heuristic", "manhattan", "--algorithm", "a-star", *CSV)
    (row,) = csv.DictReader(StringIO(shown.stdout))
    solved = pdb("search", *boards, "--heuristic", "manhattan", "--algorithm", "a-star", "--format", "ndjson").stdout
    answers = [json.loads(line) for line in solved.splitlines()][:2]
    assert (row["heuristic"], row["search"], row["boards"], row["solved"]) == ("manhattan", "a-star", "2", "2")
    for column, field in (("mean_h", "h"), ("mean_length", "length"), ("mean_generated", "generated")):
        assert float(row[column]) == statistics.mean(answer[field] for answer in answers)


@pytest.mark.slow
def test_every_pair_has_a_row_and_optimal_lengths_agree(tmp_path: Path) -> None:
    plot = tmp_path / "a.svg"
    names = ("manhattan", "korf-taylor", "db")
    searches = ("ida-star", "a-star", "weighted-a-star", "bidirectional")
    arguments = [argument for name in names for argument in ("--heuristic", name)]
    arguments += [argument for name in searches for argument in ("--algorithm", name)]
    shown = pdb("study", "compare", "--size", "3x2", "--boards", "9", *arguments, "--plot", str(plot), *CSV).stdout
    rows = {(row["heuristic"], row["search"]): row for row in csv.DictReader(StringIO(shown))}
    assert set(rows) == {(name, search) for name in names for search in searches[:3]} | {("", "bidirectional")}
    optimal = {row["mean_length"] for (_name, search), row in rows.items() if search != "weighted-a-star"}
    assert len(optimal) == 1
    weighted = float(rows["manhattan", "weighted-a-star"]["mean_length"])
    assert float(min(optimal)) <= weighted <= 1.5 * float(min(optimal))
    # The complete table of 3x2 knows every distance.
    assert rows["db", "a-star"]["mean_h"] == min(optimal)
    assert "<svg" in plot.read_text(encoding="utf-8")


def test_boards_without_a_solution_within_the_limits_are_counted() -> None:
    shown = pdb("study", "compare", "--size", "4x4", "--boards", "2", "--heuristic", "manhattan", "--max-nodes", "1000")
    assert "0/2" in shown.stdout
    assert "none within the limits" in shown.stdout
    assert "given up at a limit; rows that solved fewer" in shown.stderr


def test_unsolvable_boards_are_counted_separately(tmp_path: Path) -> None:
    path, plot = tmp_path / "boards.txt", tmp_path / "a.svg"
    path.write_text("2 1 3/4 5 6/7 8 0\n1 2 3/4 5 6/7 0 8\n", encoding="utf-8")
    arguments = ("study", "compare", "--instances", str(path), "--heuristic", "manhattan")
    shown = pdb(*arguments, "--plot", str(plot), *CSV)
    (row,) = csv.DictReader(StringIO(shown.stdout))
    assert (row["boards"], row["unsolvable"], row["solved"]) == ("2", "1", "1")
    assert "1 board of 2 cannot be solved by any" in shown.stderr
    assert "given up" not in shown.stderr
    assert plot.exists()
    assert "none of them can be" in pdb(*arguments, "--boards", "1").stdout
    path.write_text("# none\n", encoding="utf-8")
    refused(pdb(*arguments), 2, "holds no board")


def test_suboptimal_solution_may_be_longer_than_the_known_optimal_length() -> None:
    shown = pdb(
        "study", "compare", "--instances", "classic", "--size", "3x3", "--boards", "2", "--heuristic", "manhattan",
        "--algorithm", "greedy", "--algorithm", "weighted-a-star", "--weight", "9", *CSV,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert all(float(row["mean_length"]) > 31 for row in csv.DictReader(StringIO(shown.stdout)))


def test_wrong_length_in_the_instance_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,goal,optimal_length,board\na,blank-last,3,1 2 3 4 5 6 0 7 8\n", encoding="utf-8")
    result = pdb("study", "compare", "--instances", str(path), "--heuristic", "manhattan")
    assert result.returncode == 1
    assert "the instance file says 3" in result.stderr
