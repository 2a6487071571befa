"""The digest in the name of the folder of compiled kernels."""

import ast
import gc
import shutil
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from numba.extending import overload

import pdb_core
from pdb_core import jit
from tests import ROOT


@pytest.fixture
def copied_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of our packages, whose digest is computed in place of the real one."""
    for package in jit._PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "_ROOT", tmp_path)
    return tmp_path


def naive_sources(root: Path) -> set[Path]:
    """Return the files of kernels, and ours that they import, from the whole syntax tree of each."""
    found: set[Path] = set()
    waiting = [root / "pdb_core" / "jit.py", *(path for path in root.rglob("*_kernels.py"))]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom):
                assert node.module is not None
                assert node.level == 0
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for place in (root.joinpath(*name.split(".")) for name in names):
                waiting += [place.with_suffix(".py"), place / "__init__.py"]
    return found


def test_digest_covers_every_file_that_a_kernel_imports(copied_root: Path) -> None:
    sources = naive_sources(copied_root)
    names = {path.relative_to(copied_root).as_posix() for path in sources}
    assert {"pdb_core/jit.py", "solver/vectors/llvm_vectors.py", "solver/engine/search_memory.py"} <= names
    assert len(names) > 60
    digests = {jit.program_version()}
    for number, path in enumerate(sorted(sources)):
        with path.open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        digests.add(jit.program_version())
        assert len(digests) == number + 2, f"a change of {path} is not noticed"


@pytest.mark.parametrize(
    "statement",
    ["from pdb_core.own import *", "import pdb_core.own as own", "from pdb_core import (\n    own,\n)",
     "if True:\n    from pdb_core import own", '"""From a text:\n\nfrom here it looks\n"""\nimport pdb_core.own'],
)  # fmt: skip
def test_imports_are_followed_in_every_form(copied_root: Path, statement: str) -> None:
    (copied_root / "pdb_core" / "own.py").write_text("CONSTANT = 1\n")
    (copied_root / "pdb_core" / "new_kernels.py").write_text(f"{statement}\n")
    before = jit.program_version()
    (copied_root / "pdb_core" / "own.py").write_text("CONSTANT = 2\n")
    assert jit.program_version() != before


def test_digest_covers_the_version_and_the_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {jit._sources_digest()}
    monkeypatch.setattr(jit, "vector_lanes", lambda: 2)
    digests.add(jit._sources_digest())
    monkeypatch.setattr(jit, "__version__", f"{pdb_core.__version__}.1")
    digests.add(jit._sources_digest())
    assert len(digests) == 3


def test_compilation_is_announced() -> None:
    told: list[str] = []
    listener = jit._CompilationListener()
    listener.announce = lambda: told.append("now")  # type: ignore[method-assign]
    with event.install_listener("numba:compile", listener):
        numba.njit(lambda a: a * np.int64(3))(1)
    assert told == ["now"]


def test_garbage_is_not_collected_while_kernels_are_compiled() -> None:
    seen: list[bool] = []

    def half(number):
        return number // 2

    @overload(half)
    def compile_half(number):  # noqa: ARG001
        seen.append(gc.isenabled())
        return lambda number: number // 2

    for _ in range(2):
        assert numba.njit(lambda number: half(number) + 1)(8) == 5
        assert gc.isenabled()
    assert seen
    assert not any(seen)
