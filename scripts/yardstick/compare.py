"""Compare the speed of the search engine with the same search in C.

Run by `scripts/bench --yardstick`, or directly:

    python scripts/yardstick/compare.py 78.h5 --rounds 5 --json yardstick.json

Both search the same boards on one thread, in turns. search.c has the design of the vector stages of the engine, and is
compiled for each table file, by CC with CFLAGS. Both visit nodes in the same order, so each threshold must have the
same nodes. The times are processor time of the search. Those of numba include the lookup of the roots, which C reads
from a file. Ratios are medians over the rounds.
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
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pdb_core.puzzle import Tiles, parse_goal, random_boards
from pdb_query import Database, open_database, read_instances
from solver import Solver
from solver.engine import layout
from solver.engine.ida_star import IdaStar
from solver.engine.vector_round_kernels import VectorStages

SOURCE = Path(__file__).parent / "search.c"
FLAGS = "-O3 -march=native"
SETS = ("random1000", "hardest80")
# The ratio of seconds, in the JSON file.
RATIO = "numba/C"


class Threshold(NamedTuple):
    """Nodes of one threshold of one board."""

    threshold: int
    generated: int
    expanded: int
    is_found: bool


class Run(NamedTuple):
    """One search of all boards: the thresholds of each board, and the seconds of all."""

    boards: list[list[Threshold]]
    seconds: float


def run_numba(ida_star: IdaStar, boards: Sequence[Tiles]) -> Run:
    """Search the boards by the engine of this version."""
    start = time.thread_time()
    *_, found = ida_star.search_many(boards)
    seconds = time.thread_time() - start
    lengths = found.lengths.tolist()
    return Run(
        [
            [Threshold(at.threshold, at.generated, at.expanded, at.threshold == length) for at in found.iterations(row)]
            for row, length in enumerate(lengths)
        ],
        seconds,
    )


def run_c(program: Path, content: Path) -> Run:
    """Run a compiled search.c on the boards."""
    result = subprocess.run([program, content], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"the search in C failed: {result.stderr.strip()}")
    *lines, last = result.stdout.splitlines()
    boards: dict[int, list[Threshold]] = {}
    for line in lines:
        board, threshold, generated, expanded, is_found = map(int, line.split())
        boards.setdefault(board, []).append(Threshold(threshold, generated, expanded, bool(is_found)))
    return Run(list(boards.values()), float(last.split()[1]))


def find_compiler() -> list[str] | None:
    """Return the command of a C compiler: `CC`, or cc, or gcc; None if there is none."""
    candidates = (shlex.split(os.environ.get("CC", "")), ["cc"], ["gcc"])
    command = next((words for words in candidates if words and shutil.which(words[0])), None)
    return command and [*command, *shlex.split(os.environ.get("CFLAGS", FLAGS))]


def compile_c(compiler: Sequence[str], ida_star: IdaStar, program: Path) -> None:
    """Compile search.c for the tables of an engine."""
    tables = ida_star.engine.tables
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
    subprocess.run([*compiler, "-Wno-psabi", *defines, "-o", str(program), str(SOURCE)], check=True)


def write_input(path: Path, ida_star: IdaStar, boards: Sequence[Tiles], table: Path) -> None:
    """Write the arrays that `main` of search.c reads: the size in bytes of each, int64, and its content."""
    engine = ida_star.engine
    tables, stages, roots = engine.tables, engine.stages, engine.roots(boards)
    units = tables.sums[0, layout.SUM_FIELDS :].reshape(-1, layout.UNIT_FIELDS)
    scalars = (tables.batch, tables.n_columns, stages.all_cells, stages.between, len(boards))
    n_states = len(engine.fsm.successors)
    with path.open("wb") as file:
        _write_array(file, scalars, np.int64)
        for field in (layout.TABLE_BIT, layout.ROW_BITS, layout.FIRST_DIGIT):
            _write_array(file, units[:, field], np.uint32)
        for field in (layout.FRAME, layout.STEPS):
            _write_array(file, [_at(address, 16, np.uint32) for address in tables.sums[:, field].tolist()], np.uint32)
        _write_array(file, _at(tables.legal, 64, np.uint32), np.uint32)
        _write_array(file, _at(tables.steps, 16, np.uint32), np.uint32)
        _write_array(file, _at(stages.sets, 1 << tables.n_cells, np.uint64), np.uint64)
        _write_array(file, _at(stages.jumps, 2 * layout.JUMPS_UPWARD, np.uint16), np.uint16)
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


def compare(
    label: str, ida_star: IdaStar, boards: Sequence[Tiles], table: Path, compiler: Sequence[str], n_rounds: int
) -> dict[str, Any]:
    """Let the two search the boards in turns, print and return the figures. Exit if their nodes differ."""
    runs: dict[str, list[Run]] = {"numba": [], "C": []}
    with tempfile.TemporaryDirectory(prefix="pdb-yardstick-") as folder:
        program, content = Path(folder) / "search", Path(folder) / "input"
        compile_c(compiler, ida_star, program)
        write_input(content, ida_star, boards, table)
        run_numba(ida_star, boards)  # compiles kernels, or loads them
        for _ in range(n_rounds):
            runs["numba"].append(run_numba(ida_star, boards))
            runs["C"].append(run_c(program, content))
            check_same(label, runs["numba"][-1], runs["C"][-1])
    nodes = [at for board in runs["C"][0].boards for at in board]
    generated = sum(at.generated for at in nodes)
    complete = sum(at.generated for at in nodes if not at.is_found)
    record: dict[str, Any] = {"boards": len(boards), "complete": complete, "generated": generated}
    print(f"{label}: {len(boards)} boards, {complete:,} nodes in complete thresholds, {generated:,} nodes")
    for name, rounds in runs.items():
        record[name] = statistics.median(run.seconds for run in rounds)
        print(f"  {name:<6} {record[name]:9.3f} s {generated / record[name] / 1e6:8.2f} million nodes/s")
    record[RATIO] = statistics.median(ours.seconds / c.seconds for ours, c in zip(*runs.values(), strict=True))
    print(f"  ratio of seconds: {RATIO} {record[RATIO]:.3f}", flush=True)
    return record


def check_same(label: str, numba: Run, c: Run) -> None:
    """Exit with a message if the two searched different nodes."""
    for board, (ours, theirs) in enumerate(zip(numba.boards, c.boards, strict=True)):
        if ours != theirs:
            sys.exit(f"{label}: the nodes of numba and C differ on board {board}: {ours} and {theirs}")


def sets_of_boards(database: Database, n_random: int | None) -> Iterator[tuple[str, list[Tiles]]]:
    """Yield the boards of each of `SETS`, mapped to the goal of the tables, or `n_random` random boards."""
    if n_random:
        sample = random_boards(database.size, database.goal, n_random, seed=1)
        yield "random", [board for board in map(tuple, sample.tolist()) if board != database.goal]
        return
    for name in SETS:
        instances = [instance for instance in read_instances(name, None) if instance.size == database.size]
        goals = [parse_goal(instance.goal or "blank-last", instance.size) for instance in instances]
        pairs = zip(instances, goals, strict=True)
        yield name, [database.mappings(goal)[0].apply(instance.board) for instance, goal in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the search with the same search in C.")
    parser.add_argument("tables", nargs="+", type=Path, metavar="TABLE", help="table files of additive tables in bits")
    parser.add_argument("--boards", type=int, metavar="N", help=f"N random boards instead of {' and '.join(SETS)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each search (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to a file")
    arguments = parser.parse_args()
    compiler = find_compiler()
    if compiler is None:
        print("no C compiler (CC, cc or gcc): the search is not compared with C", file=sys.stderr)
        return
    records = []
    for path in arguments.tables:
        with open_database(path, load="huge") as database:
            ida_star = Solver(database).ida_star
            if not isinstance(ida_star.engine.stages, VectorStages):
                sys.exit(f"{path} cannot be searched by the vector stages; give additive tables in bits of <= 16 cells")
            for name, boards in sets_of_boards(database, arguments.boards):
                label = f"{path.stem}, {name}"
                record = compare(label, ida_star, boards, path, compiler, arguments.rounds)
                records.append({"table": path.stem, "set": name, "compiler": shlex.join(compiler), **record})
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
