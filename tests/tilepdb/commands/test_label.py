"""`pdb label`: sources, formats, Ctrl-C, options that exclude each other."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pdb_core.errors import InputError
from pdb_study.labels import RandomBoards, write_labels
from tests.command_line import pdb, records, refused
from tilepdb.commands.label import parse_lengths


def loaded(path: Path) -> dict[str, Any]:
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def test_dataset_in_csv_is_read_for_its_goal(tmp_path: Path, small_table: str) -> None:
    out = str(tmp_path / "a.csv")
    pdb("label", "--db", small_table, "--random", "5", "--goal", "blank-first", "--out", out, code=0)
    rows = [line.split(",") for line in Path(out).read_text().splitlines()[2:]]
    found = records("search", out)
    assert [record["length"] for record in found] == [int(row[1]) for row in rows]
    assert found[0]["goal"] == list(range(9))


@pytest.mark.tiny
def test_lengths_of_walks() -> None:
    assert parse_lengths("10,20,50") == (10, 20, 50)
    assert parse_lengths(" 1-4, 0 ,7-7") == (1, 2, 3, 4, 0, 7)
    for text in ("", ",", "1-", "-1", "5-3", "1-2-3", "x", "1.5", "1,,2", "0-999999", "\u0661", "9" * 500):
        with pytest.raises(InputError, match=r"lengths .* are not valid"):
            parse_lengths(text)


def test_command_continues_after_ctrl_c_or_starts_over(tmp_path: Path, small_table: str) -> None:
    out = tmp_path / "a.npz"
    command = ["label", "--db", small_table, "--random", "400", "--out", str(out)]

    def interrupt(n_done: int) -> None:
        if n_done >= 40:
            raise KeyboardInterrupt

    def stop() -> None:
        with pytest.raises(KeyboardInterrupt):
            write_labels(out, RandomBoards("3x3", "blank-last", 400, 0), small_table, chunk=20, progress=interrupt)

    stop()
    other = [*command, "--seed", "2"]
    refused(pdb(*other), 2, "is of another command: boards seed 0, not 2; .* start over with --fresh")
    result = pdb(*command)
    assert "a.npz continues after 40 boards of 400" in result.stderr
    assert np.array_equal(loaded(out)["board"], next(RandomBoards("3x3", "blank-last", 400, 0).blocks()))
    for fresh, seed in ((other, 2), (command, 0)):
        stop()
        assert "continues after" not in pdb(*fresh, "--fresh", code=0).stderr
        assert np.array_equal(loaded(out)["board"], next(RandomBoards("3x3", "blank-last", 400, seed).blocks()))
