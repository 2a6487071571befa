"""Studies and comparisons as objects: their figures, and what a notebook shows."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pdb_core.puzzle import BoardLike
from pdb_query import open_database
from pdb_study.compare import Comparison, compare
from pdb_study.heuristics import study_heuristics
from pdb_study.histograms import Histograms
from pdb_study.space import explore_space
from pdb_study.strength import study_strength
from solver.graph_search.graph_search import GraphSolver
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.progress import Limits

BOARDS: Sequence[BoardLike] = ("8 6 7/2 5 4/3 0 1", [1, 2, 3, 4, 5, 6, 7, 0, 8], "2 1 3/4 5 6/7 8 0")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    solvers = {"manhattan": HeuristicSolver("3x3"), "a-star": GraphSolver("3x3")}
    return compare(solvers, BOARDS)


def test_boards_given_up_are_no_part_of_a_whole_row() -> None:
    seen = []
    solvers = {"manhattan": HeuristicSolver("3x3")}
    found = compare(solvers, BOARDS, limits=Limits(max_nodes=20), progress=lambda name, n: seen.append((name, n)))
    assert (found.rows[0].n_solved, found.whole_rows) == (1, ())
    assert seen == [("manhattan", 1), ("manhattan", 2), ("manhattan", 3)]
    assert "<svg" in (found._repr_svg_() or "")  # empty axes


def test_notebooks_show_a_plot(comparison: Comparison, small_table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_database(Path(small_table)) as database:
        study, histograms = study_heuristics("3x3", ["manhattan"], [database]), Histograms(database)
        for shown in (comparison, explore_space("2x2"), study_strength("2x2"), study, histograms):
            assert (shown._repr_svg_() or "").count("<svg") == 1
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert comparison._repr_svg_() is None
