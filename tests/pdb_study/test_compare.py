"""`pdb study compare`: heuristics and searches on the same boards."""

from pathlib import Path

from tests.command_line import BOARD, UNSOLVABLE, pdb, records

MANHATTAN = ("study", "compare", "--heuristic", "manhattan")


def test_every_pair_has_a_row_and_optimal_lengths_agree(tmp_path: Path) -> None:
    plot = tmp_path / "a.svg"
    searches = ("ida-star", "a-star", "weighted-a-star", "bidirectional")
    arguments = [argument for name in searches for argument in ("--algorithm", name)]
    arguments += ["--heuristic", "db", "--size", "3x2", "--boards", "9", "--plot", str(plot)]
    rows = {(row["heuristic"], row["algorithm"]): row for row in records(*MANHATTAN, *arguments)}
    assert set(rows) == {(name, search) for name in ("manhattan", "db") for search in searches[:3]} | {
        (None, "bidirectional")
    }
    optimal = {row["mean_length"] for (_name, search), row in rows.items() if search != "weighted-a-star"}
    assert len(optimal) == 1
    weighted = rows["manhattan", "weighted-a-star"]["mean_length"]
    assert min(optimal) <= weighted <= 1.5 * min(optimal)
    # The complete table of 3x2 knows every distance.
    assert rows["db", "a-star"]["mean_h"] == min(optimal)
    assert "<svg" in plot.read_text()


def test_boards_without_a_solution_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "boards.txt"
    path.write_text(f"{UNSOLVABLE}\n{BOARD}\n1 2 3/4 5 6/7 0 8\n")
    limited = (*MANHATTAN, "--instances", str(path), "--max-nodes", "100")
    (row,) = records(*limited)
    assert (row["boards"], row["unsolvable"], row["solved"]) == (3, 1, 1)
    told = pdb(*limited).stderr
    assert "1 board of 3 cannot be solved by any" in told
    assert "given up at a limit; rows that solved fewer" in told
    assert "none within the limits" in pdb(*limited, "--boards", "2").stdout


def test_lengths_are_compared_with_those_of_the_instance_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for known, board, algorithm, code in (
        (1, "1 2 3 4 5 6 7 0 8", "ida-star", 0),
        (3, "1 2 3 4 5 6 7 0 8", "ida-star", 1),
        (31, BOARD, "greedy", 0),  # a longer, suboptimal solution
    ):
        path.write_text(f"id,goal,optimal_length,board\na,blank-last,{known},{board}\n")
        command = (*MANHATTAN, "--instances", str(path), "--algorithm", algorithm)
        assert ("the instance file says 3" in pdb(*command).stderr) == (code == 1)
        rows = records(*command, code=code)
        assert algorithm != "greedy" or rows[0]["mean_length"] > known
