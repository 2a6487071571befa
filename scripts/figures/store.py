"""The data file of benchmark figures, docs/figures.json: read it, and write rows of one section.

A section has rows, a row has columns, and pages name a figure `section;row;column`. Names of columns end in their
unit.
"""

import datetime
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
import psutil

from pdb_core.resources import available_cores
from pdb_core.version import version_text

FIGURES = Path(__file__).parents[2] / "docs" / "figures.json"

Row = Mapping[str, Any]


def load() -> dict[str, Any]:
    """Return all sections."""
    return dict(json.loads(FIGURES.read_text(encoding="utf-8")))


def save_rows(section: str, rows: Mapping[str, Row]) -> None:
    """Update rows of a section, and record the versions and the machine that measured them."""
    figures = load()
    entry = figures.setdefault(section, {"rows": {}})
    entry["measured"] = described_machine()
    for name, row in rows.items():
        entry["rows"].setdefault(name, {}).update({column: rounded(value) for column, value in row.items()})
    save(figures)


def save(figures: Mapping[str, Any]) -> None:
    """Write all sections, one row per line."""
    sections = []
    for name, section in figures.items():
        fields = [f"  {_json(field)}: {_json(value)}" for field, value in section.items() if field != "rows"]
        rows = ",\n".join(f"   {_json(row)}: {_json(value)}" for row, value in section["rows"].items())
        fields.append(f'  "rows": {{\n{rows}\n  }}')
        sections.append(f" {_json(name)}: {{\n" + ",\n".join(fields) + "\n }")
    FIGURES.write_text("{\n" + ",\n".join(sections) + "\n}\n", encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def rounded(value: Any) -> Any:
    """Return a float rounded to three significant digits; a row states more digits as an int or as text."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


def described_machine() -> dict[str, str]:
    """Return the date, the versions and the machine."""
    memory_gb = round(psutil.virtual_memory().total / 1e9)
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    processor = next(models, platform.processor())
    return {
        "date": datetime.date.today().isoformat(),
        "versions": f"tile-pdb {version_text()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"Numba {numba.__version__}",
        "machine": f"{platform.machine()}, {processor}, {available_cores()} cores, {memory_gb} GB of memory",
    }
