"""Structure of the code, beside the rules of Ruff and of Import Linter in pyproject.toml."""

import ast
import re
import sysconfig
from pathlib import Path

import grimp

from tests import PACKAGES, ROOT, source_files, text_of
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
    """Only kernels call inlined kernels: these have no wrapper for Python, so a call from Python would crash."""
    inlined, imported = set(), set()
    for path in source_files():
        nodes = list(ast.walk(ast.parse(path.read_text())))
        imports = {
            (node.module, item.name) for node in nodes if isinstance(node, ast.ImportFrom) for item in node.names
        }
        if path.stem.endswith("_kernels"):
            functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
            is_inlined = [item for item in functions if "inlined_kernel" in map(ast.unparse, item.decorator_list)]
            inlined |= {(module_name(path), item.name) for item in is_inlined}
            assert not any(isinstance(node, ast.Raise) for node in nodes), path
        else:
            imported |= imports
            assert not {name for _, name in imports} & {"kernel", "borrowing_kernel", "inlined_kernel"}, path
    assert inlined
    assert not inlined & imported


def test_kernels_use_addresses_only_of_arrays_that_their_caller_holds() -> None:
    """numba frees an array that a kernel made after its last use by name, even if its address is still used."""
    found = []
    for path in source_files():
        functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
        for function in functions if path.stem.endswith("_kernels") else []:
            assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
            made = {
                name.id
                for node in assigned
                if "np.empty" in (made_by := ast.unparse(node.value)) or "np.zeros" in made_by
                for name in ast.walk(node.targets[0])
                if isinstance(name, ast.Name)
            }
            used = [ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Attribute)]
            found += [f"{path.name}: {function.name}: {name}" for name in made if f"{name}.ctypes" in used]
    assert found == []


def test_import_pdb_is_the_debugger() -> None:
    assert Path(python("import pdb; print(pdb.__file__)").stdout.strip()).parent == Path(sysconfig.get_path("stdlib"))


PAGE = text_of("docs/architecture.md")


def test_files_named_in_architecture_exist() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", PAGE, re.MULTILINE)
    assert {package for package, _ in rows} == set(PACKAGES)
    files = {f"{package}/{name}.py" for package, order in rows for name in re.findall(r"`([\w/]+)`", order)}
    files |= set(re.findall(r"`([\w/.]+/[\w.]+\.py)`", PAGE))
    assert {file for file in files if "NAME" not in file and not (ROOT / file).exists()} == set()
