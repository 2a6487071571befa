"""Benchmark figures in pages: write them from docs/figures.json, and find those that are not from it.

A page includes a table between `<!-- table: NAME -->` and `<!-- end -->`, and one figure as
`0.25 ms<!--random1000;78;mean_ms-->`. `scripts/measure pages` writes the pages.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.figures import store
from scripts.figures.chart import CHART, programs_chart
from scripts.figures.tables import formatted, table

ROOT = Path(__file__).parents[2]

_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?([^\d<>]{0,40}<!--([^<>;]+);([^<>;]+);([^<>;]+)-->)")
_BLOCK = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
_UNITS = (
    r"ns|µs|us|ms|s|seconds?|minutes?|hours?|kB|MB|GB|TB|MiB|percent|million|billion|times|nodes|boards|"
    r"boards a second|boards/s|nodes/s|lookups"
)
# A quantity, or a number with a decimal point, such as a ratio.
_QUANTITY = re.compile(rf"(?<![\w.,/-])(\d[\d,]*(?:\.\d+)?(?:\s?(?:{_UNITS})\b|\s?%)|\d[\d,]*\.\d+(?![\w.]))")


def pages() -> list[Path]:
    """Return the pages with figures. Decisions and changes are history; notes for issues have none."""
    docs = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "decisions"]
    return [ROOT / "README.md", *docs, ROOT / "data" / "README.md", ROOT / "deploy" / "README.md"]


def with_figures(text: str, figures: Mapping[str, Any]) -> str:
    """Return the text of a page with its tables and figures written anew. Raises `KeyError` for an unknown one."""
    text = _TABLE.sub(lambda match: f"{match[1]}\n{table(match[2], figures)}\n\n{match[3]}", text)
    return _FIGURE.sub(lambda match: formatted(figures[match[2]]["rows"][match[3]][match[4]]) + match[1], text)


def quantities(text: str) -> list[str]:
    """Return the quantities of a page outside code, its tables of figures, and its figures."""
    for pattern in (_BLOCK, _TABLE, _FIGURE, re.compile(r"`[^`\n]*`"), re.compile(r"\]\([^)]*\)")):
        text = pattern.sub(" ", text)
    return [" ".join(match[1].split()) for match in _QUANTITY.finditer(text)]


def write_pages() -> None:
    """Write the figures of all pages, and the chart."""
    figures = store.load()
    for path in pages():
        text = path.read_text(encoding="utf-8")
        path.write_text(with_figures(text, figures), encoding="utf-8")
    CHART.write_text(programs_chart(figures), encoding="utf-8")
