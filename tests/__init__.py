"""The test suite; run it with scripts/test."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: tuple[str, ...] = tuple(_PROJECT["tool"]["importlinter"]["root_packages"])


def source_files() -> list[Path]:
    """Return the Python files of all packages."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
