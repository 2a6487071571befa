"""Benchmark figures in pages are those of docs/figures.json, rounded in README.md, and the charts show them."""

import re

import pytest

from scripts.figures import store
from scripts.figures.charts import charts
from scripts.figures.pages import FIGURE, INCLUDED, pages, with_figures
from scripts.figures.tables import TABLES, figure, program_rows
from tests import text_of

FIGURES = store.load()
README = " ".join(text_of("README.md").split())
# How far a figure in README.md may be from the measured one.
_TOLERANCE = 0.15
# Text of README.md around a figure; the label of the figure; and the unit of the text.
CLAIMS = {
    r"random board of the 15-puzzle takes about (\S+) ms": ("random1000;78;mean_ms", 1),
    r"17 hardest boards together take about (\S+) s on two": ("hardest80;78, 2 threads;seconds_s", 1),
    r"covers (\S+) billion states": ("builds;78;entries", 1e9),
    r"built in about (\S+) s on two": ("builds;78;build_s", 1),
    r"takes (\S+) GB of memory": ("builds;78;memory_gb", 1),
    r"and (\S+) MB of disk": ("builds;78;file_mb", 1),
    r"which takes about (\S+) s on two cores": ("start;all;first_solve_s", 1),
    r"Later commands start in about (\S+) s\b": ("start;all;second_solve_s", 1),
}


def test_tables_and_figures_of_pages_are_those_of_the_data_file() -> None:
    """Every mark of a figure or a table is read, and every table is on some page."""
    included = []
    for path in pages():
        page = path.read_text()
        assert with_figures(page, FIGURES) == page, f"{path}: run scripts/measure pages"
        marks = re.findall(r"<!-- ?(?:table:|[^>]*;)", page)
        tables = [table[1] for table in INCLUDED.findall(page)]
        assert len(marks) == len(tables) + len(FIGURE.findall(page)), f"{path}: a mark without a figure or an end"
        included += tables
    assert sorted(included) == sorted(TABLES)


def test_figures_of_the_readme_are_rounded_from_the_data_file() -> None:
    for text, (label, unit) in CLAIMS.items():
        (number,) = re.findall(text, README)
        assert float(number) * unit == pytest.approx(figure(FIGURES, label), rel=_TOLERANCE), text
    shown = {
        program: [float(cell.split()[0].replace(",", "")) if cell != "-" else 0 for cell in cells]
        for program, *cells in re.findall(
            r"\| \[?([\w/-]+)(?:\]\(\S+\))? \| ([\d,.]+ s) \| ([^|]+) \| ([^|]+) \|", README
        )
    }
    assert len(shown) == 4
    for program, cells in shown.items():
        row = program_rows(FIGURES)[program]
        measured = [row[column] or 0 for column in ("build_s", "random_ms", "hardest_s")]
        assert cells == pytest.approx(measured, rel=_TOLERANCE), program


def test_charts_and_files_have_the_figures_of_the_data_file() -> None:
    for path, text in charts(FIGURES).items():
        assert path.read_text() == text, f"{path}: run scripts/measure pages"


def test_changed_figures_change_the_page() -> None:
    figures = {"a": {"rows": {"b c": {"d": 1234567, "e": 0.25, "f": "46.50"}}}}
    page = "takes 9 s<!--a;b c;e-->, at 1,000 nodes<!--a;b c;d-->, h 3<!--a;b c;f-->"
    assert (
        with_figures(page, figures)
        == "takes 0.25 s<!--a;b c;e-->, at 1,234,567 nodes<!--a;b c;d-->, h 46.50<!--a;b c;f-->"
    )
    with pytest.raises(KeyError):
        with_figures("9 s<!--a;b c;none-->", figures)
