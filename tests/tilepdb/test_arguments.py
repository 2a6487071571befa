"""Arguments of every public function and constructor are converted, or refused with one printable line."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import tilepdb
from tests.pdb_service.app_requests import ask, ready_app

BOARD = "1 2 3/4 5 6/0 7 8"
WRONG: tuple[Any, ...] = (None, -3, 1.5, float("nan"), "", "a\nb", object(), [], 10**30, 10**5000, b"x", [[1], [2, 3]])
# Wrong values that are accepted, by parameter, or by function and parameter, and why.
NUMBERS, TEXTS, PATHS, EMPTY = (1.5, 10**30), ("", "a\nb"), ("a\nb",), ([],)
ACCEPTED: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("checkpoint_every_s", "limits", "time_limit", "timeout_s"), NUMBERS),
    "command": TEXTS,
    **dict.fromkeys(("database", "out", "path", "paths"), PATHS),
    **dict.fromkeys(("boards", "source", "solve heuristic"), EMPTY),
    "databases": PATHS + EMPTY,
    # Not looked at: a server knows its databases, a source its goal; only `-` reads stdin.
    **dict.fromkeys(("db", "label goal", "read_instances stdin"), WRONG),
    # Sequences of the right kind, without meaning.
    **dict.fromkeys(("GraphSolver heuristics", "ida_star pruned"), (None, *TEXTS, [])),
    "RandomWalks lengths": (b"x",),
    "moves": ("", [], b"x", [[1], [2, 3]]),
    "format_board board": (*TEXTS, [], b"x", [[1], [2, 3]]),
}
# Records, which users are given, and a function that takes boards alone.
RECORDS = """
BatchProbe BoardLike BoardSource BuildPlan BuildProgress BuildResult Comparison Database
HeuristicStudy Instance format_board Iteration LabelledBoards Probe Solution SolutionCheck SolvedBoards StateSpace
StrengthStudy
"""
HIDDEN = """
draw is_dark offer withdraw begin resume finish_threshold finish_subtrees subtrees has_subtrees views contradicts
checked
"""


def arguments(folder: Path, table: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return valid arguments by the name of the parameter, and those that differ for some functions."""
    database = tilepdb.open_database(table)
    solver, source = tilepdb.Solver(database), tilepdb.RandomBoards(3, n_boards=3)
    plan = tilepdb.plan_build(2, "blank-last", "auto", folder / "plan.h5")
    return {
        "algorithm": "a-star", "board": BOARD, "boards": [BOARD], "cell": 0, "cells": [0, 1, 2], "chunk": 2,
        "column": 0, "database": database, "databases": database, "default": None, "distances": [2],
        "height": 3, "heuristic": "manhattan", "heuristics": "manhattan", "index": 0, "lengths": 3, "max_depth": 2,
        "moves": "7 8", "notation": "tiles", "of": "blank", "solve": solver.solve,
        "max_distance": 2, "memory_limit_bytes": 10**8, "n_boards": 3, "n_chains": 2, "n_each": 2,
        "n_steps": 1, "n_threads": 1, "n_workers": 1, "max_nodes": 10, "out": folder / "a.npz", "partition": "auto",
        "path": table, "paths": table, "plan": plan, "pruned": ["UD"], "row": 0, "seed": 0, "size": 3, "solver": solver,
        "solvers": {"a": solver}, "source": source, "task": lambda: None, "text": "3x3", "threads": 1, "tile": 7,
        "time_limit": 0.01, "url": "http://localhost", "width": 3, "fresh": True, "force": True, "goal": "blank-last",
    }, {
        "a_star": {"heuristic": lambda _board: 0}, "build": {"size": 2}, "explore_space": {"size": 2},
        "ida_star": {"heuristic": lambda _board: 0}, "parse_goal": {"text": "snail"}, "plan_build": {"size": 2},
        "read_instances": {"source": "korf100", "size": 4}, "study_heuristics": {"size": 2, "databases": ()},
        "study_strength": {"size": 2, "databases": ()},
    }  # fmt: skip


def bound(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Call a function, and read all that it yields."""
    parameters = inspect.signature(function).parameters
    rest = [name for name, each in parameters.items() if each.kind is each.VAR_POSITIONAL]
    result = function(*(given[name] for name in rest), **{k: v for k, v in given.items() if k not in rest})
    return list(result) if inspect.isgenerator(result) else result


def failures(function: Callable[..., Any], given: dict[str, Any], where: str) -> list[str]:
    """Give each argument each wrong value, and return what was accepted or not refused well.

    None is accepted where it is the default, and any truth value by a flag.
    """
    bound(function, given)
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        accepted = [parameter.default, *ACCEPTED.get(name, ()), *ACCEPTED.get(f"{where} {name}", ())]
        for value in () if isinstance(parameter.default, bool) else WRONG:
            text = "" if any(value is each or value == each for each in accepted) else "\naccepted"
            try:
                bound(function, given | {name: value})
            except tilepdb.PdbError as error:
                text = str(error)
            except Exception as error:
                text = f"\n{error!r}"
            if text and not (text.isprintable() and len(text) < 1000):
                found.append(f"{where}({name}={type(value).__name__}): {text[:200]}")
    return found


def answered(app: Any, request: httpx.Request) -> httpx.Response:
    """Return the answer of an app, without a server."""
    headers = [(name, value) for name, value in request.headers.items() if name in ("accept", "content-type")]
    reply = ask(app, request.url.raw_path.decode(), *headers, method=request.method, body=request.read())
    return httpx.Response(reply.status, content=reply.body)


def test_arguments_are_converted_or_refused(tmp_path: Path, small_table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given, of_functions = arguments(tmp_path, small_table)
    app = ready_app(given["database"])
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: answered(app, request))
    objects = [
        tilepdb.Board(BOARD), tilepdb.BoardSize(3, 3), given["solver"], given["database"], tilepdb.Checkpoint(),
        given["solver"].solve(BOARD), tilepdb.HeuristicSolver(3), tilepdb.GraphSolver(3), tilepdb.WorkerPool(1),
        tilepdb.RandomWalks(3, n_boards=5), given["source"], tilepdb.Client(given["url"]),
    ]  # fmt: skip
    calls = {
        f"{type(each).__name__}.{name}": method
        for each in objects
        for name, method in inspect.getmembers(each, inspect.ismethod)
        if not name.startswith("_") and name not in {*HIDDEN.split(), *dir(tuple)}
    }
    public = {
        name: getattr(tilepdb, name)
        for name in {*tilepdb.__all__}.difference(RECORDS.split())
        if not name.endswith("Error")
    }
    wrong: list[str] = []
    for name, function in sorted((public | calls).items(), key=lambda item: "close" in item[0]):
        if callable(function):
            names = inspect.signature(function).parameters
            valid = {key: value for key, value in given.items() if key in names}
            wrong += failures(function, valid | of_functions.get(name, {}), name)
    assert wrong == []


def test_arguments_are_converted(small_table: str) -> None:
    same = tilepdb.random_boards(3, n_boards=4)
    for size in ((3, 3), [3, 3], "3x3", np.int64(3), tilepdb.BoardSize(3, 3)):
        assert np.array_equal(tilepdb.random_boards(size, n_boards=4), same)
    assert tilepdb.Board("1 2 3 4 5 0", (3, 2)).size == tilepdb.BoardSize(3, 2)
    for path in (small_table, Path(small_table)):
        with tilepdb.Solver(path) as solver:
            assert solver.solve(BOARD, limits=5).length == 2
    for make in (tilepdb.HeuristicSolver, partial(tilepdb.GraphSolver, databases=small_table)):
        assert make("3x3", "blank-last", heuristics="manhattan").solve(BOARD, limits=1.5).length == 2
