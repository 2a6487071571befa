"""Structure of the code, beside the rules of Ruff and of Import Linter in pyproject.toml."""

import ast
import re
import sysconfig
from importlib.machinery import PathFinder
from pathlib import Path

from tests import module_name, source_files


def test_kernels_are_in_files_of_their_own() -> None:
    """Only kernels call inlined kernels: these have no wrapper for Python, so a call from Python would crash.

    Kernels use addresses only of arrays that their caller holds: numba frees an array that a kernel made after its last
    use by name, even if its address is still used.
    """
    inlined, imported = set(), set()
    for path in source_files():
        text = path.read_text()
        if not path.stem.endswith("_kernels"):
            imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
            imported |= {(node.module, name.name) for node in imports for name in node.names}
            continue
        assert not re.search(r"^ *raise\b", text, re.MULTILINE), path
        inlined |= {
            (module_name(path), name) for name in re.findall(r"^@inlined_kernel\ndef (\w+)", text, re.MULTILINE)
        }
        for function in text.split("\ndef "):
            made = " ".join(re.findall(r"^ *([^=\n]*?) = .*np\.(?:empty|zeros)", function, re.MULTILINE))
            assert not {*re.findall(r"(\w+)\.ctypes", function)} & {*re.findall(r"\w+", made)}, (path, function)
    assert inlined
    # For compiled code of users.
    assert inlined & imported == {("pdb_query.compiled_kernels", "expand")}
    assert not {name for _, name in imported} & {"kernel", "borrowing_kernel", "inlined_kernel"}


def test_import_pdb_is_the_debugger() -> None:
    assert Path(PathFinder.find_spec("pdb").origin).parent == Path(sysconfig.get_path("stdlib"))
