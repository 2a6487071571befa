"""`pdb random` and `pdb apply`: boards that other commands read."""

from pathlib import Path

import numpy as np
import pytest

from tests.command_line import pdb, records


@pytest.mark.parametrize(
    ("options", "distances"),
    [
        ((), None),
        (("--walks", "2"), [0, 2]),
        (("--distance", "4,6"), [4] * 3 + [6] * 3),
        (("--distance", "27"), [27] * 3),
    ],
)
def test_random_boards_are_solved(small_table: str, options: tuple[str, ...], distances: list[int] | None) -> None:
    given = ["random", "-n", "3", "--size", "3x3", "--db", small_table, "--seed", "5", *options]
    boards = pdb(*given, code=0).stdout
    assert boards == pdb(*given, code=0).stdout
    found = [record["length"] for record in records("solve", "-", "--db", small_table, code=0, stdin=boards)]
    if distances is None:
        assert len(found) == 3
    elif options[0] == "--walks":
        assert set(found) <= set(distances)
    else:
        assert found == distances


def test_boards_of_a_dataset_are_solved(small_table: str, tmp_path: Path) -> None:
    out = str(tmp_path / "labels.npz")
    pdb("label", "--random", "3", "--goal", "blank-first", "--db", small_table, "--out", out, code=0)
    with np.load(out) as arrays:
        lengths = arrays["distance"].tolist()
    found = records("solve", out, "--db", small_table, code=0)
    assert [(record["length"], record["goal"]) for record in found] == [(n, [*range(9)]) for n in lengths]
    np.savez(tmp_path / "other.npz", board=np.zeros((1, 9)))
    assert "is no dataset that pdb label wrote" in pdb("solve", str(tmp_path / "other.npz"), code=2).stderr
