"""Structure of the code, beside the rules of Ruff and of Import Linter in pyproject.toml."""

import ast
import re
import sysconfig
from pathlib import Path

import grimp

from tests import PACKAGES, ROOT, source_files
from tests.command_line import python

GRAPH = grimp.build_graph(*PACKAGES, cache_dir=None)


def module_name(path: Path) -> str:
    """Return the name by which a Python file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_imports_between_files_have_no_cycle() -> None:
    """No file imports one that imports it, wherever the import stands: also in functions and for types."""
    imported = {module: GRAPH.find_modules_directly_imported_by(module) for module in GRAPH.modules}
    done: set[str] = set()
    while ready := {module for module, others in imported.items() if module not in done and others <= done}:
        done |= ready
    assert imported.keys() - done == set()


def test_kernels_are_in_files_of_their_own() -> None:
    """Only kernels call inlined kernels: these have no wrapper for Python, so a call from Python would crash.

    Kernels use addresses only of arrays that their caller holds: numba frees an array that a kernel made after its last
    use by name, even if its address is still used.
    """
    inlined, imported = set(), set()
    for path in source_files():
        nodes = list(ast.walk(ast.parse(path.read_text())))
        if not path.stem.endswith("_kernels"):
            froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
            names = {(node.module, item.name) for node in froms for item in node.names}
            assert not {name for _, name in names} & {"kernel", "borrowing_kernel", "inlined_kernel"}, path
            imported |= names
            continue
        assert not any(isinstance(node, ast.Raise) for node in nodes), path
        for function in (node for node in nodes if isinstance(node, ast.FunctionDef)):
            if "inlined_kernel" in map(ast.unparse, function.decorator_list):
                inlined.add((module_name(path), function.name))
            text = ast.unparse(function)
            made = " ".join(re.findall(r"^ *([^=\n]*?) = .*np\.(?:empty|zeros)", text, re.MULTILINE))
            used = re.findall(r"(\w+)\.ctypes", text)
            assert not {*used} & {*re.findall(r"\w+", made)}, (path, function.name)
    assert inlined
    # For compiled code of users.
    assert inlined & imported == {("pdb_query.compiled_kernels", "expand")}


def test_import_pdb_is_the_debugger() -> None:
    assert Path(python("import pdb; print(pdb.__file__)").stdout.strip()).parent == Path(sysconfig.get_path("stdlib"))
