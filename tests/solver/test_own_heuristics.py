"""Heuristics of one's own: compiled functions have the nodes and lengths of the heuristic with the same values."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import event

from pdb_core.board_size import BoardSize
from pdb_core.errors import InputError
from pdb_core.jit import JIT_DISABLED
from pdb_core.puzzle import Tiles, blank_first, blank_last, snail
from pdb_study.compare import compare
from pdb_study.heuristics import study_heuristics
from solver.board_arrays import manhattan_distances
from solver.graph_search.graph_search import GraphSolver
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.heuristics.values import h
from solver.progress import Iteration, Limits
from solver.textbook import a_star, ida_star
from tests.solving import HARDEST_8, S3, S4, node_counts, walked

needs_jit = pytest.mark.skipif(JIT_DISABLED, reason="functions are not compiled")


def manhattan_of(size: BoardSize, goal: Tiles) -> Callable[[Any], int]:
    distances = manhattan_distances(size, goal).astype(np.int64)

    @numba.njit
    def manhattan(cells: Any) -> int:
        total = 0
        for cell, tile in enumerate(cells):
            total += distances[tile, cell]
        return total

    return manhattan


@needs_jit
def test_slow_function_has_short_slices() -> None:
    """A search acts on limits, Ctrl-C and its report only between them."""

    @numba.njit
    def slow(cells: Any) -> float:
        total = 0.0
        for i in range(1_000_000):  # milliseconds
            total += np.sqrt(i + cells[i % len(cells)])
        return min(total, 0.0)

    for solver in (HeuristicSolver(3, heuristics=slow), GraphSolver(3, heuristics=slow)):
        reports: list[Iteration] = []
        solution = solver.solve(HARDEST_8, limits=Limits(max_nodes=300), report=reports.append)
        assert len(reports) > 2
        assert solution.generated < 330


def misplaced_of(_size: BoardSize, goal: Tiles) -> Callable[[Any], int]:
    goal_cells = np.array(goal, dtype=np.int8)

    @numba.njit
    def misplaced(cells: Any) -> int:
        return np.sum((cells != goal_cells) & (cells != 0))

    return misplaced


MANHATTAN = manhattan_of(S3, blank_last(S3))


@needs_jit
@pytest.mark.parametrize(
    ("make", "size", "goal"), [(manhattan_of, S3, snail(S3)), (manhattan_of, S4, blank_last(S4)),
                               (misplaced_of, BoardSize(4, 3), blank_first(BoardSize(4, 3)))],
)  # fmt: skip
def test_nodes_and_lengths_are_those_of_the_built_in_heuristic(
    make: Callable[[BoardSize, Tiles], Any], size: BoardSize, goal: Tiles
) -> None:
    own = make(size, goal)
    boards = [walked(goal, size, 24, np.random.default_rng(seed)) for seed in range(20)]
    assert (h(boards, own, goal, size) == h(boards, own.__name__, goal, size)).all()
    for solver in (partial(HeuristicSolver, plain=True), GraphSolver):
        solvers = [solver(size, goal, heuristics=each) for each in (own, own.__name__)]
        for board in boards:
            mine, theirs = (each.solve(board) for each in solvers)
            assert (mine.moves, mine.h, mine.generated) == (theirs.moves, theirs.h, theirs.generated)
            assert node_counts(mine.thresholds) == node_counts(theirs.thresholds)
            assert mine.optimal


@needs_jit
def test_second_function_compiles_only_itself() -> None:
    HeuristicSolver(S4, heuristics=manhattan_of(S4, blank_last(S4)))
    with event.install_recorder("numba:compile") as recorder:
        HeuristicSolver(S4, heuristics=misplaced_of(S4, blank_last(S4)))
    compiled = {of.data["dispatcher"].py_func.__module__ for _, of in recorder.buffer}
    assert __name__ in compiled
    assert not any(name.endswith("_kernels") for name in compiled)


@needs_jit
def test_textbook_searches_and_studies_take_the_function() -> None:
    python: Callable[[Any], int] = MANHATTAN.py_func  # type: ignore[attr-defined]
    for search in (a_star, ida_star):
        mine, theirs = search(HARDEST_8, MANHATTAN), search(HARDEST_8, python)
        assert (mine.moves, mine.generated) == (theirs.moves, theirs.generated)
    study = study_heuristics(S3, [MANHATTAN, "max(misplaced,manhattan)"])
    assert study.names == ("manhattan", "max(misplaced,manhattan)")
    assert study.overall[0] == study.overall[1]
    solver = HeuristicSolver(S3, heuristics=[MANHATTAN, "linear-conflict"])
    assert repr(solver) == "Solver(3x3, manhattan, linear-conflict)"
    assert compare({"own": solver}, [HARDEST_8]).rows[0].mean_length == 31


@needs_jit
def test_values_are_whole_numbers_from_0() -> None:
    @numba.njit
    def fraction(cells: Any) -> float:
        return MANHATTAN(cells) / 2

    @numba.njit
    def odd(cells: Any) -> float:
        if cells[0] == 0:
            raise ValueError
        if cells[8] == 0:
            return 0.0
        return -7.5 if cells[0] == 1 else np.nan if cells[0] == 2 else np.inf

    assert h(HARDEST_8, fraction) == 11
    assert HeuristicSolver(S3, heuristics=fraction).solve(HARDEST_8).length == 31
    boards = [[first, *(tile for tile in (4, 0, 1, 2, 3, 5, 6, 7, 8) if tile != first)] for first in range(4)]
    assert h(boards, odd).tolist() == [0, 0, 0, 511]


@needs_jit
def test_function_that_overestimates_is_no_proof() -> None:
    @numba.njit
    def twice(cells: Any) -> int:
        return 2 * MANHATTAN(cells)

    for solution in (GraphSolver(S3, heuristics=twice).solve(HARDEST_8), a_star(HARDEST_8, twice)):
        assert not solution.optimal
        assert solution.lower_bound == 0
    with pytest.raises(InputError, match="exceeds the moves left on some board; give a lower bound, or"):
        HeuristicSolver(S3, heuristics=twice)


def changes(cells: Any) -> int:
    cells[0] = 1
    return 0


@needs_jit
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: numba.njit(lambda _cells: 3), "is 3 at the goal; it must be 0 there"),
        (lambda: numba.njit(lambda cells: 1 // cells[8]), "raises ZeroDivisionError at the goal, where it must be 0"),
        (lambda: numba.njit(lambda _cells: "a"), "returns Literal.str..a.; let it return a number"),
        (lambda: numba.njit(lambda _a, _b: 0), "compiled for the cells, a read-only array of int8: Signature"),
        (lambda: numba.njit(lambda board: board.size.width), "array of int8: Unknown attribute 'width' of type int64"),
        (lambda: numba.njit(changes), "heuristic changes cannot be compiled for the cells, a read-only array"),
        (lambda: numba.njit("int64(int8[:])")(lambda _cells: 0), "has a signature; use numba.njit without one"),
    ],
)  # fmt: skip
def test_unsuitable_function_is_refused(make: Callable[[], Any], message: str) -> None:
    function = make()
    with pytest.raises(InputError, match=message) as caught:
        HeuristicSolver(S3, heuristics=function)
    assert "\n" not in str(caught.value)


@pytest.mark.tiny
def test_python_function_is_refused() -> None:
    what = "unset NUMBA_DISABLE_JIT" if JIT_DISABLED else "decorate it with numba.njit"
    with pytest.raises(InputError, match=f"heuristic sum is not compiled; {what}, or give a Python function to a_star"):
        HeuristicSolver(S3, heuristics=sum)
    with pytest.raises(InputError, match="heuristics is 3; give a name, a function compiled by numba, or several"):
        HeuristicSolver(S3, heuristics=3)  # type: ignore[arg-type]
