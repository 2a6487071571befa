"""Imports between the packages and files of the project."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests import ROOT

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: tuple[str, ...] = tuple(_PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def source_files(*packages: str) -> list[Path]:
    """Return the Python files of some packages; without arguments, of all."""
    return [path for package in packages or PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Parse a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def module_name(path: Path) -> str:
    """Return the name by which a Python file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (module, name) for each name that a syntax tree imports; the name is "" for a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def package_arrows() -> dict[str, set[str]]:
    """Return the packages of the project that each package imports."""
    arrows = {}
    for package in PACKAGES:
        modules = {module for path in source_files(package) for module, _ in imported_names(syntax_tree(path))}
        arrows[package] = {module.partition(".")[0] for module in modules} & set(PACKAGES) - {package}
    return arrows
