"""Bad input and failing surroundings: one line on stderr and an exit code, from every command."""

import os
from pathlib import Path

import pytest

from tests.command_line import BOARD, pdb, refused
from tests.fork_server import fork_server


@pytest.mark.parametrize("command", ["solve", "query"])
def test_bad_board_is_refused(small_table: str, command: str) -> None:
    refused(pdb(command, "--db", small_table, "1 2 3/4 5 6/7 8 8"), 2, "missing 0, twice or out of range 8")


@pytest.mark.parametrize("command", ["solve", "query"])
def test_bad_goal_in_a_file_is_refused_with_its_line(command: str, small_table: str, tmp_path: Path) -> None:
    path = tmp_path / "boards.csv"
    path.write_text("board,goal\n1 2 3 4 5 6 7 8 0,snake\n", encoding="utf-8")
    refused(pdb(command, "--db", small_table, "--instances", str(path)), 2, "boards.csv line 2: goal is neither one of")


@pytest.mark.parametrize(
    "words", [("solve", BOARD, "--db"), ("query", BOARD, "--db"), ("info",), ("verify",), ("stats",)]
)
def test_bad_table_file_is_refused_by_every_command(words: tuple[str, ...], tmp_path: Path, small_table: str) -> None:
    path = tmp_path / "damaged.h5"
    path.write_bytes(Path(small_table).read_bytes().replace(b"1,2,5/3,4,6/7,8", b"1,2,5/3,4,6/8,7"))
    refused(pdb(*words, str(path)), 4, "damaged")


def test_closed_pipe_is_no_error(small_table: str) -> None:
    result = fork_server().run(
        ["info", small_table], stdin="", cwd=None, environment=os.environ, streams={"1": "reader gone"}
    )
    assert (result.returncode, result.stderr) == (141, "")


def test_unwritable_cache_is_one_warning(tmp_path: Path, small_table: str) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    result = pdb("info", small_table, TILE_PDB_CACHE=str(blocked))
    assert result.returncode == 0
    result = pdb("query", "--db", small_table, BOARD, TILE_PDB_CACHE=str(blocked))
    assert result.returncode == 0
    assert result.stderr.count("compiled anew in every run") == 1
