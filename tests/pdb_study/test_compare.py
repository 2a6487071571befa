"""`pdb study compare`: heuristics and searches on the same boards."""

import csv
from io import StringIO
from pathlib import Path

from tests.command_line import BOARD, UNSOLVABLE, pdb

MANHATTAN = ("study", "compare", "--heuristic", "manhattan")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def test_every_pair_has_a_row_and_optimal_lengths_agree(tmp_path: Path) -> None:
    plot = tmp_path / "a.svg"
    searches = ("ida-star", "a-star", "weighted-a-star", "bidirectional")
    arguments = [argument for name in searches for argument in ("--algorithm", name)]
    arguments += ["--heuristic", "db", "--size", "3x2", "--boards", "9", "--plot", str(plot), "--format", "csv"]
    rows = {(row["heuristic"], row["search"]): row for row in rows_of(pdb(*MANHATTAN, *arguments).stdout)}
    assert set(rows) == {(name, search) for name in ("manhattan", "db") for search in searches[:3]} | {
        ("", "bidirectional")
    }
    optimal = {row["mean_length"] for (_name, search), row in rows.items() if search != "weighted-a-star"}
    assert len(optimal) == 1
    weighted = float(rows["manhattan", "weighted-a-star"]["mean_length"])
    assert float(min(optimal)) <= weighted <= 1.5 * float(min(optimal))
    # The complete table of 3x2 knows every distance.
    assert rows["db", "a-star"]["mean_h"] == min(optimal)
    assert "<svg" in plot.read_text(encoding="utf-8")


def test_boards_without_a_solution_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "boards.txt"
    path.write_text(f"{UNSOLVABLE}\n{BOARD}\n1 2 3/4 5 6/7 0 8\n", encoding="utf-8")
    limited = ("--instances", str(path), "--max-nodes", "100")
    shown = pdb(*MANHATTAN, *limited, "--format", "csv")
    (row,) = rows_of(shown.stdout)
    assert (row["boards"], row["unsolvable"], row["solved"]) == ("3", "1", "1")
    assert "1 board of 3 cannot be solved by any" in shown.stderr
    assert "given up at a limit; rows that solved fewer" in shown.stderr
    assert "none within the limits" in pdb(*MANHATTAN, *limited, "--boards", "2").stdout


def test_lengths_are_compared_with_those_of_the_instance_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for known, board, algorithm, code in (
        (1, "1 2 3 4 5 6 7 0 8", "ida-star", 0),
        (3, "1 2 3 4 5 6 7 0 8", "ida-star", 1),
        (31, BOARD, "greedy", 0),  # a longer, suboptimal solution
    ):
        path.write_text(f"id,goal,optimal_length,board\na,blank-last,{known},{board}\n", encoding="utf-8")
        result = pdb(*MANHATTAN, "--instances", str(path), "--algorithm", algorithm, "--format", "csv", code=code)
        assert ("the instance file says 3" in result.stderr) == (code == 1)
        if algorithm == "greedy":
            assert float(rows_of(result.stdout)[0]["mean_length"]) > known
