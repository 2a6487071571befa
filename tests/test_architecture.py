"""The house stays as it is drawn: arrows point down, kernels are apart from glue, errors form the tree drawn."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pdb_query
from pdb_core import errors

ROOT = Path(__file__).parent.parent
PACKAGES = ("pdb_core", "pdb_build", "pdb_query", "solver", "pdb_cli")
ALLOWED = {
    "pdb_core": set(),
    "pdb_build": {"pdb_core"},
    "pdb_query": {"pdb_core"},
    "solver": {"pdb_core", "pdb_query"},
    "pdb_cli": {"pdb_core", "pdb_build", "pdb_query", "solver"},
}
pytestmark = pytest.mark.tiny


def sources(*packages: str) -> list[Path]:
    return [path for package in packages or PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(module, names) of each import of the project's own packages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in PACKAGES:
                    yield alias.name, []


def test_every_package_is_looked_at() -> None:
    assert all(sources(package) for package in PACKAGES)
    assert sum(1 for path in sources() for _ in imports(path)) > 50


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_point_down(package: str) -> None:
    for path in sources(package):
        for module, _names in imports(path):
            other = module.split(".")[0]
            assert other == package or other in ALLOWED[package], f"{path} imports {module}"


def test_solver_uses_the_public_names_of_pdb_query_alone() -> None:
    for path in sources("solver"):
        for module, names in imports(path):
            if module.startswith("pdb_query"):
                assert module == "pdb_query", path
                assert set(names) <= set(pdb_query.__all__), path


def test_kernels_live_in_files_of_their_own() -> None:
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        decorated = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and any(isinstance(decorator, ast.Name) and decorator.id == "kernel" for decorator in node.decorator_list)
        ]
        if path.stem.endswith("_kernels"):
            calls = {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert "print" not in calls, path
            assert not any(isinstance(node, ast.Raise) for node in ast.walk(tree)), path
        else:
            assert not decorated, path


def test_numba_is_configured_in_one_place() -> None:
    for path in sources():
        text = path.read_text(encoding="utf-8")
        if path.name not in ("jit.py", "bit_kernels.py"):
            assert not re.search(r"^\s*(from numba|import numba$)", text, re.MULTILINE) or path.parts[-2] in (
                "pdb_cli",
                "pdb_build",
            ), path
        assert "njit" not in text or path.name == "jit.py", path


def test_core_opens_no_files_and_prints_nothing() -> None:
    for path in sources("pdb_core"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("open", "print"), path


def test_nothing_is_named_like_the_debugger() -> None:
    for path in ROOT.rglob("*"):
        if ".venv" not in path.parts and ".git" not in path.parts:
            assert path.name not in ("pdb", "pdb.py") or "bin" in path.parts, path


def test_every_module_says_what_it_is_for() -> None:
    for path in sources():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_every_public_function_of_the_library_has_a_docstring() -> None:
    for path in sources("pdb_core", "pdb_build", "pdb_query", "solver"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path}: {node.name}"


def test_exported_names_exist() -> None:
    for package in ("pdb_build", "pdb_query", "solver"):
        module = __import__(package)
        assert all(hasattr(module, name) for name in module.__all__)


def drawn_tree() -> dict[str, int]:
    """Class name -> exit code, as in the picture; a line without a code has that of the line above it."""
    drawn: dict[str, int] = {}
    code = 1
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^[ │├└─]*(\w+Error)\b( \(\w+\))?\s+(\d)?", line)
        if match and line.startswith("    "):
            code = int(match[3]) if match[3] else code
            drawn[match[1]] = code
    return drawn


def test_error_tree_is_the_one_in_its_picture() -> None:
    classes = {name: item for name, item in vars(errors).items() if isinstance(item, type)}
    assert drawn_tree() == {name: item.exit_code for name, item in classes.items()}
    lines = (errors.__doc__ or "").splitlines()
    parents: list[tuple[int, str]] = []
    for line in lines:
        match = re.match(r"^([ │├└─]*)(\w+Error)\b", line)
        if match and line.startswith("    "):
            depth = len(match[1])
            while parents and parents[-1][0] >= depth:
                parents.pop()
            if parents:
                assert issubclass(classes[match[2]], classes[parents[-1][1]]), match[2]
            parents.append((depth, match[2]))


def test_every_error_is_caught_by_its_base() -> None:
    for name, item in vars(errors).items():
        if isinstance(item, type):
            assert issubclass(item, errors.PdbError), name
            assert item.__doc__, name
