"""`tilepdb.solve`, `build` and `Solver`."""

from pathlib import Path

import numpy as np
import pytest

import tilepdb
from pdb_build import BuildProgress
from pdb_core.errors import BoardError, InputError, PartitionError

TWO = "1,2,3,4/5,6,7,8"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_build_names_the_file_and_reports_each_depth(folder: Path) -> None:
    seen: list[BuildProgress] = []
    with tilepdb.build(TWO, progress=seen.append) as database:
        assert database.path == Path("data/1-2-3-4_5-6-7-8.h5")
        assert repr(database) == f"Database('data/1-2-3-4_5-6-7-8.h5': 3x3, {TWO} in bits, goal blank-last)"
    assert {at.pattern_index for at in seen} == {0, 1}
    assert seen[-1].n_reached == seen[-1].n_states
    assert sorted(path.suffix for path in (folder / "data").iterdir()) == [".h5", ".json"]
    with tilepdb.build("1,2,3", size="3x3", cost="every-move") as database:
        assert database.probe("1 2 3/4 5 6/7 0 8").h == 1
    with pytest.raises(PartitionError):
        tilepdb.build("no partition")


def test_many_boards_may_be_strings_or_rows() -> None:
    with tilepdb.Solver.standard("3x3") as solver:
        database = solver.databases[0]
        texts = ["8 6 7/2 5 4/3 0 1", "1 2 3/4 5 6/7 0 8"]
        flat = np.array([tilepdb.Board(text) for text in texts])
        for boards in (texts, flat, flat.reshape(2, 3, 3), [tilepdb.Board(text) for text in texts]):
            assert database.probe_batch(boards).h.tolist() == [31, 1]
            assert solver.solve_many(boards).lengths.tolist() == [31, 1]
            assert solver.label(boards).distances.tolist() == [31, 1]
        with pytest.raises(BoardError, match="has 3 numbers"):
            database.probe_batch(["1 2 3"])
    with pytest.raises(ValueError, match="is closed"):
        database.probe(texts[0])


def test_standard_tables_serve_goals_and_refuse_large_boards() -> None:
    solution = tilepdb.solve("1 2 3/4 0 5/6 7 8", goal="blank-first")
    assert solution.goal == (0, 1, 2, 3, 4, 5, 6, 7, 8)
    assert solution.boards()[-1] == solution.goal
    with pytest.raises(InputError, match="go to boards of 6x6"):
        tilepdb.solve(list(range(49)))
