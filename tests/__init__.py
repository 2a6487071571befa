"""The test suite; run it with scripts/test."""

import os
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def text_of(name: str) -> str:
    """Return the text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


PACKAGES: tuple[str, ...] = tuple(tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["root_packages"])


def rows(table: str) -> list[list[str]]:
    """Return the cells of each line of a table, between bars that have a space before them."""
    return [[cell.strip() for cell in line.split(" |")] for line in table.splitlines() if line.strip()]


def marked_rows(table: str) -> list[Any]:
    """Return a parameter set for each line of a table. The last cell has its marks: tiny, slow, or nothing."""
    return [
        pytest.param(*cells, marks=[getattr(pytest.mark, mark) for mark in marks.split()])
        for *cells, marks in rows(table)
    ]


def wait_until(is_so: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until something is so, for a limited time."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def source_files() -> list[Path]:
    """Return the Python files of all packages."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def module_name(path: Path) -> str:
    """Return the name by which a Python file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def failing(number: int) -> Callable[..., Any]:
    """Return a function that takes any arguments and raises the OSError of a number, such as errno.ENOSPC."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail
