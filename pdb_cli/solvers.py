"""Solvers of the commands: the search method that options choose, and a solver for each board size and goal."""

import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pdb_cli.answers import APPROXIMATE
from pdb_cli.databases import OpenDatabases
from pdb_cli.options import AlgorithmOptions, IdaStarOptions, parse_bytes
from pdb_core.errors import InputError
from solver.algorithms import ALGORITHMS, IDA_STAR, WEIGHTED_A_STAR

if TYPE_CHECKING:
    from pdb_core.puzzle import Board, BoardSize
    from solver import Checkpoint, GraphSolver, HeuristicSolver, Limits, Solution, Solver, WorkerPool
    from solver.progress import Report

DATABASES = "db"
_DEFAULT_HEURISTIC = "manhattan"
_DEFAULT_WEIGHT = 1.5
_AnySolver = TypeVar("_AnySolver")


@dataclass(frozen=True)
class Method:
    """Search method: the algorithm and its settings.

    `heuristics` are those beside the databases. With `reflects`, tables are looked up for the reflected board too.
    """

    search: str = IDA_STAR
    uses_databases: bool = True
    heuristics: tuple[str, ...] = ()
    weight: float = _DEFAULT_WEIGHT
    memory_limit_bytes: int | None = None
    plain: bool = False
    reflects: bool = True
    frontier_bytes: int | None = None

    @property
    def stores_nodes(self) -> bool:
        """Return True if the search stores the nodes it generates."""
        return self.search in ALGORITHMS and ALGORITHMS[self.search].stores_nodes

    @property
    def heuristic(self) -> str | None:
        """Return the heuristic as it is written on the command line, None if there is none."""
        names = ((DATABASES,) if self.uses_databases else ()) + self.heuristics
        return (names[0] if len(names) == 1 else f"max({','.join(names)})") if names else None


def parse_method(
    options: AlgorithmOptions,
    db: list[Path] | None,
    ida_star: IdaStarOptions | None = None,
    *,
    reflects: bool = True,
) -> Method:
    """Return the method of these options. Raises `InputError` if they exclude each other."""
    ida_star = ida_star or IdaStarOptions()
    search = options.algorithm
    _check_options(options, db, ida_star)
    names: tuple[str, ...] = ()
    if ALGORITHMS[search].uses_heuristic:
        heuristic = options.heuristic or (DATABASES if db else _DEFAULT_HEURISTIC)
        # The names of other heuristics are checked only if needed: that imports numba.
        names = (DATABASES,) if heuristic == DATABASES else _parse_names(heuristic)
    others = tuple(name for name in names if name != DATABASES)
    if db and DATABASES not in names:
        raise InputError(f"--heuristic {options.heuristic} does not use the tables of --db; give max(db,...)")
    if search == IDA_STAR and others and DATABASES in names:
        raise InputError(
            "IDA* uses either tables or other heuristics; additive tables are never below the Manhattan distance. For "
            "the maximum of both give --algorithm a-star"
        )
    return Method(
        search=search,
        uses_databases=DATABASES in names,
        heuristics=others,
        weight=_DEFAULT_WEIGHT if options.weight is None else options.weight,
        memory_limit_bytes=None if options.memory_limit is None else parse_bytes(options.memory_limit),
        plain=options.plain,
        reflects=reflects,
        frontier_bytes=frontier_bytes(ida_star),
    )


def frontier_bytes(ida_star: IdaStarOptions) -> int | None:
    """Return the memory of --frontier-memory, None if it is not given. Raises `InputError`."""
    if ida_star.frontier_memory is None:
        return None
    if ida_star.all_solutions:
        raise InputError("--frontier-memory cannot be combined with --all")
    return parse_bytes(ida_star.frontier_memory)


def _check_options(options: AlgorithmOptions, db: list[Path] | None, ida_star: IdaStarOptions) -> None:
    """Raise `InputError` for an unknown algorithm, and for options that it does not have."""
    search = options.algorithm
    if search not in ALGORITHMS:
        raise InputError(f"algorithm {search!r} is not one of {', '.join(ALGORITHMS)}")
    if not ALGORITHMS[search].uses_heuristic:
        _refuse({"--heuristic": options.heuristic, "--db": db}, f"--algorithm {search} uses no heuristic")
    if search != IDA_STAR:
        only = {
            "--plain": options.plain, "--all": ida_star.all_solutions, "--frontier-memory": ida_star.frontier_memory
        }  # fmt: skip
        _refuse(only, f"it needs --algorithm {IDA_STAR}")
    else:
        _refuse({"--memory-limit": options.memory_limit}, "IDA* stores no nodes")
    if search != WEIGHTED_A_STAR:
        _refuse({"--weight": options.weight}, f"it needs --algorithm {WEIGHTED_A_STAR}")
    if options.plain:
        _refuse({"--frontier-memory": ida_star.frontier_memory}, "it cannot be combined with --plain")


def _parse_names(heuristic: str) -> tuple[str, ...]:
    from solver.heuristics import parse_heuristic

    return parse_heuristic(heuristic, also=(DATABASES,))


def _refuse(options: Mapping[str, object], why: str) -> None:
    for name, value in options.items():
        if value:
            raise InputError(f"{name} cannot be given here: {why}")


class Solvers:
    """Solvers of a method, one for each board size and goal, made when first needed. Thread-safe."""

    def __init__(self, databases: OpenDatabases, method: Method, *, n_at_a_time: int) -> None:
        """`n_at_a_time` boards share the memory limits."""
        self.method = method
        self._databases, self._n_at_a_time = databases, n_at_a_time
        self._lock = threading.Lock()
        self._made: dict[Hashable, Any] = {}

    def solve(
        self,
        board: "Board",
        size: "BoardSize",
        goal: "Board",
        limits: "Limits",
        report: "Report",
        pool: "WorkerPool | None",
        checkpoint: "Checkpoint",
    ) -> "Solution":
        """Return a solution of a board; IDA* uses the checkpoint. Raises what the solvers raise."""
        from solver import find_suboptimal_solution

        if self.method.search == APPROXIMATE:
            return find_suboptimal_solution(board, goal, size, time_limit=limits.seconds)
        if self.method.stores_nodes:
            return self._graph_solver(size, goal).solve(board, limits=limits, report=report)
        solver = self.ida_star_solver(size, goal)
        return solver.solve(board, goal, limits=limits, report=report, pool=pool, checkpoint=checkpoint)

    def ida_star_solver(self, size: "BoardSize", goal: "Board") -> "Solver | HeuristicSolver":
        """Return the solver by IDA* for boards of that size and goal. Raises `InputError`, `TableMismatchError`."""
        return self._heuristic_solver(size, goal) if self.method.heuristics else self.table_solver(size, goal)

    def table_solver(self, size: "BoardSize", goal: "Board") -> "Solver":
        """Return the solver by IDA* with tables. Raises `TableMismatchError`, `InputError`."""
        from solver import Solver

        method, databases = self.method, self._databases.databases_for(size, goal)
        return self._solver(
            databases,
            lambda: Solver(
                *databases,
                plain=method.plain,
                reflects=method.reflects,
                frontier_bytes=self._share(method.frontier_bytes),
            ),
        )

    def _heuristic_solver(self, size: "BoardSize", goal: "Board") -> "HeuristicSolver":
        from solver import HeuristicSolver

        method = self.method
        return self._solver(
            (size, goal),
            lambda: HeuristicSolver(
                size, goal, method.heuristics, plain=method.plain, frontier_bytes=self._share(method.frontier_bytes)
            ),
        )

    def _graph_solver(self, size: "BoardSize", goal: "Board") -> "GraphSolver":
        from pdb_core.resources import available_memory
        from solver import GraphSolver

        method = self.method
        databases = self._databases.databases_for(size, goal) if method.uses_databases else ()
        limit = method.memory_limit_bytes
        if limit is None and self._n_at_a_time > 1:
            limit = available_memory() * 3 // 4 or None
        return self._solver(
            (size, goal),
            lambda: GraphSolver(
                size,
                goal,
                search=method.search,
                heuristics=method.heuristics,
                databases=databases,
                weight=method.weight,
                memory_limit_bytes=self._share(limit),
            ),
        )

    def _solver(self, key: Hashable, make: Callable[[], _AnySolver]) -> _AnySolver:
        """Return the solver of a key, made the first time."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            solver: _AnySolver = self._made[key]
            return solver

    def _share(self, n_bytes: int | None) -> int | None:
        """Return the share of one board of a memory limit."""
        return None if n_bytes is None else n_bytes // self._n_at_a_time
