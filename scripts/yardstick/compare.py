"""How near numba comes to C: the same search of the same boards by both, in turns, on one thread.

Run by `scripts/bench --yardstick`, or by a person:

    python scripts/yardstick/compare.py 663.h5 78.h5 --rounds 5 --json yardstick.json

search.c is compiled for each database. Lengths and the nodes of every finished threshold must be the same; then only
the seconds differ. They are processor time, so that other work on the machine disturbs them less, and the ratio is the
median over the rounds, each of which has its own: figures of different runs do not compare.

Random boards take a millisecond each with good tables, and then numba's figures hold what Python does for each board
and threshold, which C has not. The boards of `--set hardest80` take so long that only the kernel counts.
"""

import argparse
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
from solver.ida_star.ida_star import IdaStar

from pdb_build import build_database, plan_build
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import Board, blank_last, parse_goal, parse_size, random_boards
from pdb_query import Database, open_database, read_instances
from solver.ida_star import search_tables as layout
from solver.move_pruning.move_pruning import DEFAULT_LENGTH, move_machine

SOURCE = Path(__file__).with_name("search.c")
FLAGS = ("-O3", "-march=native")
MODES = ("dfs", "lanes")

# The fields of `struct unit` and `struct edge`, in their order there.
_UNIT = (
    layout.TABLE, layout.ROW_BITS, layout.ENTRY_SHIFT, layout.LOW, layout.HIGH, layout.BLOCKS, layout.BLOCKS,
    layout.REGIONS, layout.PREFIX, layout.SUFFIX, layout.LABEL_BITS, layout.PREFIX_BITS, layout.N_SUFFIXES,
)  # fmt: skip
_UNIT_TABLE, _UNIT_IS_BITS = 0, 5
_EDGE = (layout.BOTH_CELLS, layout.CELLS_BETWEEN, layout.CELLS_BELOW, layout.IS_UPWARD, layout.LEFT_CELL)


@dataclass(frozen=True)
class Threshold:
    """What a search says of one threshold of one board."""

    threshold: int
    generated: int
    expanded: int
    is_found: bool


@dataclass(frozen=True)
class Run:
    """One search of all boards: the thresholds of each, and the seconds of all."""

    boards: tuple[tuple[Threshold, ...], ...]
    seconds: float

    @property
    def nodes_per_second(self) -> float:
        return sum(at.generated for board in self.boards for at in board) / self.seconds


class SearchFromRoots(IdaStar):
    """`IdaStar` that has looked up some boards beforehand, as it is done for C: what is compared is the search."""

    def set_lanes(self, n_lanes: int) -> None:
        """Search in another number of lanes than the size of the tables suggests."""
        self._tables = self._tables._replace(n_lanes=n_lanes)

    def look_up(self, boards: Sequence[Board]) -> None:
        """Look up `boards`, the only ones that are to be searched."""
        self._roots = {board: super(SearchFromRoots, self).words_and_sums(board) for board in boards}

    def words_and_sums(self, board: Board) -> tuple[Any, Any]:
        return self._roots[board]


def find_compiler() -> list[str] | None:
    """The command of a C compiler: `CC`, or cc, or gcc; None where there is none."""
    command = shlex.split(os.environ.get("CC", ""))
    for candidate in (command, ["cc"], ["gcc"]):
        if candidate and shutil.which(candidate[0]) is not None:
            return candidate
    return None


def compile_search(compiler: Sequence[str], flags: Sequence[str], tables: layout.SearchTables, program: Path) -> None:
    """Compile search.c for the sizes of `tables`."""
    sizes = {"N_CELLS": tables.n_cells, "N_SUMS": tables.n_sums, "N_UNITS": tables.n_units}
    defines = [f"-D{name}={value}" for name, value in sizes.items()]
    subprocess.run([*compiler, *flags, *defines, "-o", str(program), str(SOURCE)], check=True)


def write_input(path: Path, database: Database, ida_star: SearchFromRoots, boards: Sequence[Board]) -> None:
    """What `read_input` of search.c reads: each array as its size in bytes, int64, and its bytes."""
    tables = ida_star.tables
    if tables.shares_tables:
        sys.exit(f"{database.path} has patterns that share a table, which search.c knows nothing of")
    memory = database.lookup_tables.memory
    units = tables.units.reshape(-1, layout.UNIT_FIELDS)[:, _UNIT]
    units[:, _UNIT_TABLE] -= 8 * memory.ctypes.data
    units[:, _UNIT_IS_BITS] = units[:, _UNIT_IS_BITS] >= 0
    roots = [ida_star.words_and_sums(board) for board in boards]
    with path.open("wb") as file:
        _write_array(file, [tables.n_lanes, tables.orders_children], np.int64)
        _write_array(file, memory, np.uint8)
        _write_array(file, tables.set_ranks, np.int32)
        _write_array(file, tables.order_ranks, np.uint16)
        _write_array(file, tables.first_block, np.int32)
        _write_array(file, tables.region_numbers, np.uint8)
        _write_array(file, tables.successors, np.int16)
        _write_array(file, tables.allowed, np.uint8)
        _write_array(file, units, np.int64)
        _write_array(file, tables.edges.reshape(-1, layout.EDGE_FIELDS)[:, _EDGE], np.int64)
        for small in (tables.edge_cells, tables.cell_moves, tables.unit_of_tile, tables.sum_is_bits):
            _write_array(file, small, np.uint8)
        _write_array(file, boards, np.uint8)
        _write_array(file, [words for words, _sums in roots], np.int64)
        _write_array(file, [sums for _words, sums in roots], np.int64)


def _write_array(file: BinaryIO, array: Any, dtype: type[np.generic]) -> None:
    content = np.ascontiguousarray(array, dtype=dtype)
    file.write(np.int64(content.nbytes).tobytes())
    file.write(content.data)


def run_numba(ida_star: IdaStar, boards: Sequence[Board]) -> Run:
    """Search all boards with the kernel."""
    found = []
    start = time.thread_time()
    for board in boards:
        found.append(ida_star.search(board))
    seconds = time.thread_time() - start
    return Run(
        tuple(
            tuple(
                Threshold(at.threshold, at.generated, at.expanded, at is result.iterations[-1])
                for at in result.iterations
            )
            for result in found
        ),
        seconds,
    )


def run_c(program: Path, input_file: Path, mode: str) -> Run:
    """Search all boards with the compiled program, in a process of its own."""
    output = subprocess.run([program, input_file, mode], check=True, capture_output=True, text=True).stdout
    boards: list[tuple[Threshold, ...]] = []
    thresholds: list[Threshold] = []
    total = 0.0
    for line in output.splitlines():
        _board, *words = line.split()
        if words[0] == "seconds":
            boards.append(tuple(thresholds))
            thresholds = []
            total += float(words[1])
        else:
            threshold, generated, expanded, is_found = map(int, words)
            thresholds.append(Threshold(threshold, generated, expanded, bool(is_found)))
    return Run(tuple(boards), total)


def difference(numba: Run, c: Run, mode: str, n_lanes: int) -> str | None:
    """Where two searches differ that must not, or None.

    The threshold that finds the goal ends early, after as many nodes only where the order is the same: with the same
    lanes.
    """
    has_same_order = mode == "lanes" or n_lanes == 1
    for board, (ours, theirs) in enumerate(zip(numba.boards, c.boards, strict=True)):
        if [at.threshold for at in ours] != [at.threshold for at in theirs]:
            return f"board {board}: thresholds {ours} with numba, {theirs} with C ({mode})"
        for at, other in zip(ours, theirs, strict=True):
            if at.is_found != other.is_found or ((has_same_order or not at.is_found) and at != other):
                return f"board {board}: {at} with numba, {other} with C ({mode})"
    return None


def boards_of_sets(database: Database, names: Sequence[str]) -> list[Board]:
    """The boards of some instance sets that are of the database's size, in its own terms."""
    instances = [instance for name in names for instance in read_instances(name, None)]
    return [
        database.mappings(parse_goal(instance.goal or "blank-last", instance.size))[0].apply(instance.board)
        for instance in instances
        if instance.size == database.size
    ]


def compare(
    name: str,
    database: Database,
    boards: Sequence[Board],
    *,
    n_lanes: int | None,
    n_rounds: int,
    compiler: Sequence[str],
    flags: Sequence[str],
) -> list[dict[str, Any]]:
    """Search boards with numba and with C, in turns; a record for each mode of C. The goal must not be among them.

    `n_lanes` is the kernel's own choice where it is None.

    Raises `SystemExit` where the searches are not the same.
    """
    heuristics = [layout.Heuristic(database.lookup_tables, database.views())]
    ida_star = SearchFromRoots(database.size, heuristics, move_machine(DEFAULT_LENGTH), orders_children=True)
    if n_lanes is not None:
        ida_star.set_lanes(n_lanes)
    n_lanes = ida_star.tables.n_lanes
    ida_star.look_up(boards)
    numba_runs: list[Run] = []
    c_runs: dict[str, list[Run]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory(prefix="pdb-yardstick-") as folder:
        program, input_file = Path(folder) / "search", Path(folder) / "input"
        compile_search(compiler, flags, ida_star.tables, program)
        write_input(input_file, database, ida_star, boards)
        ida_star.search(boards[0])  # loads or compiles the kernels
        for _ in range(n_rounds):
            numba_runs.append(run_numba(ida_star, boards))
            for mode in MODES:
                c_runs[mode].append(run_c(program, input_file, mode))
                different = difference(numba_runs[-1], c_runs[mode][-1], mode, n_lanes)
                if different is not None:
                    sys.exit(f"{name}: not the same search: {different}")
    return [
        {
            "database": name,
            "mode": mode if mode == "dfs" else f"lanes ({n_lanes})",
            "boards": len(boards),
            "generated": sum(at.generated for board in numba_runs[0].boards for at in board),
            "lanes": n_lanes,
            "numba_nodes_per_second": statistics.median(run.nodes_per_second for run in numba_runs),
            "c_nodes_per_second": statistics.median(run.nodes_per_second for run in runs),
            "ratio": statistics.median(
                c.nodes_per_second / numba.nodes_per_second for numba, c in zip(numba_runs, runs, strict=True)
            ),
            "all_ratios": [
                c.nodes_per_second / numba.nodes_per_second for numba, c in zip(numba_runs, runs, strict=True)
            ],
            "compiler": shlex.join([*compiler, *flags]),
        }
        for mode, runs in c_runs.items()
    ]


@contextmanager
def opened(name: str, encoding: str) -> Iterator[Database]:
    """The database of a table file, or of a partition of the 4x4 board, which is built. Copied into memory."""
    with tempfile.TemporaryDirectory(prefix="pdb-yardstick-") as folder:
        path = Path(name)
        if not path.is_file():
            path = Path(folder) / "table.h5"
            size = parse_size("4x4")
            goal = blank_last(size)
            build_database(plan_build(size, goal, parse_partition(name, size, goal), path, encoding=encoding))  # type: ignore[arg-type]
        with open_database(path, load="copy") as database:
            yield database


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the search with the same search in C.")
    parser.add_argument(
        "databases", nargs="*", default=["663", "78"], metavar="DATABASE",
        help="table files, or partitions of the 4x4 board, which are built (default: 663 78)",
    )  # fmt: skip
    parser.add_argument("--encoding", choices=("bits", "bytes"), default="bits", help="of partitions that are built")
    parser.add_argument("--boards", type=int, default=300, help="random boards (default: 300)")
    parser.add_argument(
        "--set", action="append", metavar="SET",
        help="an instance set instead; hardest80 takes so long that the figures are those of the kernel alone",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="runs of each search (default: 3)")
    parser.add_argument("--lanes", type=int, help="lanes of both searches (default: the kernel's own choice)")
    parser.add_argument("--cflags", default=shlex.join(FLAGS), help=f"of the C compiler (default: {shlex.join(FLAGS)})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to a file")
    arguments = parser.parse_args()
    compiler = find_compiler()
    if compiler is None:
        print("no C compiler (CC, cc or gcc): the search is not compared with C", file=sys.stderr)
        return
    print(f"{'database':<24} {'C':<10} {'numba':>12} {'C':>12} {'C/numba':>8}   million nodes/s, median of rounds")
    records = []
    for name in arguments.databases:
        with opened(name, arguments.encoding) as database:
            label = f"{database.header.partition.name} {database.encoding}"
            if arguments.set:
                boards = boards_of_sets(database, arguments.set)
            else:
                sample = random_boards(database.size, database.goal, arguments.boards, seed=1)
                boards = [board for board in map(tuple, sample.tolist()) if board != database.goal]
            for record in compare(
                label,
                database,
                boards,
                n_lanes=arguments.lanes,
                n_rounds=arguments.rounds,
                compiler=compiler,
                flags=shlex.split(arguments.cflags),
            ):
                records.append(record)
                print(
                    f"{record['database']:<24} {record['mode']:<10} {record['numba_nodes_per_second'] / 1e6:12.2f} "
                    f"{record['c_nodes_per_second'] / 1e6:12.2f} {record['ratio']:8.3f}",
                    flush=True,
                )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
