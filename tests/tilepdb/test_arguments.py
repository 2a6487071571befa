"""Arguments of every public function and constructor are converted, or refused with one printable line."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilepdb
from tests import ROOT

BOARD = "1 2 3/4 5 6/0 7 8"
WRONG: tuple[Any, ...] = (None, -3, 1.5, float("nan"), "", "a\nb", object(), [], 10**30, 10**5000, b"x", [[1], [2, 3]])
# Records, and interfaces between parts of the library: users are given them.
RECORDS = {
    "BatchProbe", "BuildPlan", "Database", "BuildProgress", "BuildResult", "Comparison", "HeuristicStudy", "Instance",
    "Iteration", "LabelledBoards", "Probe", "SolvedBoards", "StateSpace", "BoardLike", "BoardSource", "PdbError",
}  # fmt: skip
# The client's arguments are checked by tests/pdb_service.
CLIENTS = {"Client", "AsyncClient"}
HIDDEN = {"offer", "withdraw", "resume", "finish_threshold", "finish_subtrees", "subtrees", "views", "contradicts"}


def arguments(folder: Path, table: str) -> dict[str, dict[str, Any]]:
    """Return valid arguments of each public name, and of the constructor of each class."""
    database = tilepdb.open_database(table)
    plan = tilepdb.plan_build("2x2", "blank-last", "auto", folder / "plan.h5")
    source = tilepdb.RandomBoards("3x3", n_boards=3)
    solver = tilepdb.Solver(database)
    many: dict[str, Any] = {"size": 3, "goal": "blank-last", "n_boards": 3, "seed": 0}
    search: dict[str, Any] = {"board": BOARD, "heuristic": lambda _board: 0, "goal": "blank-last", "size": 3}
    return {
        "Board": {"board": BOARD, "size": 3},
        "BoardSize": {"width": 3, "height": 3},
        "Checkpoint": {},
        "GivenBoards": {"size": 3, "goal": "blank-last", "boards": [BOARD], "name": "mine"},
        "GraphSolver": {"size": 3, "goal": "blank-last", "algorithm": "a-star", "heuristics": "manhattan",
                        "databases": table, "weight": 1.0, "memory_limit_bytes": 10**8},
        "HeuristicSolver": {"size": 3, "goal": "blank-last", "heuristics": "manhattan", "plain": False,
                            "frontier_bytes": 10**6},
        "Histograms": {"database": database},
        "Limits": {"seconds": 1, "nodes": 10},
        "RandomBoards": many,
        "RandomWalks": many | {"lengths": 3},
        "Solver": {"databases": database, "plain": False, "reflects": True, "frontier_bytes": 10**6},
        "Solution": {},
        "WorkerPool": {"n_workers": 1},
        "a_star": search, "ida_star": search | {"pruned": ["UD", "DU", "LR", "RL"]},
        "build": {"partition": "auto", "out": folder / "a.h5", "size": 2, "goal": "blank-last", "encoding": "bits",
                  "cost": "additive", "n_threads": 1, "force": False, "progress": ignore},
        "build_database": {"plan": plan, "progress": ignore, "say": ignore, "checkpoint_every_s": 60.0, "fresh": True,
                           "force": True},
        "compare": {"solvers": {"a": solver}, "boards": [BOARD], "limits": 5, "progress": ignore},
        "explore_space": {"size": 2, "goal": "blank-last", "max_depth": 2, "n_threads": 1, "memory_limit_bytes": 10**9,
                          "max_antipodes": 3, "progress": ignore},
        "find_suboptimal_solution": {"board": BOARD, "goal": "blank-last", "size": 3, "time_limit": 0.01,
                                     "databases": database},
        "format_board": {"board": [1, 2, 3, 0], "size": 2},
        "h": {"boards": BOARD, "heuristic": "manhattan", "goal": "blank-last", "size": 3},
        "instance_sets": {},
        "label": {"source": source, "solver": solver, "goal": None, "first": 0, "chunk": 2, "content": "moves",
                  "n_threads": 1},
        "label_by_distance": {"solver": solver, "max_distance": 2, "n_each": 2, "goal": None, "seed": 0,
                              "n_threads": 1},
        "open_database": {"path": table, "load": "map", "verify": True, "progress": ignore},
        "parse_goal": {"text": "snail", "size": 3},
        "parse_size": {"text": "3x3"},
        "plan_build": {"size": 2, "goal": "blank-last", "partition": "auto", "out": folder / "b.h5",
                       "encoding": "bits", "n_threads": 1},
        "random_board_statistics": {"database": database, "n_boards": 3, "seed": 0},
        "random_boards": {"size": 3, "goal": "blank-last", "n": 3, "seed": 0},
        "read_instances": {"source": "korf100", "size": 4, "tile_number": None, "stdin": None},
        "solve": {"board": BOARD, "goal": "blank-last", "algorithm": "a-star", "heuristic": "manhattan",
                  "time_limit": 1.0, "threads": 1},
        "study_heuristics": {"size": 2, "heuristics": "manhattan", "databases": (), "goal": "blank-last",
                             "n_boards": 3, "seed": 0, "solves_with": None, "n_threads": 1, "progress": ignore},
        "write_labels": {"out": folder / "l.npz", "source": source, "databases": table, "content": "moves",
                         "chunk": 2, "n_threads": 1, "command": None, "fresh": True, "progress": ignore},
    }  # fmt: skip


# Valid arguments of methods, by the name of the parameter.
OF_METHODS: dict[str, Any] = {
    "board": BOARD, "boards": [BOARD], "goal": "blank-last", "size": 3, "index": 0, "cells": [0, 1, 2], "tile": 7,
    "paths": "none.h5", "load": "map", "row": 0, "column": 0, "cell": 0, "n_threads": 1, "default": None,
}  # fmt: skip


def ignore(*_given: object) -> None:
    """Take any progress."""


def bound(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Call a function, and read all that it yields."""
    parameters = inspect.signature(function).parameters
    rest = [name for name, each in parameters.items() if each.kind is each.VAR_POSITIONAL]
    result = function(*(given[name] for name in rest), **{k: v for k, v in given.items() if k not in rest})
    return list(result) if inspect.isgenerator(result) else result


def failures(function: Callable[..., Any], given: dict[str, Any], where: str) -> list[str]:
    """Give each argument each wrong value, and return what was neither accepted nor refused well."""
    found = []
    for name in inspect.signature(function).parameters:
        for value in WRONG:
            text = "accepted"
            try:
                bound(function, given | {name: value})
            except tilepdb.PdbError as error:
                text = str(error)
            except Exception as error:
                text = f"\n{error!r}"
            if not (text and text.isprintable() and len(text) < 1000):
                found.append(f"{where}({name}={type(value).__name__}): {text[:200]}")
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_functions_and_constructors_refuse_what_they_cannot_convert(folder: Path, small_table: str) -> None:
    valid = arguments(folder, small_table)
    functions = {name for name in tilepdb.__all__ if callable(getattr(tilepdb, name))}
    errors = {name for name in functions if name.endswith("Error")}
    assert functions - errors - RECORDS - CLIENTS == set(valid)
    wrong: list[str] = []
    for name, given in valid.items():
        if given:
            wrong += failures(getattr(tilepdb, name), given, name)
    assert wrong == []


def test_methods_refuse_what_they_cannot_convert(small_table: str) -> None:
    wrong: list[str] = []
    with tilepdb.Solver(small_table) as solver:
        objects = [
            tilepdb.Board(BOARD), tilepdb.BoardSize(3, 3), solver, solver.databases[0], solver.solve(BOARD),
            tilepdb.HeuristicSolver(3), tilepdb.GraphSolver(3), tilepdb.RandomWalks(3, n_boards=5),
            tilepdb.Checkpoint(), tilepdb.WorkerPool(1),
        ]  # fmt: skip
        for each in objects:
            for name, method in inspect.getmembers(each, inspect.ismethod):
                if not name.startswith("_") and name not in HIDDEN and name not in dir(tuple):
                    names = inspect.signature(method).parameters
                    given = {k: v for k, v in OF_METHODS.items() if k in names}
                    wrong += failures(method, given, f"{type(each).__name__}.{name}")
    assert wrong == []


def test_arguments_are_converted(small_table: str) -> None:
    same = tilepdb.random_boards(3, n=4)
    for size in ((3, 3), [3, 3], "3x3", np.int64(3), tilepdb.BoardSize(3, 3)):
        assert np.array_equal(tilepdb.random_boards(size, n=4), same)
    assert tilepdb.Board("1 2 3 4 5 0", (3, 2)).size == tilepdb.BoardSize(3, 2)
    for path in (small_table, Path(small_table)):
        with tilepdb.Solver(path) as solver:
            assert solver.solve(BOARD, limits=5).length == 2
    for make in (tilepdb.HeuristicSolver, partial(tilepdb.GraphSolver, databases=small_table)):
        assert make("3x3", "blank-last", heuristics="manhattan").solve(BOARD, limits=1.5).length == 2
    assert tilepdb.HeuristicSolver("3x3", "blank-last", "max(misplaced,manhattan)").solve(BOARD).h == 2


def test_messages_of_the_library_name_no_options() -> None:
    packages = ("pdb_core", "pdb_build", "pdb_query", "solver", "pdb_study", "pdb_cluster")
    files = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    for path in [*files, *(ROOT / "tilepdb").glob("*.py")]:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.strip().startswith("#")]
        assert not [line for line in lines if re.search(r"[\s(\"'`]--[a-z]", line)], path
