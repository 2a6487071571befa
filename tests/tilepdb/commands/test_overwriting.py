"""Outputs that would overwrite an input or another output are refused, under any name of the file."""

import subprocess
from pathlib import Path

import pytest

from tests.command_line import BOARD, PROGRAM, pdb, refused

_BOARDS = "1 2 3/4 5 6/7 0 8\n"


@pytest.fixture
def folder(tmp_path: Path, small_table: str) -> Path:
    """Return a folder with a table and boards, also under other names."""
    (tmp_path / "d.h5").write_bytes(Path(small_table).read_bytes())
    (tmp_path / "d.svg").write_bytes(Path(small_table).read_bytes())
    for name in ("b.txt", "b.dat", "b.csv"):
        (tmp_path / name).write_text(_BOARDS, encoding="utf-8")
    (tmp_path / "link.h5").symlink_to("d.h5")
    (tmp_path / "hard.h5").hardlink_to(tmp_path / "d.h5")
    (tmp_path / "here").symlink_to(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["solve", "--db", "d.h5", BOARD, "--out", "d.h5"], "--db"),
        (["solve", "--db", "d.h5", BOARD, "--out", "./here/d.h5"], "--db"),
        (["solve", "--db", "d.h5", BOARD, "--out", "link.h5"], "--db"),
        (["solve", "--db", "link.h5", BOARD, "--out", "d.h5"], "--db"),
        (["solve", "--db", "d.h5", BOARD, "--out", "hard.h5"], "--db"),
        (["solve", "--db", "d.h5", BOARD, "--log", "hard.h5"], "--db"),
        (["solve", "--instances", "b.txt", "--out", "b.txt"], "--instances"),
        (["solve", "b.dat", "--out", "b.dat"], "boards"),
        (["solve", BOARD, "--log", "new", "--out", "here/new"], "--log"),
        (["search", "--db", "d.h5", BOARD, "--out", "d.h5"], "--db"),
        (["search", "b.txt", "--log", "b.txt"], "boards"),
        (["approximate", "--db", "d.h5", BOARD, "--out", "d.h5"], "--db"),
        (["approximate", "b.txt", "--out", "b.txt"], "boards"),
        (["label", "--db", "d.h5", "--random", "2", "--out", "d.h5"], "--db"),
        (["label", "--db", "d.h5", "--instances", "b.csv", "--out", "b.csv"], "--instances"),
        (["stats", "d.svg", "--boards", "10", "--plot", "d.svg"], "table file"),
        (["study", "heuristics", "3x3", "--db", "d.svg", "--plot", "d.svg"], "--db"),
        (["study", "compare", "--db", "d.svg", "--heuristic", "db", "--boards", "2", "--plot", "d.svg"], "--db"),
    ],
)
def test_output_over_an_input_is_refused(folder: Path, words: list[str], what: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    refused(pdb(*words, cwd=folder), 2, f"would overwrite .*{what}.*; choose another place with {words[-2]}$")
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_output_over_standard_input_is_refused(folder: Path) -> None:
    with (folder / "b.txt").open(encoding="utf-8") as boards:
        result = subprocess.run(
            [*PROGRAM, "approximate", "--out", "b.txt"], stdin=boards, capture_output=True, text=True, cwd=folder,
            timeout=120,
        )  # fmt: skip
    refused(result, 2, "would overwrite")
    assert (folder / "b.txt").read_text(encoding="utf-8") == _BOARDS


def test_devices_are_inputs_and_outputs_at_once(folder: Path) -> None:
    for out in ("/dev/stdout", "/dev/null"):
        result = pdb("approximate", "--instances", "/dev/stdin", "--out", out, stdin=_BOARDS, cwd=folder)
        assert result.returncode == 0, result.stderr
        assert result.stdout == ("1\n1 2 3\n4 5 6\n7 0 8\n\n1 2 3\n4 5 6\n7 8 0\n" if out == "/dev/stdout" else "")
