"""The test suite; run it with scripts/test."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: tuple[str, ...] = tuple(_PROJECT["tool"]["importlinter"]["root_packages"])


def rows(table: str) -> list[list[str]]:
    """Return the cells of each line of a table, between bars that have a space before them."""
    return [[cell.strip() for cell in line.split(" |")] for line in table.splitlines() if line.strip()]


def source_files() -> list[Path]:
    """Return the Python files of all packages."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
