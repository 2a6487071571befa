"""The digest in the name of the folder of compiled kernels, and what happens while they are compiled."""

import gc
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import grimp
import numba
import pytest

from pdb_core import jit
from tests import ROOT
from tests.command_line import python


def test_digest_covers_the_kernels_and_the_leaves_that_they_import() -> None:
    """So a message that changes elsewhere compiles nothing."""
    imports = grimp.build_graph(*jit._PACKAGES, cache_dir=None)
    found, waiting = {"pdb_core.jit"}, [module for module in imports.modules if module.endswith("_kernels")]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += imports.find_modules_directly_imported_by(module)
    leaves = {f"{module.replace('.', '/')}.py" for module in found if not module.endswith("_kernels")}
    assert leaves == set(jit._LEAVES)


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
