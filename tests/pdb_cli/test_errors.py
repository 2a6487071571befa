"""Bad input and failing surroundings: one line on stderr and an exit code, from every command."""

import subprocess
from pathlib import Path

import pytest

from tests.command_line import BOARD, PROGRAM, pdb, refused


@pytest.mark.parametrize(
    ("board", "match"),
    [
        ("1 2 3/4 5 6/7 8 8", "missing 0, twice or out of range 8"),
        ("1 2 x/4 5 6/7 8 0", "'x' is not a number"),
        ("", "a number is missing"),
    ],
)
def test_bad_board_is_refused(small_table: str, board: str, match: str) -> None:
    refused(pdb("solve", "--db", small_table, board), 2, match)
    refused(pdb("query", "--db", small_table, board), 2, match)


@pytest.mark.parametrize("command", ["solve", "query"])
def test_bad_goal_in_a_file_is_refused_with_its_line(command: str, small_table: str, tmp_path: Path) -> None:
    path = tmp_path / "boards.csv"
    path.write_text("board,goal\n1 2 3 4 5 6 7 8 0,snake\n", encoding="utf-8")
    refused(pdb(command, "--db", small_table, "--instances", str(path)), 2, "boards.csv line 2: goal is neither one of")


@pytest.mark.parametrize("command", ["solve", "query", "info", "verify", "stats"])
def test_bad_table_file_is_refused_by_every_command(command: str, tmp_path: Path, small_table: str) -> None:
    def run(path: Path) -> subprocess.CompletedProcess[str]:
        if command in ("solve", "query"):
            return pdb(command, "--db", str(path), BOARD)
        return pdb(command, str(path))

    content = Path(small_table).read_bytes()
    cases = {
        "missing": (None, "no table file"),
        "foreign": (b"hello", "not a table file"),
        "truncated": (content[:5000], "damaged|truncated"),
        "damaged": (content.replace(b"blank", b"blink").replace(b"1,2,5/3,4,6/7,8", b"1,2,5/3,4,6/8,7"), "damaged"),
    }
    for name, (data, match) in cases.items():
        path = tmp_path / f"{name}.h5"
        if data is not None:
            path.write_bytes(data)
        refused(run(path), 4, match)


def test_closed_pipe_is_no_error(small_table: str) -> None:
    first = " ".join(f"'{part}'" for part in [*PROGRAM, "query", "--db", small_table, "--format", "ndjson"])
    boards = "\\n".join([BOARD] * 2000)
    result = subprocess.run(
        ["bash", "-c", f"printf '{boards}\\n' | {first} | head -n 1"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in result.stderr
    assert "Broken" not in result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_unwritable_cache_is_one_warning(tmp_path: Path, small_table: str) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    result = pdb("info", small_table, TILE_PDB_CACHE=str(blocked))
    assert result.returncode == 0
    result = pdb("query", "--db", small_table, BOARD, TILE_PDB_CACHE=str(blocked))
    assert result.returncode == 0
    assert result.stderr.count("compiled anew in every run") == 1
