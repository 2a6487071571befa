"""Files of boards as arguments, and files of solutions position by position."""

import json
import os
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from pdb_core.durable_files import written_safely
from pdb_core.errors import BoardError, OutputError
from tests.command_line import pdb
from tilepdb.commands.board_input import split_arguments
from tilepdb.commands.positions import positions_written


@pytest.mark.tiny
def test_arguments_are_files_or_boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("boards.txt", "7"):
        Path(name).write_text("", encoding="utf-8")
    arguments = ["a.dat", "boards.txt", "none.txt", "7 b.dat", "7.dat", "7", "1 2/3 0", "x" * 5000, "\0"]
    assert split_arguments(arguments) == (
        [Path("a.dat"), Path("boards.txt"), Path("none.txt"), Path("7 b.dat"), Path("7.dat")],
        arguments[5:],
    )


@pytest.mark.tiny
def test_solutions_are_written_position_by_position(tmp_path: Path) -> None:
    records = [
        {"size": "3x2", "board": [1, 2, 3, 0, 4, 5], "moves": [4, 5], "length": 2, "solvable": True},
        {"size": "2x2", "solvable": False},
        {"size": "2x2", "solvable": True, "length": None},
        {"size": "2x2", "board": [1, 2, 3, 0], "moves": [], "length": 0, "solvable": True},
    ]
    with written_safely(tmp_path / "out.ans") as file:
        assert list(positions_written(records, file)) == records
    assert (tmp_path / "out.ans").read_text(encoding="utf-8") == (
        "2\n1 2 3\n0 4 5\n\n1 2 3\n4 0 5\n\n1 2 3\n4 5 0\n\nNO SOLUTION\n\nNO ANSWER\n\n0\n1 2\n3 0\n"
    )


@pytest.mark.tiny
def test_file_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.ans"
    path.write_text("old", encoding="utf-8")
    with suppress(BoardError), written_safely(path) as file:
        file.write("new")
        raise BoardError("no board")
    assert path.read_text(encoding="utf-8") == "old"
    with pytest.raises(OutputError, match="Is a directory"), written_safely(tmp_path):
        pass
    with pytest.raises(OutputError, match="No such file or directory"), written_safely(tmp_path / "none" / "out.ans"):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.ans"]


@pytest.mark.tiny
def test_processes_with_one_id_write_one_file(tmp_path: Path) -> None:
    """In two containers, both commands may be process 1."""
    path, mask = tmp_path / "out.ans", os.umask(0o027)
    try:
        with written_safely(path) as last, written_safely(path) as first:
            first.write("first")
            last.write("last")
    finally:
        os.umask(mask)
    assert path.read_text(encoding="utf-8") == "last"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.ans"]


@pytest.mark.tiny
def test_pipe_or_link_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, link, linked = (tmp_path / name for name in ("pipe", "link", "linked"))
    os.mkfifo(pipe)
    link.symlink_to(linked)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    for path in (pipe, link):
        with written_safely(path) as file:
            file.write("new")
    reader.join()
    assert read == [linked.read_text(encoding="utf-8")] == ["new"]
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "linked", "pipe"]


def test_command_solves_a_file_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "in.dat").write_text("3\n1 2 3\n4 0 5\n7 8 6\n\n3\n2 1 3\n4 5 6\n7 8 0\n", encoding="utf-8")
    (tmp_path / "out.ans").write_text("old", encoding="utf-8")
    for command in ("approximate", "solve"):
        result = pdb(command, "in.dat", "--out", "out.ans", cwd=tmp_path)
        assert result.returncode == 3, result.stderr
        assert result.stdout == ""
        assert (tmp_path / "out.ans").read_text(encoding="utf-8") == (
            "2\n1 2 3\n4 0 5\n7 8 6\n\n1 2 3\n4 5 0\n7 8 6\n\n1 2 3\n4 5 6\n7 8 0\n\nNO SOLUTION\n"
        )
    result = pdb("approximate", "in.dat", "1 2/0 3", "--out", "out.ans", "--format", "ndjson", cwd=tmp_path)
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["in.dat:1", "in.dat:2", "1"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.dat", "out.ans"]
