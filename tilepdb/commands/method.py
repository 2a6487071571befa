"""Search method that options choose, and how it answers boards."""

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdb_core.arguments import as_choice
from pdb_core.errors import InputError
from solver.algorithms import ALGORITHMS, DEFAULT_WEIGHT, IDA_STAR, WEIGHTED_A_STAR
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import AlgorithmOptions, parse_bytes
from tilepdb.commands.output import clock

if TYPE_CHECKING:
    from pdb_core.board_size import BoardSize
    from pdb_core.puzzle import Tiles
    from pdb_query import Database
    from solver import Checkpoint, Limits, Solution, WorkerPool
    from solver.answers.requests import AnswerSource, Hooks, Request
    from solver.progress import Report

    ListSolutions = Callable[[str, tuple[int, ...]], None]

APPROXIMATE = "approximate"
DATABASES = "db"
_DEFAULT_HEURISTIC = "manhattan"


@dataclass(frozen=True)
class Method:
    """Search method: the algorithm and its settings. `heuristics` are those beside the databases."""

    algorithm: str = IDA_STAR
    uses_databases: bool = True
    heuristics: tuple[str, ...] = ()
    weight: float | None = None
    memory_limit_bytes: int | None = None
    plain: bool = False
    all_solutions: bool = False

    @property
    def heuristic(self) -> str | None:
        """Return the heuristic as it is written on the command line, None if there is none."""
        names = ((DATABASES,) if self.uses_databases else ()) + self.heuristics
        return (names[0] if len(names) == 1 else f"max({','.join(names)})") if names else None

    @property
    def search(self) -> str:
        """Return what the method searches with, in words."""
        if self.algorithm == APPROXIMATE:
            return "beam search"
        return f"the search for {'tables' if self.heuristic == DATABASES else self.heuristic or self.algorithm}"

    def logged(self, databases: OpenDatabases) -> dict[str, Any]:
        """Return the settings that all answers in a log share."""
        digests = [database.header.digest() for database in databases.given]
        return {
            "algorithm": self.algorithm,
            "heuristic": self.heuristic,
            "weight": self.weight,
            "plain": self.plain,
            "all": self.all_solutions,
            "tables": (digests or "standard") if self.uses_databases else None,
        }


def parse_method(options: AlgorithmOptions, db: list[Path] | None, *, all_solutions: bool = False) -> Method:
    """Return the method of these options. Raises `InputError` if they do not fit together."""
    algorithm = as_choice(options.algorithm, "--algorithm", ALGORITHMS)
    no_heuristic = f"--algorithm {algorithm} uses no heuristic"
    only_ida_star = f"it needs --algorithm {IDA_STAR}"
    is_ida_star, uses_heuristic = algorithm == IDA_STAR, ALGORITHMS[algorithm].uses_heuristic
    for is_allowed, option, value, why in (
        (uses_heuristic, "--heuristic", options.heuristic, no_heuristic),
        (uses_heuristic, "--db", db, no_heuristic),
        (is_ida_star, "--plain", options.plain, only_ida_star),
        (is_ida_star, "--all", all_solutions, only_ida_star),
        (not is_ida_star, "--memory-limit", options.memory_limit, "IDA* stores no nodes"),
        (algorithm == WEIGHTED_A_STAR, "--weight", options.weight, f"it needs --algorithm {WEIGHTED_A_STAR}"),
    ):
        if value and not is_allowed:
            raise InputError(f"{option} cannot be given here: {why}")
    names: tuple[str, ...] = ()
    if uses_heuristic:
        heuristic = options.heuristic or (DATABASES if db else _DEFAULT_HEURISTIC)
        names = (DATABASES,)
        if heuristic != DATABASES:
            from solver.heuristics import parse_heuristic  # imports numba

            names = parse_heuristic(heuristic, also=(DATABASES,))
    others = tuple(name for name in names if name != DATABASES)
    if db and DATABASES not in names:
        raise InputError(f"--heuristic {options.heuristic} does not use the tables of --db; leave out one of them")
    if is_ida_star and others and DATABASES in names:
        raise InputError("IDA* uses either tables or other heuristics; for the maximum of both give --algorithm a-star")
    return Method(
        algorithm=algorithm,
        uses_databases=DATABASES in names,
        heuristics=others,
        weight=DEFAULT_WEIGHT if algorithm == WEIGHTED_A_STAR and options.weight is None else options.weight,
        memory_limit_bytes=None if options.memory_limit is None else parse_bytes(options.memory_limit),
        plain=options.plain,
        all_solutions=all_solutions,
    )


def search_source(
    method: Method,
    databases: OpenDatabases,
    limits: "Limits",
    hooks: "Hooks",
    *,
    n_threads: int,
    listed: "ListSolutions | None" = None,
) -> "AnswerSource":
    """Return the source of answers that searches by a method in threads of this process.

    `listed` gets all optimal solutions of each board, with its id.
    """
    from solver.answers.sources import BatchAnswers, SingleAnswers

    is_limited = limits.time_limit is not None or limits.max_nodes is not None
    is_ida_star = method.algorithm == IDA_STAR
    solver_for = solvers(method, databases, n_at_a_time=n_threads)
    if is_ida_star and method.uses_databases and not (method.all_solutions or is_limited):
        return BatchAnswers(solver_for, n_threads=n_threads, hooks=hooks)

    def search(request: "Request", report: "Report", pool: "WorkerPool | None", checkpoint: "Checkpoint") -> "Solution":
        if method.algorithm == APPROXIMATE:
            from solver import find_suboptimal_solution  # loads kernels that no other search needs

            used = databases.databases_for(request.size, request.goal) if method.uses_databases else ()
            return find_suboptimal_solution(
                request.board, request.goal, request.size, time_limit=limits.time_limit, databases=used
            )
        solver = solver_for(request.size, request.goal)
        solve, how = solver.solve, {"limits": limits, "report": report}
        if is_ida_star:
            how |= {"goal": request.goal, "pool": pool, "checkpoint": checkpoint}
        if method.all_solutions:
            solve, how["listed"] = solver.solve_all, None if listed is None else functools.partial(listed, request.id)
        solution: Solution = solve(request.board, **how)
        return solution

    return SingleAnswers(search, n_threads=n_threads, hooks=hooks)


def solvers(method: Method, databases: OpenDatabases, *, n_at_a_time: int) -> "Callable[[BoardSize, Tiles], Any]":
    """Return a function that returns the solver for a size and a goal, made when it is first needed. Thread-safe.

    It is a `Solver`, a `HeuristicSolver` or a `GraphSolver`. `n_at_a_time` boards share the memory limits. The function
    raises `TableMismatchError`, `InputError`.
    """
    from pdb_core.resources import available_memory
    from solver import Solver

    limit = method.memory_limit_bytes
    if limit is None and n_at_a_time > 1 and method.algorithm != IDA_STAR:
        limit = available_memory() * 3 // 4
    lock = threading.Lock()

    @functools.cache
    def of_tables(*tables: "Database") -> Solver:
        """Return the solver for tables, which serve several goals."""
        return Solver(*tables, plain=method.plain)

    @functools.cache
    def make(size: "BoardSize", goal: "Tiles") -> Any:
        tables = databases.databases_for(size, goal) if method.uses_databases else ()
        # Each kind of solver loads kernels that the others do not need.
        if method.algorithm != IDA_STAR:
            from solver import GraphSolver

            return GraphSolver(
                size,
                goal,
                algorithm=method.algorithm,
                heuristics=method.heuristics,
                databases=tables,
                weight=method.weight,
                memory_limit_bytes=None if limit is None else limit // n_at_a_time,
            )
        if method.heuristics:
            from solver import HeuristicSolver

            return HeuristicSolver(size, goal, method.heuristics, plain=method.plain)
        return of_tables(*tables)

    def solver_for(size: "BoardSize", goal: "Tiles") -> Any:
        with lock:
            start = clock()
            solver = make(size, goal)
            databases.seconds += clock() - start
            return solver

    return solver_for
