"""`tilepdb.solve`, `build` and `Solver`."""

import multiprocessing
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tilepdb
from pdb_build import BuildProgress
from pdb_core.board_size import parse_size
from pdb_core.errors import BoardError, InputError, PartitionError
from pdb_core.puzzle import parse_goal
from solver.solution import one_move_away
from tests import ROOT
from tests.command_line import python

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


def test_goal_is_that_of_the_solution_and_large_boards_are_refused() -> None:
    assert tilepdb.solve("1 2 3/4 0 5/6 7 8", goal="blank-first").boards()[-1] == tuple(range(9))
    with pytest.raises(InputError, match="go to boards of 6x6"):
        tilepdb.solve(list(range(49)))


@pytest.mark.parametrize(
    "goals",
    [("blank-last", "blank-first"), ("1 2 3/4 0 5/6 7 8", "snail")],
    ids=["corner", "centre"],
)
def test_goals_share_a_standard_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], goals: tuple[str, str]
) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(folder))
    for goal in (*goals, *goals):
        with tilepdb.Solver.standard(3, goal) as solver:
            near = one_move_away(solver.goal, parse_size("3x3"))
            assert solver.goal == parse_goal(goal, parse_size("3x3"))
            copy = pickle.loads(pickle.dumps(solver))
            assert copy.solve(near).boards()[-1] == solver.goal
            assert copy.solve_many([near, solver.goal]).lengths.tolist() == [1, 0]
    assert capsys.readouterr().err.count("building") == 1


def test_small_standard_table_is_built_if_the_disk_is_small(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(folder))
    monkeypatch.setattr("pdb_build.plan.available_disk", lambda _folder: 50_000_000)
    with tilepdb.Solver.standard(4) as solver:
        assert solver.databases[0].partition.name == "663"
    assert re.search(
        r"^tilepdb: .* building 663 for 4x4 once, in .*corner.h5 \(.* 50.0 MB are free", capsys.readouterr().err
    )


def test_heuristics_are_evaluated_and_searched_with() -> None:
    board = tilepdb.Board("8 6 7/2 5 4/3 0 1")
    for one in (board, list(board), "8 6 7/2 5 4/3 0 1"):
        assert tilepdb.h(one, "manhattan") == 21
    for many in (["8 6 7 2 5 4 3 0 1"], np.array([board]), np.reshape(board, (1, 3, 3))):
        values = tilepdb.h(many)
        assert isinstance(values, np.ndarray)
        assert values.tolist() == [21]
    for column in ([str(board)] * 2, [np.array(board)] * 2):
        assert tilepdb.h(pd.Series(column, index=[5, 6])).tolist() == [21, 21]
    assert tilepdb.h(pd.DataFrame([board, board])).tolist() == [21, 21]
    for odd in (5, np.array(5), np.reshape(board, (3, 3)), pd.DataFrame({"board": [str(board)], "depth": [31]})):
        with pytest.raises(tilepdb.BoardError):
            tilepdb.h(odd)
    for none in (np.zeros((0, 9), dtype=np.uint8), np.zeros((0, 3, 3), dtype=np.uint8)):
        assert tilepdb.h(none).tolist() == tilepdb.h([], size=3).tolist() == []
    for options in (
        {"heuristic": "manhattan"},
        {"algorithm": "a-star"},
        {"algorithm": "bidirectional"},
        {"threads": 1},
    ):
        assert tilepdb.solve(board, **options).length == 31  # type: ignore[arg-type]
    easy = "1 2 3/0 4 6/7 5 8"
    for search in (tilepdb.a_star, tilepdb.ida_star):
        assert search(easy, lambda at: int(tilepdb.h(at))).length == 3
        with pytest.raises(tilepdb.UnsolvableError):
            search("2 1 3/4 5 6/7 8 0", lambda _board: 0)


def test_time_limit_and_ctrl_c_end_a_search() -> None:
    # Not in this process: hypothesis has a callback at each garbage collection, and Python drops a Ctrl-C in it.
    program = """
import faulthandler, os, signal, sys, threading, tilepdb

signal.signal(signal.SIGINT, signal.default_int_handler)
faulthandler.dump_traceback_later(240, exit=True)
board = tilepdb.random_boards(6, n_boards=1)[0].tolist()
print(tilepdb.solve(board, heuristic="manhattan", time_limit=0.2).length)
for algorithm in sys.argv[1:]:
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        tilepdb.solve(board, algorithm=algorithm, heuristic="manhattan")
    except KeyboardInterrupt:
        print(algorithm)
"""
    result = python(program, "ida-star", "a-star")
    assert result.stdout.split() == ["None", "ida-star", "a-star"], result.stderr


def test_solvers_and_databases_are_pickled() -> None:
    database = tilepdb.build("8", "8.h5")
    board = "8 6 7/2 5 4/3 0 1"
    for solver in (
        tilepdb.Solver(database, plain=True),
        tilepdb.HeuristicSolver(3, plain=True),
        tilepdb.GraphSolver(3, databases=database),
    ):
        again = pickle.loads(pickle.dumps(solver))
        assert type(again) is type(solver)
        assert again.solve(board).generated == solver.solve(board).generated
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(tilepdb.Solver("8.h5").solve, board).result().length == 31


def test_labels_by_distance_are_exact_and_distinct() -> None:
    with tilepdb.Solver.standard(3) as solver:
        found = list(tilepdb.label_by_distance(solver, 40, 25, goal="blank-first"))
        assert [len(at.boards) for at in found][:20] == [1, 2, 4, 8, 16, 20, *(14 * [25])]
        for distance, at in enumerate(found):
            assert set(at.distances.tolist()) == {distance}
            assert len(np.unique(at.boards, axis=0)) == len(at.boards) <= 25
            assert np.array_equal(at.optimal_actions, (at.after >= 0) & (at.after < at.distances[:, None]))
        for result in (found[5], solver.label(found[5].boards), solver.solve_many(found[5].boards), found[0]):
            assert repr(result).count("\n") < 10
            assert len(repr(result)) < 500


@pytest.mark.slow
def test_example_of_learning_trains_on_other_boards_in_each_worker_and_epoch() -> None:
    """With PyTorch, which scripts/test --slow installs."""
    path = ROOT / "docs" / "examples" / "learn_values.py"
    assert len(path.read_text().splitlines()) <= 60
    shown = subprocess.run([sys.executable, str(path), "26"], capture_output=True, text=True)
    assert re.findall(r"^(\d+ \d+) \d+\.\d+$", shown.stdout, re.MULTILINE) == ["0 0", "0 50", "1 0", "1 50"], (
        shown.stderr
    )
    program = """
from learn_values import DataLoader, Labels, tilepdb
labels = Labels(tilepdb.Solver.standard(3), n_batches=1)
loader = DataLoader(labels, batch_size=None, num_workers=2, multiprocessing_context="spawn")
print(len({features.numpy().tobytes() for _epoch in range(2) for features, *_ in loader}))
"""
    assert python(program, env=os.environ | {"PYTHONPATH": f"{path.parent}:{ROOT}"}).stdout == "4\n"
