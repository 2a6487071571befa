"""Tables and figures in pages: write them from docs/figures.json and from the code.

A page includes a table between `<!-- table: NAME -->` and `<!-- end -->`, and one figure as
`0.25 ms<!--random1000;78;mean_ms-->`. `scripts/measure pages` writes the pages.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.figures import store
from scripts.figures.charts import charts
from scripts.figures.tables import figure, formatted, table

ROOT = Path(__file__).parents[2]

INCLUDED = re.compile(r"(<!-- table: ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?([^\d<>]{0,40}<!--([^<>;]+;[^<>;]+;[^<>;]+)-->)")


def pages() -> list[Path]:
    """Return the pages with figures. Changes are history; README.md has rounded figures."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    return [*docs, ROOT / "data" / "README.md", ROOT / "deploy" / "README.md"]


def with_figures(text: str, figures: Mapping[str, Any]) -> str:
    """Return the text of a page with its tables and figures written anew. Raises `KeyError` for an unknown one."""

    text = INCLUDED.sub(lambda match: f"{match[1]}\n{table(match[2], figures)}\n\n{match[3]}", text)
    return FIGURE.sub(lambda match: formatted(figure(figures, match[2])) + match[1], text)


def write_pages() -> None:
    """Write the figures of all pages, and the files beside them."""
    figures = store.load()
    for path in pages():
        text = path.read_text(encoding="utf-8")
        path.write_text(with_figures(text, figures), encoding="utf-8")
    for path, text in charts(figures).items():
        path.write_text(text, encoding="utf-8")
