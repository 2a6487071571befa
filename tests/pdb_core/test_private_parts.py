"""Parts of numba and distributed that they do not document and the program uses: each is there and does what we need.

`pyproject.toml` bounds the versions of both, and that of granian, whose undocumented parts every test of `pdb serve`
uses. Before a bound is raised, these tests must pass with the new version.
"""

import ast
import asyncio
import gc
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import distributed
import granian
import numba
import numpy as np
import pytest
from distributed.comm import connect
from numba.core import cgutils, event
from numba.core.caching import Cache
from numba.core.runtime.nrt import rtsys
from numba.core.typing import templates
from numba.extending import overload

from pdb_core import jit
from tests import ROOT
from tests.pdb_cluster.two_workers import started_cluster

_PACKAGES = ("pdb_core", "pdb_build", "pdb_query", "solver", "pdb_study", "pdb_cluster", "tilepdb")


def _imports() -> Iterator[tuple[str, str]]:
    """Which names the program imports from numba and distributed."""
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(source)) if re.search(r"from (numba|distributed)\.", source) else ():
                if isinstance(node, ast.ImportFrom) and node.module is not None:
                    yield from ((node.module, name.name) for name in node.names)


def test_versions_are_bounded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    bounds = [*project["dependencies"], *extras["dask"], *extras["serve"]]
    for name, module in (("numba", numba), ("distributed", distributed), ("granian", granian)):
        (bound,) = [text for text in bounds if re.match(rf"{name}\W", text)]
        upper = re.search(r"<([\d.]+)", bound)
        assert upper is not None, bound
        assert [*map(int, module.__version__.split(".")[:2])] < [*map(int, upper[1].split("."))]


def test_private_modules_that_are_imported_are_those_that_are_tested_here() -> None:
    private = {(module, name) for module, name in _imports() if module.startswith(("numba.core", "distributed."))}
    assert private == {
        ("numba.core", "cgutils"),
        ("numba.core", "event"),
        ("numba.core.runtime.nrt", "rtsys"),
        ("numba.core.typing.templates", "AbstractTemplate"),
        ("numba.core.typing.templates", "infer_global"),
        ("numba.core.typing.templates", "signature"),
        ("distributed.comm", "connect"),
    }
    assert all(hasattr(templates, name) for name in ("AbstractTemplate", "infer_global", "signature"))
    assert callable(cgutils.get_or_insert_function)
    assert callable(rtsys.initialize)
    assert all(hasattr(Cache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors"))


def test_compilation_is_announced() -> None:
    told: list[str] = []
    listener: Any = jit._CompilationListener()
    listener.announce = lambda: told.append("now")
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


def test_invalid_address_is_no_connection() -> None:
    with pytest.raises(ValueError, match="port"):
        asyncio.run(connect("tcp://host", timeout=1))


def test_parts_of_a_worker() -> None:
    """The plan of a build reads these from each worker."""

    def parts(dask_worker: Any) -> None:
        manager = dask_worker.memory_manager
        assert manager.memory_limit == 10**9
        assert 0 < manager.memory_target_fraction < manager.memory_pause_fraction < 1
        assert dask_worker.monitor.get_process_memory() > 1_000_000
        assert dask_worker.state.nthreads == 1

    with (
        started_cluster(1, processes=False, memory_limit=10**9) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.run(parts)
