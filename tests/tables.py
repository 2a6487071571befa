"""Table files that several tests share, each built once per run; table files with changed headers."""

import atexit
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from filelock import FileLock

from pdb_build import BuildPlan, BuildProgress, build_database, plan_build
from pdb_core.board_size import parse_size
from pdb_core.encoding import Cost, Encoding
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import parse_goal
from pdb_core.schema import user_block_bytes
from pdb_core.table_spec import TableSpec

# The first process makes the folder; the processes that it starts, such as xdist workers, inherit the variable.
_VARIABLE = "TILE_PDB_TEST_TABLES"
if _VARIABLE not in os.environ:
    os.environ[_VARIABLE] = mkdtemp(prefix="tile-pdb-tests-")
    atexit.register(shutil.rmtree, os.environ[_VARIABLE], ignore_errors=True)
_FOLDER = Path(os.environ[_VARIABLE])


def table_file(
    partition: str, size_text: str, goal_text: str = "blank-last", encoding: Encoding = "bytes", cost: Cost = "additive"
) -> Path:
    """Return the path of a partition's table file, and build the file at the first call."""
    name = f"{cost}-{partition}-{size_text}-{goal_text}-{encoding}".translate(str.maketrans(",/ ", "_-_"))
    path = _FOLDER / f"{name[:120]}.h5"
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            build_database(small_plan(path, partition, size_text, encoding, cost, goal_text))
    return path


SMALL = "1,2,5/3,4,6/7,8"


def small_plan(
    out: Path,
    partition: str = SMALL,
    size_text: str = "3x3",
    encoding: Encoding = "bits",
    cost: Cost = "additive",
    goal_text: str = "blank-last",
    *,
    n_threads: int = 2,
) -> BuildPlan:
    """Return a plan, by default of a build of some milliseconds."""
    size = parse_size(size_text)
    goal = parse_goal(goal_text, size)
    parsed = parse_partition(partition, size, goal, cost)
    return plan_build(size, goal, parsed, out, encoding=encoding, n_threads=n_threads)


def spec_of(
    size_text: str, goal_text: str, tiles: str, encoding: Encoding = "bits", cost: Cost = "additive"
) -> TableSpec:
    """Return the facts of one table; `tiles` are those of its pattern, between spaces."""
    size = parse_size(size_text)
    return TableSpec(size, parse_goal(goal_text, size), Pattern(tuple(map(int, tiles.split()))), encoding, cost)


def interrupt_at(n_calls: int) -> Callable[[BuildProgress], None]:
    """Return a callback that raises KeyboardInterrupt at the n-th report of progress."""
    left = [n_calls]

    def show(_progress: BuildProgress) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    return show


def stopped(plan: BuildPlan, n_tables: int = 1) -> Path:
    """Return the folder of a build that was stopped after some tables, with a checkpoint."""

    def show(progress: BuildProgress) -> None:
        if progress.pattern_index == n_tables:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_database(plan, progress=show)
    return plan.out.with_name(f"{plan.out.name}.partial")


def copy_of_table(folder: Path, encoding: Encoding = "bytes") -> Path:
    """Return a copy of a table file of the 8-puzzle."""
    return shutil.copyfile(table_file(SMALL, "3x3", encoding=encoding), folder / "copy.h5")


def flip(path: Path, at: int, bits: int = 1) -> None:
    """Flip bits of one byte of a file."""
    content = bytearray(path.read_bytes())
    content[at] ^= bits
    path.write_bytes(content)


def rewrite_header(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Let `change` edit the fields of a file's header, and sign the result."""
    content = path.read_bytes()
    fields = json.loads(content.split(b"\n")[0])
    n_bytes = user_block_bytes(len(fields["patterns"]))
    change(fields)
    path.write_bytes(signed_block(json.dumps(fields, separators=(",", ":")), n_bytes) + content[n_bytes:])


def signed_block(text: str, n_bytes: int) -> bytes:
    """Return a user block of `n_bytes` with a text and its digest."""
    return f"{text}\n{hashlib.sha256(text.encode()).hexdigest()}\n".encode().ljust(n_bytes, b"\0")
