"""The digest in the name of the folder of compiled kernels, and what happens while they are compiled."""

import ast
import gc
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import pytest

from pdb_core import jit
from tests import ROOT
from tests.command_line import python


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
            if isinstance(node, ast.ImportFrom | ast.Import):
                module = getattr(node, "module", ".")
                for name in [module, *(f"{module}.{alias.name}" for alias in node.names)]:
                    place = ROOT.joinpath(*name.split("."))
                    waiting += [place.with_suffix(".py"), place / "__init__.py"]
    return found


def test_digest_covers_the_kernels_and_the_leaves_that_they_import() -> None:
    """So a message that changes elsewhere compiles nothing."""
    names = {path.relative_to(ROOT).as_posix() for path in naive_sources()}
    assert sorted(name for name in names if not name.endswith("_kernels.py")) == sorted(jit._LEAVES)


def test_digest_changes_with_kernels_and_constants(tmp_path: Path) -> None:
    for package in jit._PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package)
    digests = {jit.kernels_digest(), jit.kernels_digest(tmp_path)}
    for name in ("errors", "puzzle", "types", "layout_kernels"):
        assert len(digests) == 1 + (name == "layout_kernels")
        with (tmp_path / "pdb_core" / f"{name}.py").open("a") as file:
            file.write("CONSTANT = 1\n")
        digests.add(jit.kernels_digest(tmp_path))
    assert len(digests) == 3


def test_digest_changes_with_lanes_and_checks() -> None:
    program = "from pdb_core.jit import kernels_digest; print(kernels_digest())"
    settings: list[dict[str, str]] = [{}, {"NUMBA_CPU_NAME": "x86-64-v2"}, {"NUMBA_BOUNDSCHECK": "1"}]
    environments = [{"NUMBA_BOUNDSCHECK": "0"} | setting for setting in settings]
    digests = [python(program, env=os.environ | environment).stdout for environment in environments]
    assert len({*digests}) == 3


def of_our_package(function: Callable[[int], int]) -> Any:
    """Return a function as if it were one of our kernels."""
    return FunctionType(function.__code__, {"__name__": "pdb_core.our_kernels"})


def test_compilation_is_announced_once_and_pauses_the_collector_of_garbage() -> None:
    told: list[bool] = []
    jit.announce_compilation(lambda: told.append(gc.isenabled()))
    numba.njit(FunctionType((lambda given: given + 3).__code__, {}))(8)  # of no module, as exec makes it
    assert told == []  # a function of another program
    for _ in range(2):
        assert numba.njit(of_our_package(lambda given: given + 4))(8) == 12
    assert told == [False]
    assert gc.isenabled()


def test_signal_waits_until_numba_has_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba would lose it in a callback of LLVM, or take it for an error of the compilation."""
    monkeypatch.setattr(jit, "_cache_folder", None)
    compiled = jit.kernel(of_our_package(lambda given: given + 4))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    jit.announce_compilation(lambda: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled(8)
    finally:
        signal.signal(signal.SIGINT, before)
    assert compiled.signatures
    assert compiled(8) == 12
