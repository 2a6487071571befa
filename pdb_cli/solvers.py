"""Which solver answers for a board: what --search, --heuristic and --db ask for."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdb_cli.databases import OpenDatabases
from pdb_cli.options import parse_bytes
from pdb_core.errors import InputError, UnsolvableError
from solver.algorithms import ALGORITHMS, IDA_STAR, WEIGHTED_A_STAR

if TYPE_CHECKING:
    from pdb_core.puzzle import Board, BoardSize
    from pdb_query import Database
    from solver import Checkpoint, GraphSolver, HeuristicSolver, Iteration, Limits, Solution, Solver, WorkerPool

    Report = Callable[[Iteration], None]

DATABASES = "db"
_DEFAULT_WEIGHT = 1.5

SearchOption = Annotated[str, typer.Option("--search", metavar="NAME", help=f"{', '.join(ALGORITHMS)}.")]
HeuristicOption = Annotated[
    str | None,
    typer.Option(
        "--heuristic",
        metavar="NAME",
        help="db (the tables; the default), misplaced, manhattan, corner-tiles, last-move, linear-conflict, "
        "korf-taylor, walking-distance, pairs, triples, or the largest of several: max(a,b).",
        show_default=False,
    ),
]
WeightOption = Annotated[
    float | None,
    typer.Option("--weight", metavar="W", help=f"Of weighted-a-star: at most W times the shortest; {_DEFAULT_WEIGHT}."),
]
MemoryLimitOption = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="What searches that keep their boards may use, such as 8G; three quarters of what is free.",
        show_default=False,
    ),
]
FrontierMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--frontier-memory",
        metavar="SIZE",
        help="Keep nodes near the root in so much memory, such as 8G, and search hard boards in a better order.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Method:
    """How boards are to be solved. `heuristics` are those beside the databases, which are asked about reflections too
    where `reflects`.
    """

    search: str
    uses_databases: bool
    heuristics: tuple[str, ...]
    weight: float
    memory_limit_bytes: int | None
    plain: bool
    reflects: bool = True
    frontier_bytes: int | None = None

    @property
    def keeps_nodes(self) -> bool:
        return self.search != IDA_STAR

    @property
    def heuristic(self) -> str | None:
        """What is asked, as it is written on the command line."""
        names = ((DATABASES,) if self.uses_databases else ()) + self.heuristics
        return (names[0] if len(names) == 1 else f"max({','.join(names)})") if names else None


def parse_method(
    search: str,
    heuristic: str | None,
    db: list[Path] | None,
    weight: float | None = None,
    memory_limit: str | None = None,
    *,
    plain: bool = False,
    reflects: bool = True,
    finds_all: bool = False,
    frontier_memory: str | None = None,
) -> Method:
    """The method of these options. Raises `InputError` where they do not go together."""
    if search not in ALGORITHMS:
        raise InputError(f"search {search!r} is not one of {', '.join(ALGORITHMS)}")
    if not ALGORITHMS[search].uses_heuristic:
        _refuse({"--heuristic": heuristic, "--db": db}, f"--search {search} asks no heuristic")
    if search != IDA_STAR:
        _refuse(
            {"--plain": plain, "--all": finds_all, "--frontier-memory": frontier_memory},
            "it goes with --search ida-star",
        )
    if search != WEIGHTED_A_STAR:
        _refuse({"--weight": weight}, f"it goes with --search {WEIGHTED_A_STAR}")
    if search == IDA_STAR:
        _refuse({"--memory-limit": memory_limit}, "IDA* needs next to no memory")
    if plain or finds_all:
        _refuse({"--frontier-memory": frontier_memory}, "it does not go with --plain, nor with --all")
    names: tuple[str, ...] = ()
    if ALGORITHMS[search].uses_heuristic:
        # Names are checked here only where they are needed: it takes numba to know them all.
        names = (DATABASES,) if heuristic in (None, DATABASES) else _parse_names(heuristic or "")
    others = tuple(name for name in names if name != DATABASES)
    if db and DATABASES not in names:
        raise InputError(f"--heuristic {heuristic} does not ask the tables of --db; say --heuristic 'max(db,...)'")
    if search == IDA_STAR and others and DATABASES in names:
        raise InputError(
            "IDA* asks either the tables or other heuristics, and additive tables are never below Manhattan distance; "
            "for the largest of both say --search a-star"
        )
    return Method(
        search=search,
        uses_databases=DATABASES in names,
        heuristics=others,
        weight=_DEFAULT_WEIGHT if weight is None else weight,
        memory_limit_bytes=None if memory_limit is None else parse_bytes(memory_limit),
        plain=plain,
        reflects=reflects,
        frontier_bytes=None if frontier_memory is None else parse_bytes(frontier_memory),
    )


def _parse_names(heuristic: str) -> tuple[str, ...]:
    from solver.heuristics import parse_heuristic

    return parse_heuristic(heuristic, also=(DATABASES,))


def _refuse(options: dict[str, object], why: str) -> None:
    for name, value in options.items():
        if value:
            raise InputError(f"{name} cannot be given here: {why}")


class Solvers:
    """The solvers of a method, one for each size and goal, made when a board asks for one. Thread-safe."""

    def __init__(self, databases: OpenDatabases, method: Method, *, n_at_a_time: int) -> None:
        """`n_at_a_time` boards are going to share the memory limit."""
        self._databases, self._method, self._n_at_a_time = databases, method, n_at_a_time
        self.search, self.heuristic = method.search, method.heuristic
        self._lock = threading.Lock()
        self._of_databases: dict[tuple[Database, ...], Solver] = {}
        self._of_heuristics: dict[tuple[BoardSize, Board], HeuristicSolver] = {}
        self._of_graphs: dict[tuple[BoardSize, Board], GraphSolver] = {}

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
        """Return a solution of a board. IDA* uses the checkpoint. Raises what the solvers raise."""
        if self._method.keeps_nodes:
            return self._graph_solver(size, goal).solve(board, limits=limits, report=report)
        if self._method.heuristics:
            return self._heuristic_solver(size, goal).solve(
                board, limits=limits, report=report, pool=pool, checkpoint=checkpoint
            )
        return self._solver(size, goal).solve(
            board, goal, limits=limits, report=report, pool=pool, checkpoint=checkpoint
        )

    @property
    def solves_batches(self) -> bool:
        """True if `solve_batch` can be called: for IDA* with tables."""
        return self._method.uses_databases and not self._method.keeps_nodes

    def solve_batch(
        self,
        boards: "Sequence[Board]",
        size: "BoardSize",
        goal: "Board",
        report: "Callable[[int, Iteration], None]",
        pool: "WorkerPool | None",
        checkpoints: "Callable[[int], Checkpoint]",
    ) -> "Iterator[list[Solution | UnsolvableError]]":
        """Yield the solutions of boards in lists of those that are ready. Raises what the solvers raise."""
        return self._solver(size, goal).solve_batch(boards, goal, report=report, pool=pool, checkpoints=checkpoints)

    def solve_all(
        self,
        board: "Board",
        size: "BoardSize",
        goal: "Board",
        listed: Callable[[tuple[int, ...]], None] | None,
        limits: "Limits",
        report: "Report",
        pool: "WorkerPool | None",
        checkpoint: "Checkpoint",
    ) -> "Solution":
        """Every shortest solution of a board, by IDA*. Raises what the solvers raise."""
        if self._method.heuristics:
            heuristic_solver = self._heuristic_solver(size, goal)
            return heuristic_solver.solve_all(
                board, listed=listed, limits=limits, report=report, pool=pool, checkpoint=checkpoint
            )
        return self._solver(size, goal).solve_all(
            board, goal, listed=listed, limits=limits, report=report, pool=pool, checkpoint=checkpoint
        )

    def _solver(self, size: "BoardSize", goal: "Board") -> "Solver":
        from solver import Solver

        databases = self._databases.databases_for(size, goal)
        with self._lock:
            if databases not in self._of_databases:
                self._of_databases[databases] = Solver(
                    *databases,
                    plain=self._method.plain,
                    reflects=self._method.reflects,
                    frontier_bytes=self._frontier_bytes(),
                )
            return self._of_databases[databases]

    def _heuristic_solver(self, size: "BoardSize", goal: "Board") -> "HeuristicSolver":
        from solver import HeuristicSolver

        with self._lock:
            if (size, goal) not in self._of_heuristics:
                method = self._method
                self._of_heuristics[size, goal] = HeuristicSolver(
                    size, goal, method.heuristics, plain=method.plain, frontier_bytes=self._frontier_bytes()
                )
            return self._of_heuristics[size, goal]

    def _frontier_bytes(self) -> int | None:
        """Return the frontier memory of one board."""
        in_all = self._method.frontier_bytes
        return None if in_all is None else in_all // self._n_at_a_time

    def _graph_solver(self, size: "BoardSize", goal: "Board") -> "GraphSolver":
        from pdb_core.resources import available_memory
        from solver import GraphSolver

        method = self._method
        databases = self._databases.databases_for(size, goal) if method.uses_databases else ()
        with self._lock:
            if (size, goal) not in self._of_graphs:
                limit = method.memory_limit_bytes
                if limit is None and self._n_at_a_time > 1:
                    limit = available_memory() * 3 // 4 or None
                self._of_graphs[size, goal] = GraphSolver(
                    size,
                    goal,
                    search=method.search,
                    heuristics=method.heuristics,
                    databases=databases,
                    weight=method.weight,
                    memory_limit_bytes=None if limit is None else limit // self._n_at_a_time,
                )
            return self._of_graphs[size, goal]
