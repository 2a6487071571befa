"""Benchmark figures in pages are those of docs/figures.json, and the charts show them."""

import pytest

from scripts.figures import store
from scripts.figures.pages import files, pages, with_figures
from tests import ROOT

FIGURES = store.load()
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in pages()}


@pytest.mark.parametrize("page", PAGES)
def test_tables_and_figures_of_a_page_are_those_of_the_data_file(page: str) -> None:
    assert with_figures(PAGES[page], FIGURES) == PAGES[page], "run scripts/measure pages"


def test_charts_and_files_have_the_figures_of_the_data_file() -> None:
    for path, text in files(FIGURES).items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run scripts/measure pages"


def test_changed_figures_change_the_page() -> None:
    figures = {"a": {"rows": {"b c": {"d": 1234567, "e": 0.25, "f": "46.50"}}}}
    page = "takes 9 s<!--a;b c;e-->, at 1,000 nodes<!--a;b c;d-->, h 3<!--a;b c;f-->"
    assert (
        with_figures(page, figures)
        == "takes 0.25 s<!--a;b c;e-->, at 1,234,567 nodes<!--a;b c;d-->, h 46.50<!--a;b c;f-->"
    )
    with pytest.raises(KeyError):
        with_figures("9 s<!--a;b c;none-->", figures)
