"""Studies and comparisons as objects: their figures, and what a notebook shows."""

import re
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
from solver import GraphSolver, HeuristicSolver, Limits

BOARDS: Sequence[BoardLike] = ("8 6 7/2 5 4/3 0 1", [1, 2, 3, 4, 5, 6, 7, 0, 8], "2 1 3/4 5 6/7 8 0")


def cells_of(html: str) -> list[str]:
    return re.findall(r"<td[^>]*>([^<]*)</td>", html)


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
    assert "<svg" in found._repr_html_()  # empty axes


def test_notebooks_show_a_plot_and_a_table(comparison: Comparison, small_table: str) -> None:
    assert cells_of(comparison._repr_html_())[:3] == ["manhattan", "ida-star", "2 of 3"]
    space = explore_space("2x2")
    assert cells_of(space._repr_html_()) == ["0", "1", "1", "2", "2", "2", "3", "2", "4", "2", "5", "2", "6", "1"]
    with open_database(Path(small_table)) as database:
        study = study_heuristics("3x3", ["manhattan"], [database])
        assert cells_of(study._repr_html_())[-4:] == ["all", "181,440", "14.000", f"{study.overall[1].mean:.3f}"]
        histograms = Histograms(database)
        assert sum(histograms.counts[7, 8]) == database.header.patterns[2].n_entries
        shown = histograms._repr_html_()
    for html in (comparison._repr_html_(), space._repr_html_(), study._repr_html_(), shown):
        assert html.count("<svg") == 1
        assert "<?xml" not in html


def test_without_matplotlib_there_is_a_table(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "<svg" not in comparison._repr_html_()
    assert cells_of(comparison._repr_html_())
