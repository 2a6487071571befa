"""`pdb solve`."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.command_line import BOARD, PROGRAM, UNSOLVABLE, on_terminal, pdb
from tests.tables import table_file


def test_solve_record_has_the_documented_fields(small_table: str) -> None:
    result = pdb("solve", "--db", small_table, BOARD, "--format", "ndjson")
    record = json.loads(result.stdout)
    assert set(record) >= {
        "id", "board", "goal", "solvable", "length", "moves", "optimal", "h", "generated", "expanded", "seconds",
        "thresholds", "search", "heuristic", "bound", "lower_bound",
    }  # fmt: skip
    assert record["length"] == len(record["moves"]) == 31
    assert record["optimal"] is True
    assert sum(step["generated"] for step in record["thresholds"]) == record["generated"]


def test_solve_takes_goals(small_table: str, own_cache: str) -> None:
    for board, goal, code in (("1 2 3/8 4 0/7 6 5", "snail", 2), ("1 0 2/3 4 5/6 7 8", "blank-first", 0)):
        result = pdb("solve", board, "--goal", goal, "--format", "ndjson", TILE_PDB_CACHE=own_cache)
        assert json.loads(result.stdout)["length"] == 1, result.stderr
        # A table of blank-last serves blank-first by a symmetry, and no goal with the blank in the centre.
        assert pdb("solve", "--db", small_table, board, "--goal", goal).returncode == code


def test_goal_of_the_tables_is_the_default(tmp_path: Path) -> None:
    assert pdb("build", "1,2,3,4/5,6,7,8", "--goal", "snail", "--out", "s.h5", cwd=tmp_path).returncode == 0
    for command in ("solve", "query"):
        result = pdb(command, "--db", "s.h5", "1 2 3/8 4 0/7 6 5", "--format", "ndjson", cwd=tmp_path)
        assert json.loads(result.stdout)["h"] == 1, result.stderr


def test_solve_without_table_builds_the_standard_one_once(own_cache: str) -> None:
    first = pdb("solve", BOARD, TILE_PDB_CACHE=own_cache)
    second = pdb("solve", BOARD, TILE_PDB_CACHE=own_cache)
    assert "building 8 for 3x3 once" in first.stderr
    assert "building" not in second.stderr
    assert first.stdout.splitlines()[1] == second.stdout.splitlines()[1]


def test_solve_replaces_a_damaged_standard_table(own_cache: str) -> None:
    pdb("solve", BOARD, TILE_PDB_CACHE=own_cache)
    (table,) = (Path(own_cache) / "tables").glob("*.h5")
    table.write_bytes(table.read_bytes()[:3000])
    again = pdb("solve", BOARD, TILE_PDB_CACHE=own_cache)
    assert again.returncode == 0
    assert "building" in again.stderr


def test_unsolvable_board_gets_the_reason_and_the_others_are_solved(small_table: str) -> None:
    result = pdb("solve", "--db", small_table, UNSOLVABLE, BOARD, "--format", "ndjson")
    assert result.returncode == 3
    assert "odd permutation" in result.stderr
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record["solvable"], record["length"]) for record in records] == [(False, None), (True, 31)]


@pytest.mark.parametrize("limit", [["--max-nodes", "50"], ["--time-limit", "0"]])
def test_board_given_up_has_a_lower_bound(limit: list[str]) -> None:
    hard = "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1"
    result = pdb("solve", "--db", str(table_file("555", "4x4")), hard, *limit)
    assert result.returncode == 5
    assert "given up, at least" in result.stdout


@pytest.mark.parametrize(("number", "told"), [(signal.SIGINT, "pdb: interrupted"), (signal.SIGTERM, "pdb: terminated")])
def test_interrupted_solve_ends_at_once(number: int, told: str) -> None:
    hard = "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1"
    process = subprocess.Popen(
        [*PROGRAM, "solve", "--db", str(table_file("555", "4x4")), hard],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    # On a busy machine it takes longer until it searches.
    while psutil.Process(process.pid).cpu_times().user < 2.5:
        time.sleep(0.05)
    start = time.perf_counter()
    process.send_signal(number)
    _out, err = process.communicate(timeout=20)
    # 0.2 s is promised, to which the process adds the end of the interpreter, and a busy machine more. The search
    # itself would take 5 s more.
    assert time.perf_counter() - start < 4
    assert process.returncode == -number
    assert err.splitlines()[-1] == told


def test_terminal_without_a_board_gets_the_hardest_boards_and_live_progress() -> None:
    shown = on_terminal(["solve", "--db", str(table_file("663", "4x4"))], seconds=6)
    assert "solving the 17 boards of the 15-puzzle that take 80 moves" in shown
    assert re.search(r"threshold \d+, [\d,]+ nodes", shown)


def test_all_solutions_are_counted_and_listed() -> None:
    text = pdb("solve", "--db", str(table_file("8", "3x3")), "--all", BOARD)
    assert text.returncode == 0
    number = re.search(r"31 moves, optimal, one of ([\d,]+);", text.stdout)
    assert number is not None
    listed = pdb("solve", "--db", str(table_file("8", "3x3")), "--all", "--list", "--format", "ndjson", BOARD)
    lines = [json.loads(line) for line in listed.stdout.splitlines()]
    solutions = {tuple(line["solution"]) for line in lines[:-1]}
    assert lines[-1]["solutions"] == len(solutions) == len(lines) - 1 == int(number[1])
    assert lines[-1]["all_solutions"] is True
    assert tuple(lines[-1]["moves"]) in solutions
    near = pdb("solve", "--db", str(table_file("8", "3x3")), "--all", "1 2 3/4 5 6/7 0 8")
    assert near.stdout.startswith("1: 1 move, optimal, the only one; ")


def test_terminal_without_a_board_needs_4x4_tables() -> None:
    shown = on_terminal(["solve", "--db", str(table_file("8", "3x3"))], seconds=20)
    assert "give a board: the hardest boards are known for 4x4, the tables in" in shown


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--worker-db", "a.h5"], "--worker-db needs --scheduler"),
        (["--list"], "--list needs --all"),
        (["--all", "--list", "--format", "json"], "--list writes only text or ndjson"),
        (["--all", "--list", "--log", "a.log"], "--list cannot be combined with --log"),
    ],
)
def test_options_that_exclude_each_other_are_usage_errors(options: list[str], match: str, tmp_path: Path) -> None:
    result = pdb("solve", "--db", str(table_file("8", "3x3")), *options, BOARD, cwd=tmp_path)
    assert result.returncode == 2
    assert match in result.stderr
    assert list(tmp_path.iterdir()) == []
