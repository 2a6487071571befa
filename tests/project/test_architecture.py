"""Structure of the code: allowed imports, kernels apart from glue, size of functions, docstrings."""

import ast
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests import ROOT
from tests.project.imports import (
    PACKAGES,
    imported_names,
    module_name,
    package_arrows,
    source_files,
    syntax_tree,
)

# The packages of the project that each package may import.
ALLOWED: dict[str, set[str]] = {
    "pdb_core": set(),
    "pdb_build": {"pdb_core"},
    "pdb_query": {"pdb_core"},
    "solver": {"pdb_core", "pdb_query"},
    "pdb_study": {"pdb_core", "pdb_query", "solver"},
    "pdb_service": {"pdb_core", "pdb_query", "solver"},
    "pdb_cluster": {"pdb_core", "pdb_build", "pdb_query", "solver"},
    "tilepdb": set(PACKAGES) - {"tilepdb"},
}
# Files of pdb_core that use the machine; all others are arithmetic.
FILES_WITH_INPUT_AND_OUTPUT = {
    "pdb_core/durable_files.py", "pdb_core/jit.py", "pdb_core/journal.py", "pdb_core/kernel_folder.py",
    "pdb_core/resources.py", "pdb_core/system.py",
}  # fmt: skip
INPUT_AND_OUTPUT = {
    "fcntl", "filelock", "mmap", "os", "pathlib", "platformdirs", "psutil", "shutil", "socket", "subprocess", "tempfile"
}  # fmt: skip
MAX_LINES = 60
WINGS = (
    "solver.graph_search", "solver.heuristics", "solver.large_boards", "pdb_study", "pdb_service", "pdb_cluster",
    "tilepdb",
)  # fmt: skip


def place(path: Path) -> str:
    """Return the path relative to the repository."""
    return path.relative_to(ROOT).as_posix()


def test_packages_import_only_those_below_them() -> None:
    assert {name: found - ALLOWED[name] for name, found in package_arrows().items() if found - ALLOWED[name]} == {}


def test_picture_has_the_imports_of_packages() -> None:
    """The picture has an arrow for each import that does not follow from others (the transitive reduction)."""
    arrows = package_arrows()

    def reached(package: str) -> set[str]:
        return set(arrows[package]).union(*map(reached, arrows[package]))

    direct = {f"{name}-{other}" for name in arrows for other in arrows[name].difference(*map(reached, arrows[name]))}
    picture = (ROOT / "docs" / "images" / "packages.svg").read_text(encoding="utf-8")
    assert set(re.findall(r' id="(\w+-\w+)"', picture)) == direct


def test_imports_between_files_have_no_cycle() -> None:
    """No file imports one that imports it, wherever the import stands."""
    modules = {module_name(path): path for path in source_files()}
    imported = {
        module: {f"{other}.{name}" if f"{other}.{name}" in modules else other for other, name in imported_names(tree)}
        for module, tree in ((module, syntax_tree(path)) for module, path in modules.items())
    }
    done: set[str] = set()
    while ready := {module for module in modules if module not in done and imported[module] & modules.keys() <= done}:
        done |= ready
    assert modules.keys() - done == set()


def test_core_imports_no_wing_except_in_two_files() -> None:
    """`solver/__init__.py` names the solvers, and the engine chooses among kinds of rounds."""
    wing = re.compile(rf"({'|'.join(WINGS)})(\.|$)")
    importing = {
        place(path)
        for path in source_files()
        if not wing.match(module_name(path)) and any(map(wing.match, map(".".join, imported_names(syntax_tree(path)))))
    }
    assert importing == {"solver/__init__.py", "solver/engine/search_kernels.py"}


def names_used(tree: ast.AST) -> set[str]:
    """Return every name, attribute and imported name of a syntax tree."""
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            used |= {alias.name for alias in node.names}
    return used


def test_kernels_are_in_files_of_their_own() -> None:
    for path in source_files():
        tree = syntax_tree(path)
        if path.stem.endswith("_kernels"):
            assert "print" not in names_used(tree), path
            assert not any(isinstance(node, ast.Raise) for node in ast.walk(tree)), path
        else:
            assert not {"kernel", "borrowing_kernel", "inlined_kernel"} & names_used(tree), path


def test_only_kernels_call_inlined_kernels() -> None:
    """A call from Python would crash: inlined kernels have no wrapper for Python."""
    inlined = {
        (module_name(path), node.name)
        for path in source_files()
        if path.stem.endswith("_kernels")
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.FunctionDef) and "inlined_kernel" in map(ast.unparse, node.decorator_list)
    }
    assert inlined
    for path in [*source_files(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]:
        if not path.stem.endswith("_kernels"):
            assert not set(imported_names(syntax_tree(path))) & inlined, path


def test_numba_is_configured_in_one_file() -> None:
    # Intrinsics use internal parts of Numba; two files report its version.
    allowed = {
        "pdb_core/bit_kernels.py": {"numba", "numba.core", "numba.extending"},
        "solver/vectors/llvm_vectors.py": {"numba", "numba.core.typing.templates", "numba.extending"},
        "pdb_build/report.py": {"numba"},
        "tilepdb/commands/machine.py": {"numba"},
    }
    compilers = {"njit", "vectorize", "guvectorize", "cfunc", "stencil", "jitclass"}
    for path in source_files():
        if place(path) == "pdb_core/jit.py":
            continue
        tree = syntax_tree(path)
        modules = {module for module, _ in imported_names(tree) if module.startswith("numba")}
        assert modules <= allowed.get(place(path), set()), path
        assert not names_used(tree) & compilers, path


def test_core_uses_neither_files_nor_the_machine() -> None:
    using = {
        place(path)
        for path in source_files("pdb_core")
        for tree in [syntax_tree(path)]
        if {module for module, _ in imported_names(tree)} & INPUT_AND_OUTPUT
        or names_used(tree) & {"open", "print", "input"}
    }
    assert using <= FILES_WITH_INPUT_AND_OUTPUT


def test_import_pdb_is_the_debugger() -> None:
    program = "import pdb; print(pdb.__file__)"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(result.stdout.strip()).parent == Path(sysconfig.get_path("stdlib"))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its docstring."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    n_documented = 0 if docstring is None else (docstring.end_lineno or 0) - docstring.lineno + 1
    return (function.end_lineno or 0) - function.lineno + 1 - n_documented


def test_functions_outside_kernels_are_short() -> None:
    long = {
        f"{place(path)}: {node.name}"
        for path in source_files()
        if not path.stem.endswith("_kernels")
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of(node) > MAX_LINES
    }
    assert long == set()


def test_every_module_and_public_function_has_a_docstring() -> None:
    for path in source_files():
        tree = syntax_tree(path)
        assert ast.get_docstring(tree), path
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path}: {node.name}"


def paths_on_page() -> dict[str, list[str]]:
    """Return the numbered files below each heading of docs/architecture.md."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    sections = (section.partition("\n") for section in page.split("\n## ")[1:])
    return {heading: re.findall(r"^\d+\. `([\w/.]+)`", text, re.MULTILINE) for heading, _, text in sections}


MAX_FILES = {"Path of `pdb solve BOARD`": 9, "Path of `pdb build 663`": 8}


@pytest.mark.parametrize("heading", MAX_FILES)
def test_each_file_of_a_path_is_imported_by_one_before_it(heading: str) -> None:
    files = paths_on_page()[heading]
    assert 5 < len(files) <= MAX_FILES[heading]
    imported = {module_name(ROOT / files[0])}
    for file in files:
        assert module_name(ROOT / file) in imported, f"{file} is not imported by a file before it"
        imported |= imported_modules(ROOT / file)


def imported_modules(path: Path) -> set[str]:
    """Return the modules that a file imports, and for each package the imports of its `__init__.py`."""
    found = {module for pair in imported_names(syntax_tree(path)) for module in (pair[0], ".".join(pair))}
    for package in found & set(PACKAGES):
        found |= {module for module, _ in imported_names(syntax_tree(ROOT / package / "__init__.py"))}
    return found


def test_files_of_the_reading_order_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", page, re.MULTILINE)
    assert {package for package, _ in rows} == set(PACKAGES)
    files = [f"{package}/{name}.py" for package, order in rows for name in re.findall(r"`([\w/]+)`", order)]
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_files_named_in_architecture_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = re.findall(r"`([\w/.]+/[\w.]+\.py)`", page)
    assert files
    assert [file for file in files if "NAME" not in file and not (ROOT / file).exists()] == []
