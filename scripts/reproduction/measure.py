"""Measure rows: build their tables, solve the boards, keep the results."""

import json
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pdb_build import build_database, plan_build
from pdb_core.jit import program_version
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import Board, BoardSize, blank_last, random_boards
from pdb_query import Database, open_database
from pdb_query.lookup import Int64s
from pdb_study.heuristics import heuristic_values
from scripts.reproduction.dual_lookups import DualSolver, dual_goal
from scripts.reproduction.rows import Row
from solver import HeuristicSolver, Solution, Solver
from solver.engine.worker_pool import in_parallel

SIZE = BoardSize(4, 4)
_H_BOARDS_A_BOARD = 100
_BOARDS_AT_A_TIME = 10_000
GOAL = blank_last(SIZE)
# Blank cells in the goals of the tables. Duals need one in a corner, one inside, and two at an edge: no reflection maps
# an edge cell to itself.
_OWN_BLANK = (15,)
_DUAL_BLANKS = (15, 10, 11, 14)
_AnySolver = Solver | HeuristicSolver | DualSolver


@dataclass(frozen=True)
class Measured:
    """Means over `n_boards` random boards, of h over `n_h_boards`, and their standard errors.

    Seconds are of one thread. `hardest_share` is the share of nodes of the hardest 5 % of the boards.
    """

    name: str
    n_boards: int
    n_h_boards: int
    mean_length: float
    mean_h: float
    mean_h_error: float
    nodes: float
    nodes_error: float
    hardest_share: float
    mean_seconds: float
    table_bytes: int

    @property
    def nodes_per_s(self) -> float:
        return self.nodes / self.mean_seconds


class Record:
    """File of measured rows, one line of JSON each, so that an interrupted run can continue."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, row: Row, n_boards: int, seed: int) -> Measured | None:
        """Return the row if this version of the program has measured it with these boards."""
        if not self._path.exists():
            return None
        wanted = _key(row, n_boards, seed)
        lines = map(json.loads, self._path.read_text(encoding="utf-8").splitlines())
        return next((Measured(**line["measured"]) for line in lines if line["key"] == wanted), None)

    def add(self, row: Row, n_boards: int, seed: int, measured: Measured) -> None:
        line = {"key": _key(row, n_boards, seed), "measured": asdict(measured)}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _key(row: Row, n_boards: int, seed: int) -> list[object]:
    asked = [list(map(list, row.databases)), row.heuristic, row.reflects, row.plain, row.duals]
    return [row.name, *asked, n_boards, seed, program_version()[0]]


def measure(row: Row, n_boards: int, seed: int, *, folder: Path, n_threads: int) -> Measured:
    """Solve the boards of a row, one per thread. Builds missing tables in `folder`."""
    # h needs no search, so its mean is over many more boards. The first of them are solved.
    h_boards = random_boards(SIZE, GOAL, n_boards * _H_BOARDS_A_BOARD, seed).astype(np.uint8)
    boards: list[Board] = [tuple(board.tolist()) for board in h_boards[:n_boards]]
    with ExitStack() as stack:
        databases = [
            stack.enter_context(open_database(_built(name, encoding, folder, blank), load="huge"))
            for name, encoding in row.databases
            for blank in (_DUAL_BLANKS if row.duals else _OWN_BLANK)
        ]
        solver: _AnySolver
        if row.duals:
            solver = DualSolver(*databases, pathmax=True)
            h = solver.values(h_boards)
        elif row.heuristic is not None:
            h = heuristic_values(h_boards, SIZE, GOAL, [row.heuristic])[:, 0]
            solver = HeuristicSolver(SIZE, GOAL, [row.heuristic], plain=row.plain)
        else:
            h = _largest_sums(databases, h_boards, reflects=row.reflects)
            solver = Solver(*databases, plain=row.plain, reflects=row.reflects)
        solutions = list(_watched(_solutions(solver, boards, n_threads), row.name, n_boards))
        table_bytes = sum(entry.n_bytes for database in databases for entry in database.header.tables.values())
    generated = [solution.generated for solution in solutions]
    lengths = [solution.length for solution in solutions if solution.length is not None]
    if len(lengths) != n_boards:
        raise AssertionError(f"{row.name}: {n_boards - len(lengths)} boards were not solved")
    if [solution.h for solution in solutions] != h[:n_boards].tolist():
        raise AssertionError(f"{row.name}: h of the search differs from h of the tables")
    return Measured(
        name=row.name,
        n_boards=n_boards,
        n_h_boards=len(h_boards),
        mean_length=statistics.mean(lengths),
        mean_h=float(h.mean()),
        mean_h_error=_error(h.tolist()),
        nodes=statistics.mean(generated),
        nodes_error=_error(generated),
        hardest_share=sum(sorted(generated)[-max(1, n_boards // 20) :]) / sum(generated),
        mean_seconds=statistics.mean(solution.seconds for solution in solutions),
        table_bytes=table_bytes,
    )


def _solutions(solver: _AnySolver, boards: Sequence[Board], n_threads: int) -> Iterator[Solution]:
    # Without a pool, so that one thread searches a board.
    return in_parallel(boards, lambda board, report, _: solver.solve(board, report=report), n_threads=n_threads)


def _largest_sums(databases: Sequence[Database], boards: npt.NDArray[np.uint8], *, reflects: bool) -> Int64s:
    """Return the largest sum of all databases, with reflections if `reflects`: int64[m]."""
    largest = np.zeros(len(boards), dtype=np.int64)
    for database in databases:
        for start in range(0, len(boards), _BOARDS_AT_A_TIME):
            batch = database.probe_batch(boards[start : start + _BOARDS_AT_A_TIME])
            here = largest[start : start + _BOARDS_AT_A_TIME]
            np.maximum(here, batch.maximum if reflects else batch.sums[:, 0], out=here)
    return largest


def _error(values: Sequence[float]) -> float:
    """Return the standard error of the mean."""
    return statistics.stdev(values) / math.sqrt(len(values))


def _built(name: str, encoding: str, folder: Path, blank: int) -> Path:
    """Return the table file of a partition for the duals of boards with the blank on a cell; build it if missing."""
    goal = dual_goal(GOAL, blank)
    path = folder / (f"{name}-{encoding}.h5" if goal == GOAL else f"{name}-{encoding}-blank-{blank}.h5")
    if not path.exists():
        print(f"building {path}", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        # Named partitions need the blank in a corner, so the tiles are written out.
        tiles = "/".join(str(pattern) for pattern in parse_partition(name, SIZE).patterns)
        partition = parse_partition(name if goal == GOAL else tiles, SIZE)
        build_database(plan_build(SIZE, goal, partition, path, encoding=encoding))  # type: ignore[arg-type]
    return path


def _watched(solutions: Iterator[Solution], name: str, n_boards: int) -> Iterator[Solution]:
    """Yield the solutions, and print progress to stderr every ten seconds."""
    last = time.monotonic()
    for n_done, solution in enumerate(solutions, start=1):
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print(f"{name}: {n_done} of {n_boards} boards", file=sys.stderr, flush=True)
        yield solution
