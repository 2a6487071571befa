"""The digest in the name of the folder of compiled kernels, and what happens while they are compiled."""

import ast
import gc
import shutil
import signal
from pathlib import Path
from types import FunctionType
from typing import Any
from unittest.mock import Mock

import numba
import pytest

import pdb_core
from pdb_core import jit
from tests import ROOT


def naive_sources() -> set[Path]:
    """Return the files of kernels, and ours that they import, from the whole syntax tree of each."""
    found: set[Path] = set()
    waiting = [path for package in jit._PACKAGES for path in (ROOT / package).rglob("*_kernels.py")]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        if path == ROOT / "pdb_core" / "jit.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for place in (ROOT.joinpath(*name.split(".")) for name in names):
                waiting += [place.with_suffix(".py"), place / "__init__.py"]
    return found


def test_digest_covers_the_kernels_and_the_leaves_that_they_import() -> None:
    """So a message that changes elsewhere compiles nothing."""
    names = {path.relative_to(ROOT).as_posix() for path in naive_sources()}
    assert sorted(name for name in names if not name.endswith("_kernels.py")) == sorted(jit._LEAVES)


def test_digest_changes_with_constants_lanes_and_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "pdb_core", tmp_path / "pdb_core")
    monkeypatch.setattr(jit, "_ROOT", tmp_path)
    monkeypatch.setattr(jit, "_LEAVES", ("pdb_core/types.py",))
    digests = {jit.kernels_digest()}
    for name in ("errors", "puzzle", "types", "layout_kernels"):
        assert len(digests) == 1 + (name == "layout_kernels")
        with (tmp_path / "pdb_core" / f"{name}.py").open("a") as file:
            file.write("CONSTANT = 1\n")
        digests.add(jit.kernels_digest())
    monkeypatch.setattr(jit, "vector_lanes", lambda: 2)
    digests.add(jit.kernels_digest())
    monkeypatch.setattr(jit, "__version__", f"{pdb_core.__version__}.1")
    digests.add(jit.kernels_digest())
    assert len(digests) == 5


def test_compilation_is_announced_once_and_pauses_the_collector_of_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    monkeypatch.setattr(jit._listener, "announce", lambda: told.append(True))
    numba.njit(lambda given: given + 2)(8)
    numba.njit(FunctionType((lambda given: given + 3).__code__, {}))(8)  # of no module, as exec makes it
    assert told == []  # functions of another program
    monkeypatch.setattr(jit, "_PACKAGES", ("tests",))
    pauses = Mock(side_effect=gc.disable)
    monkeypatch.setattr("pdb_core.jit.gc.disable", pauses)
    for number in range(2):
        assert numba.njit(lambda given: given + number)(8) == 8 + number  # noqa: B023
    assert told == [True]
    assert (pauses.call_count, gc.isenabled()) == (2, True)


def test_signal_waits_until_numba_has_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba would lose it in a callback of LLVM, or take it for an error of the compilation."""
    monkeypatch.setattr(jit, "_cache_folder", None)
    monkeypatch.setattr(jit, "_PACKAGES", ("tests",))
    compiled: Any = jit.kernel(lambda given: given + 4)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    jit.announce_compilation(lambda: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled(8)
    finally:
        signal.signal(signal.SIGINT, before)
    assert compiled.signatures
    assert compiled(8) == 12
