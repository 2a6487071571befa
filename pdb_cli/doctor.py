"""`pdb doctor`: versions and resources of this installation, and a self-test."""

import platform
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pdb_cli.options import FormatOption
from pdb_cli.output import Format, Record, command, count, prepare, write_records
from pdb_core.errors import WrongAnswerError

_COLUMNS = ("check", "value")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_HARDEST_8_PUZZLE = (8, 6, 7, 2, 5, 4, 3, 0, 1)


@command
def doctor(output: FormatOption = Format.text) -> None:
    """Print versions, cores, memory and cache folders; test a small build, a lookup and a search."""
    prepare()
    write_records(_checks(), output, columns=_COLUMNS, text=_text)


def _checks() -> Iterator[dict[str, Any]]:
    import h5py
    import numba
    import numpy as np

    from pdb_core import __version__, jit
    from pdb_core.messages import format_bytes
    from pdb_core.resources import available_cores, available_disk, available_memory

    yield _row("tile-pdb", __version__)
    yield _row("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield _row(
        "libraries",
        f"numpy {np.__version__}, numba {numba.__version__}, h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}",
    )
    yield _row("cores", available_cores())
    yield _row("memory", f"{format_bytes(available_memory())} available")
    yield _row("cache", f"{jit.cache_home()}, {format_bytes(available_disk(jit.cache_home()))} free")
    yield _row(
        "compiled kernels", "kept on disk" if jit.keeps_compiled_kernels() else "not kept: compiled anew in every run"
    )
    yield _row("huge pages", _huge_pages())
    yield _row("self-test", _self_test())


def _row(check: str, value: Any) -> dict[str, Any]:
    return {"check": check, "value": value}


def _huge_pages() -> str:
    try:
        text = _HUGE_PAGES.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
    chosen = text.partition("[")[2].partition("]")[0]
    return f"{chosen}" + ("" if chosen != "never" else ": copied tables are looked up more slowly")


def _self_test() -> str:
    from pdb_build import build_database, plan_build
    from pdb_core.pattern import parse_partition
    from pdb_core.puzzle import BoardSize, blank_last
    from pdb_query import open_database
    from solver import Solver

    start = time.perf_counter()
    size = BoardSize(3, 3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "8.h5"
        build_database(plan_build(size, blank_last(size), parse_partition("8", size), path))
        with open_database(path) as database:
            h = database.probe(_HARDEST_8_PUZZLE).maximum
            length = Solver(database).solve(_HARDEST_8_PUZZLE).length
    if (h, length) != (31, 31):
        raise WrongAnswerError(
            f"self-test: the hardest 8-puzzle takes 31 moves, found h {h} and length {length}; please report this"
        )
    return f"passed: 8-puzzle built, looked up and solved in {time.perf_counter() - start:.2f} s"


def _text(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        value = record["value"]
        yield f"{record['check']:<17} {count(value) if isinstance(value, int) else value}"
