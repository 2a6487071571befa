"""`pdb search`."""

import re
from pathlib import Path

import pytest

from solver.heuristics import HEURISTICS
from tests.command_line import BOARD, pdb, records


@pytest.mark.parametrize(
    ("search", "heuristic"),
    [
        ("ida-star", f"max({','.join(HEURISTICS)})"),
        ("a-star", "max(db,manhattan)"),
        ("breadth-first", None),
        ("bidirectional", None),
    ],
)
def test_optimal_algorithms(search: str, heuristic: str | None) -> None:
    options = () if heuristic is None else ("--heuristic", heuristic)
    (record,) = records("search", BOARD, "--algorithm", search, *options)
    shown = {"length": 31, "optimal": True, "suboptimality_bound": 1.0, "algorithm": search, "heuristic": heuristic}
    assert shown.items() <= record.items()


def test_memory_limit_ends_a_search_with_exit_code_5(tmp_path: Path) -> None:
    path = tmp_path / "boards.txt"
    path.write_text("15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0\n1 2 3 4/5 6 7 8/9 10 11 12/13 14 0 15\n")
    command = ("search", "--instances", str(path), "--algorithm", "a-star", "--memory-limit", "20M")
    assert "raise the memory limit" in pdb(*command).stderr
    given_up, solved = records(*command, code=5)
    assert (given_up["solvable"], given_up["length"], solved["length"]) == (True, None, 1)
    assert given_up["lower_bound"] >= given_up["h"] == 44
    assert given_up["generated"] > 500_000
    assert given_up["peak_open"] > 100_000


@pytest.mark.parametrize("search", [("greedy",), ("weighted-a-star", "--weight", "5")])
def test_longer_solution_is_no_error_of_suboptimal_algorithms(search: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "boards.csv"
    path.write_text("id,goal,optimal_length,board\na,,31,8 6 7 2 5 4 3 0 1\nb,,1,1 2 3 4 0 6 7 5 8\n")
    result = pdb("search", "--instances", str(path), "--heuristic", "manhattan", "--algorithm", *search, code=1)
    assert re.search(r"^a: 4\d moves, .*the optimal length is at least", result.stdout)
    assert "board a" not in result.stderr
    # The second is two moves away, and the file's 1 cannot be so.
    assert "board b: the optimal solution has 2 moves, the instance file says 1" in result.stderr
