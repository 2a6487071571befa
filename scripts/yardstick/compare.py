"""Compare the speed of the search engine with the same search in C.

Run by `scripts/bench --yardstick`, or directly:

    python scripts/yardstick/compare.py 78.h5 --rounds 5 --json yardstick.json

Both search the same boards on one thread, in turns. search.c has the design of the vector stages of the engine, and is
compiled for each table file. Both visit nodes in the same order, so each threshold must have the same nodes. The times
are processor time of the search. Those of numba include the lookup of the roots, which C reads from a file. Ratios are
medians over the rounds.
"""

import argparse
import ctypes
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pdb_build import build_database, plan_build
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import Board, blank_last, parse_goal, parse_size, random_boards
from pdb_query import Database, open_database, read_instances
from pdb_query.table_file import LOAD_MODES
from solver import Solver
from solver.engine import layout
from solver.engine.engine import Roots
from solver.engine.ida_star import IdaStar

FOLDER = Path(__file__).parent
SOURCE = FOLDER / "search.c"
FLAGS = ("-O3", "-march=native")
SETS = ("random1000", "hardest80")
# The ratio of seconds, in the JSON file.
RATIO = "numba/C"


@dataclass(frozen=True)
class Threshold:
    """Nodes of one threshold of one board."""

    threshold: int
    generated: int
    expanded: int
    is_found: bool


@dataclass(frozen=True)
class Run:
    """One search of all boards: the thresholds of each board, and the seconds of all."""

    boards: tuple[tuple[Threshold, ...], ...]
    seconds: float

    @property
    def generated(self) -> int:
        return sum(at.generated for board in self.boards for at in board)

    @property
    def complete(self) -> int:
        """Generated nodes of the thresholds that were searched to their end."""
        return sum(at.generated for board in self.boards for at in board if not at.is_found)


class Numba:
    """Search engine of this version."""

    name = "numba"

    def __init__(self, solver: Solver, boards: Sequence[Board]) -> None:
        self.ida_star: IdaStar = solver.ida_star
        self.boards = boards
        self.roots: Roots = self.ida_star.engine.roots(boards)

    def run(self) -> Run:
        start = time.thread_time()
        *_, found = self.ida_star.search_many(self.boards)
        seconds = time.thread_time() - start
        boards = [found.iterations(row) for row in range(len(self.boards))]
        return Run(
            tuple(
                tuple(Threshold(at.threshold, at.generated, at.expanded, at.threshold == length) for at in board)
                for board, length in zip(boards, found.lengths.tolist(), strict=True)
            ),
            seconds,
        )


class C:
    """Search in C (search.c), compiled for the table file of a solver. Each run is a separate process."""

    name = "C"

    def __init__(self, numba: Numba, table: Path, folder: Path, compiler: Sequence[str], flags: Sequence[str]) -> None:
        self._program, self._input = folder / "search", folder / "input"
        tables = numba.ida_star.engine.tables
        far = [(tables.sums[:, layout.FAR_COLUMN + f] >= 0) @ (1 << np.arange(tables.n_sums)) for f in range(2)]
        sizes = {
            "N_CELLS": tables.n_cells,
            "N_SUMS": tables.n_sums,
            "N_UNITS": tables.sums[0, layout.N_UNITS],
            "FAR_H": far[0],
            "FAR_V": far[1],
            "ALLOWED_SHIFT": layout.ALLOWED_SHIFT,
            "BLANK_SHIFT": layout.BLANK_SHIFT,
        }
        defines = [f"-D{name}={value}" for name, value in sizes.items()]
        subprocess.run([*compiler, *flags, "-Wno-psabi", *defines, "-o", str(self._program), str(SOURCE)], check=True)
        write_input(self._input, numba, table)

    def run(self) -> Run:
        result = subprocess.run([self._program, self._input], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"the search in C failed: {result.stderr.strip()}")
        *lines, last = result.stdout.splitlines()
        boards: dict[int, list[Threshold]] = {}
        for line in lines:
            board, threshold, generated, expanded, is_found = map(int, line.split())
            boards.setdefault(board, []).append(Threshold(threshold, generated, expanded, bool(is_found)))
        return Run(tuple(map(tuple, boards.values())), float(last.split()[1]))


Engine = Numba | C


def find_compiler() -> list[str] | None:
    """Return the command of a C compiler: `CC`, or cc, or gcc; None if there is none."""
    command = shlex.split(os.environ.get("CC", ""))
    for candidate in (command, ["cc"], ["gcc"]):
        if candidate and shutil.which(candidate[0]) is not None:
            return candidate
    return None


def write_input(path: Path, numba: Numba, table: Path) -> None:
    """Write the arrays that `main` of search.c reads: the size in bytes of each, int64, and its content."""
    tables, roots = numba.ida_star.engine.tables, numba.roots
    units = tables.sums[0, layout.SUM_FIELDS :].reshape(-1, layout.UNIT_FIELDS)
    scalars = (tables.batch, tables.n_columns, tables.all_cells, tables.between, len(numba.boards))
    n_states = len(numba.ida_star.engine.fsm.successors)
    with path.open("wb") as file:
        _write_array(file, scalars, np.int64)
        for field in (layout.TABLE_BIT, layout.ROW_BITS, layout.FIRST_DIGIT):
            _write_array(file, units[:, field], np.uint32)
        for field in (layout.FRAME, layout.STEPS):
            _write_array(file, [_at(address, 16, np.uint32) for address in tables.sums[:, field].tolist()], np.uint32)
        _write_array(file, _at(tables.legal, 64, np.uint32), np.uint32)
        _write_array(file, _at(tables.steps, 16, np.uint32), np.uint32)
        _write_array(file, _at(tables.sets, 1 << tables.n_cells, np.uint64), np.uint64)
        _write_array(file, _at(tables.jumps, 2 * layout.JUMPS_UPWARD, np.uint16), np.uint16)
        _write_array(file, _at(tables.successors, 4 * n_states, np.uint32), np.uint32)
        _write_array(file, tables.goal, np.uint8)
        _write_array(file, roots.boards, np.uint8)
        _write_array(file, roots.nodes, np.uint32)
        _write_array(file, roots.sums, np.int64)
        _write_array(file, np.frombuffer(os.fsencode(table.resolve()), dtype=np.uint8), np.uint8)


def _at(address: int, n: int, dtype: type[np.generic]) -> Any:
    """Return `n` numbers at an address of the engine's tables."""
    n_bytes = n * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * n_bytes).from_address(address), dtype=dtype)


def _write_array(file: BinaryIO, array: Any, dtype: type[np.generic]) -> None:
    content = np.ascontiguousarray(array, dtype=dtype)
    file.write(np.int64(content.nbytes).tobytes())
    file.write(content.tobytes())


def check_same(label: str, runs: dict[str, Run]) -> None:
    """Exit with a message if the two engines searched different nodes."""
    for board, (ours, theirs) in enumerate(zip(runs["numba"].boards, runs["C"].boards, strict=True)):
        if ours != theirs:
            sys.exit(f"{label}: the nodes of numba and C differ on board {board}: {ours} and {theirs}")


def compare(label: str, engines: Sequence[Engine], n_rounds: int) -> dict[str, Any]:
    """Let the engines search in turns, and return the figures. Exit if their nodes differ."""
    for engine in engines:
        if not isinstance(engine, C):
            engine.run()  # compiles kernels, or loads them
    rounds: list[dict[str, Run]] = []
    for _ in range(n_rounds):
        runs = {engine.name: engine.run() for engine in engines}
        check_same(label, runs)
        rounds.append(runs)
    record: dict[str, Any] = {"boards": len(rounds[0]["numba"].boards), "complete": rounds[0]["numba"].complete}
    for name, run in rounds[0].items():
        seconds = [runs[name].seconds for runs in rounds]
        record[name] = {
            "seconds": statistics.median(seconds),
            "generated": run.generated,
            "nodes_per_second": run.generated / statistics.median(seconds),
            "all_seconds": seconds,
        }
    record[RATIO] = statistics.median(runs["numba"].seconds / runs["C"].seconds for runs in rounds)
    return record


def print_record(label: str, record: dict[str, Any]) -> None:
    """Print the figures of one table file and one set of boards."""
    print(f"{label}: {record['boards']} boards, {record['complete']:,} nodes in complete thresholds")
    for name in ("numba", "C"):
        at = record[name]
        print(
            f"  {name:<6} {at['seconds']:9.3f} s {at['generated']:15,} nodes "
            f"{at['nodes_per_second'] / 1e6:8.2f} million nodes/s"
        )
    print(f"  ratio of seconds: {RATIO} {record[RATIO]:.3f}", flush=True)


def boards_of_set(database: Database, name: str) -> list[Board]:
    """Return the boards of an instance set that have the database's size, mapped to the goal of its tables."""
    return [
        database.mappings(parse_goal(instance.goal or "blank-last", instance.size))[0].apply(instance.board)
        for instance in read_instances(name, None)
        if instance.size == database.size
    ]


@contextmanager
def table_file(name: str) -> Iterator[Path]:
    """Yield a table file, or build that of a partition of the 4x4 board in a temporary folder."""
    if Path(name).is_file():
        yield Path(name)
        return
    with tempfile.TemporaryDirectory(prefix="pdb-yardstick-") as folder:
        path = Path(folder) / "table.h5"
        size = parse_size("4x4")
        goal = blank_last(size)
        build_database(plan_build(size, goal, parse_partition(name, size, goal), path, encoding="bits"))
        yield path


def compare_table(
    path: Path, database: Database, arguments: argparse.Namespace, compiler: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the label and the figures of a table file for each set of boards."""
    solver = Solver(database)
    if solver.ida_star.engine.stages is not None:
        sys.exit(f"{path} cannot be searched by the vector stages; give additive tables in bits of up to 16 cells")
    if arguments.boards:
        sample = random_boards(database.size, database.goal, arguments.boards, seed=1)
        sets = {"random": [board for board in map(tuple, sample.tolist()) if board != database.goal]}
    else:
        sets = {name: boards_of_set(database, name) for name in arguments.set or SETS}
    for name, boards in sets.items():
        label = f"{database.header.spec.partition.name}, {name}"
        if not boards:
            sys.exit(f"{label}: the set has no boards of the size of {path}; give --boards for random ones")
        numba = Numba(solver, boards)
        with tempfile.TemporaryDirectory(prefix="pdb-yardstick-") as folder:
            c = C(numba, path, Path(folder), compiler, shlex.split(arguments.cflags))
            record = compare(label, [numba, c], arguments.rounds)
        compiled = shlex.join([*compiler, *shlex.split(arguments.cflags)])
        yield label, {"table": database.header.spec.partition.name, "set": name, "compiler": compiled, **record}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the search with the same search in C.")
    parser.add_argument(
        "tables", nargs="*", default=["78"], metavar="TABLE",
        help="table files, or partitions of the 4x4 board, which are built in bits (default: 78)",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", metavar="SET", help=f"an instance set; repeat the option (default: {' '.join(SETS)})"
    )
    parser.add_argument("--boards", type=int, metavar="N", help="N random boards instead of instance sets")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each search (default: 5)")
    parser.add_argument("--load", choices=LOAD_MODES, default="huge", help="load mode of the table (default: huge)")
    parser.add_argument(
        "--cflags", default=shlex.join(FLAGS), help=f"options of the C compiler (default: {shlex.join(FLAGS)})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to a file")
    arguments = parser.parse_args()
    compiler = find_compiler()
    if compiler is None:
        print("no C compiler (CC, cc or gcc): the search is not compared with C", file=sys.stderr)
        return
    records = []
    for name in arguments.tables:
        with table_file(name) as path, open_database(path, load=arguments.load) as database:
            for label, record in compare_table(path, database, arguments, compiler):
                records.append(record)
                print_record(label, record)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
