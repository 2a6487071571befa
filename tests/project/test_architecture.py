"""The house stays as it is drawn: arrows point down, kernels are apart from glue, errors form the tree drawn."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdb_core import errors
from tests import ROOT

# Package -> the packages of the project that it may import; docs/architecture.md shows the same arrows.
ALLOWED: dict[str, set[str]] = {
    "pdb_core": set(),
    "pdb_build": {"pdb_core"},
    "pdb_query": {"pdb_core"},
    "solver": {"pdb_core", "pdb_query"},
    "pdb_study": {"pdb_core", "pdb_query", "solver"},
    "pdb_service": {"pdb_core", "pdb_query", "solver"},
    "pdb_cluster": {"pdb_core", "pdb_build", "pdb_query", "solver"},
    "tilepdb": {"pdb_core", "pdb_build", "pdb_query", "solver", "pdb_study", "pdb_service", "pdb_cluster"},
}
ALLOWED["pdb_cli"] = set(ALLOWED)
PACKAGES = tuple(ALLOWED)


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


def names_used(tree: ast.AST) -> set[str]:
    """Every name, attribute and imported name of a file, whatever it is renamed to."""
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            used |= {alias.name for alias in node.names}
    return used


def test_kernels_live_in_files_of_their_own() -> None:
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.stem.endswith("_kernels"):
            calls = {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert "print" not in calls, path
            assert not any(isinstance(node, ast.Raise) for node in ast.walk(tree)), path
        else:
            assert not {"kernel", "borrowing_kernel", "inlined_kernel"} & names_used(tree), path


def test_only_kernels_call_kernels_without_a_wrapper_for_python() -> None:
    """A call from Python would crash."""
    inlined = {
        (".".join(path.relative_to(ROOT).with_suffix("").parts), node.name)
        for path in sources()
        if path.stem.endswith("_kernels")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and "inlined_kernel" in map(ast.unparse, node.decorator_list)
    }
    assert inlined
    for path in [*sources(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]:
        if not path.stem.endswith("_kernels"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    assert not {(node.module, alias.name) for alias in node.names} & inlined, path


def numba_imports(tree: ast.AST) -> set[str]:
    """The statements that import numba or parts of it."""
    return {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any(
            name.split(".")[0] == "numba"
            for name in (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [item.name for item in node.names]
            )
        )
    }


def test_numba_is_configured_in_one_place() -> None:
    # Intrinsics are made of numba's inner parts; two files name its version.
    allowed = {
        "pdb_core/bit_kernels.py": {
            "from numba import types",
            "from numba.core import cgutils",
            "from numba.extending import intrinsic",
        },
        "solver/vectors/llvm_vectors.py": {
            "from numba import config, types",
            "from numba.core.typing.templates import AbstractTemplate, infer_global, signature",
            "from numba.extending import intrinsic, lower_builtin, models, register_model",
        },
        "pdb_build/report.py": {"import numba"},
        "pdb_cli/doctor.py": {"import numba"},
    }
    compilers = {"njit", "vectorize", "guvectorize", "cfunc", "stencil", "jitclass"}
    for path in sources():
        place = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if place == "pdb_core/jit.py":
            assert "njit" in names_used(tree)
            continue
        assert numba_imports(tree) <= allowed.get(place, set()), path
        assert not names_used(tree) & compilers, path
        attributes = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba"
        }
        assert attributes <= {"__version__"}, path


def test_core_opens_no_files_and_prints_nothing() -> None:
    for path in sources("pdb_core"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("open", "print"), path


def test_nothing_is_named_like_the_debugger() -> None:
    seen = set()
    for _folder, folders, files in os.walk(ROOT):
        # A virtual environment holds the console script `pdb`, and git may hold a branch of that name.
        folders[:] = [name for name in folders if name not in (".venv", ".git")]
        seen |= {*folders, *files}
    assert {"pdb_core", "test_architecture.py"} <= seen
    assert not seen & {"pdb", "pdb.py"}


def test_every_module_says_what_it_is_for() -> None:
    for path in sources():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_every_public_function_of_the_library_has_a_docstring() -> None:
    for path in sources(*(package for package in PACKAGES if package != "pdb_cli")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path}: {node.name}"


def test_exported_names_exist() -> None:
    for package in ("pdb_build", "pdb_query", "solver"):
        module = __import__(package)
        assert all(hasattr(module, name) for name in module.__all__)


def drawn_tree() -> dict[str, tuple[list[str], int]]:
    """Class name -> (names of its bases, exit code), as in the picture; without a code of its own it has its base's."""
    drawn: dict[str, tuple[list[str], int]] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.fullmatch(r"    ([ │├└─]*)(\w+Error)(?: \((\w+)\))?(?: {2,}(\d+))?(?: {2,}.*)?", line)
        if match:
            while above and above[-1][0] >= len(match[1]):
                above.pop()
            bases = [above[-1][1]] if above else ["Exception"]
            code = int(match[4]) if match[4] else drawn[bases[0]][1]
            drawn[match[2]] = (bases + [match[3]] * bool(match[3]), code)
            above.append((len(match[1]), match[2]))
    return drawn


def test_error_tree_is_the_one_in_its_picture() -> None:
    classes = {name: item for name, item in vars(errors).items() if isinstance(item, type)}
    assert drawn_tree() == {
        name: ([base.__name__ for base in item.__bases__], item.exit_code) for name, item in classes.items()
    }


def test_every_error_is_caught_by_its_base() -> None:
    for name, item in vars(errors).items():
        if isinstance(item, type):
            assert issubclass(item, errors.PdbError), name
            assert item.__doc__, name
