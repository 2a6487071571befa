"""`pdb solve`: shortest solutions."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.any_board import refuse_with_any, solve_any
from pdb_cli.databases import OpenDatabases
from pdb_cli.options import (
    BoardsArgument,
    DatabaseOption,
    FormatOption,
    GoalOption,
    InstancesOption,
    LoadOption,
    SizeOption,
    ThreadsOption,
    boards_asked_for,
    check_load,
    size_hint,
)
from pdb_cli.output import Format, ProgressLine, Record, command, count, message, plural, prepare, write_records
from pdb_core.errors import InputError, LimitReachedError, PdbError, UnsolvableError, WrongAnswerError

if TYPE_CHECKING:
    from pathlib import Path

    from pdb_core.puzzle import Board
    from pdb_query import Database, Instance
    from solver import Crew, Iteration, Limits, Solution, Solver

_COLUMNS = (
    "id", "board", "goal", "solvable", "length", "moves", "optimal", "h", "lower_bound", "generated", "expanded",
    "seconds", "thresholds",
)  # fmt: skip
# In a log, a threshold is told of when it took at least so long.
_LOG_S = 5.0


@command
def solve(
    boards: BoardsArgument = None,
    db: DatabaseOption = None,
    instances: InstancesOption = None,
    goal: GoalOption = None,
    size: SizeOption = None,
    threads: ThreadsOption = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.0, metavar="S", help="Give a board up after so many seconds.")
    ] = None,
    max_nodes: Annotated[
        int | None,
        typer.Option("--max-nodes", min=1, metavar="N", help="Give a board up after so many generated nodes."),
    ] = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="The textbook's IDA*, without pruning of duplicate moves, to compare node counts."
        ),
    ] = False,
    all_solutions: Annotated[
        bool, typer.Option("--all", help="Count all shortest solutions, searching the last threshold to its end.")
    ] = False,
    list_solutions: Annotated[
        bool, typer.Option("--list", help="With --all, write each as it is found; as text or ndjson.")
    ] = False,
    any_size: Annotated[
        bool,
        typer.Option("--any", help="A good solution, not the shortest, of any board up to 32x32, without tables."),
    ] = False,
    load: LoadOption = "map",
    output: FormatOption = Format.text,
) -> None:
    """Find a shortest solution of each board, and prove that it is one.

    Without a board, on a terminal, the 17 hardest boards of the 15-puzzle are solved. Without --db the standard table
    of the board's size is used, and built the first time.
    """
    check_load(load)
    if any_size:
        refuse_with_any(
            {"--db": db, "--max-nodes": max_nodes, "--threads": threads, "--plain": plain, "--all": all_solutions}
        )
    if list_solutions and not all_solutions:
        raise typer.BadParameter("goes with --all", param_hint="--list")
    if list_solutions and output not in (Format.text, Format.ndjson):
        raise typer.BadParameter("writes text or ndjson", param_hint="--list")
    prepare()
    if not boards and instances is None:
        instances = _default_instances(db)
    asked = boards_asked_for(boards, instances, size_hint(db, size))
    if any_size:
        solve_any(asked, goal, time_limit, output, _COLUMNS)
        return
    with OpenDatabases(db, load) as databases:
        listing = _Listing(output) if list_solutions else None
        batch = _Batch(databases, goal, plain, time_limit, max_nodes, all_solutions, listing)
        n_threads = threads or (1 if instances == "-" else _cores())
        write_records(batch.records(asked, n_threads), output, columns=_COLUMNS, text=_text)
    batch.tell_summary()
    if batch.worst is not None:
        raise batch.worst


def _default_instances(db: "list[Path] | None") -> str:
    if not sys.stdin.isatty():
        return "-"
    if db:
        from pdb_query import read_table_header

        size = str(read_table_header(db[0]).size)
        if size != "4x4":
            raise InputError(
                f"give a board: the hardest boards are known for 4x4, the tables in {db[0]} are for {size}"
            )
    message("pdb: no board given: solving the 17 boards of the 15-puzzle that take 80 moves, the most there is")
    return "hardest80"


def _cores() -> int:
    from pdb_core.resources import available_cores

    return available_cores()


class _Batch:
    """Solves boards and remembers the worst that happened: a board that cannot be solved does not stop the others."""

    def __init__(
        self,
        databases: OpenDatabases,
        goal: str | None,
        plain: bool,
        time_limit: float | None,
        max_nodes: int | None,
        all_solutions: bool,
        listing: "_Listing | None",
    ) -> None:
        self._all, self._listing = all_solutions, listing
        self._databases, self._goal, self._plain = databases, goal, plain
        self._solvers: dict[tuple[Database, ...], Solver] = {}
        self._lock = threading.Lock()
        self._time_limit, self._max_nodes = time_limit, max_nodes
        self._display = _SearchDisplay()
        self._start = time.perf_counter()
        self._n_boards = self._n_solved = self._generated = 0
        self.worst: PdbError | None = None

    def records(self, instances: "Iterable[Instance]", n_threads: int) -> Iterator[dict[str, Any]]:
        """The answers in the order of the boards."""
        from solver.solve import in_parallel

        outcomes = in_parallel(instances, self._solve, n_threads=n_threads, report=self._display.show)
        for instance, goal, outcome in outcomes:
            self._display.clear()
            yield self._record(instance, goal, outcome)

    def _limits(self) -> "Limits":
        from solver import Limits

        return Limits(seconds=self._time_limit, nodes=self._max_nodes)

    def _solve(
        self, instance: "Instance", report: "Callable[[Iteration], None]", crew: "Crew | None"
    ) -> "tuple[Instance, Board, Solution | UnsolvableError]":
        goal = self._databases.goal_of(instance, self._goal)
        solver = self._solver_of(self._databases.databases_for(instance.size, goal))
        try:
            if not self._all:
                solution = solver.solve(instance.board, goal, limits=self._limits(), report=report, crew=crew)
            else:
                listed = None if self._listing is None else self._listing.of(instance.id)
                solution = solver.solve_all(
                    instance.board, goal, listed=listed, limits=self._limits(), report=report, crew=crew
                )
            return instance, goal, solution
        except UnsolvableError as error:
            return instance, goal, error

    def _solver_of(self, databases: "tuple[Database, ...]") -> "Solver":
        from solver import Solver

        with self._lock:
            if databases not in self._solvers:
                self._solvers[databases] = Solver(*databases, plain=self._plain)
            return self._solvers[databases]

    def _record(self, instance: "Instance", goal: "Board", outcome: "Solution | UnsolvableError") -> dict[str, Any]:
        self._n_boards += 1
        record: dict[str, Any] = {"id": instance.id, "board": list(instance.board), "goal": list(goal)}
        if isinstance(outcome, UnsolvableError):
            message(f"pdb: {outcome}")
            self._remember(UnsolvableError("not all boards can be solved"))
            nothing = dict.fromkeys(_COLUMNS[4:])
            return (
                record | nothing | {"solvable": False, "generated": 0, "expanded": 0, "seconds": 0.0, "thresholds": []}
            )
        self._generated += outcome.generated
        if outcome.length is None:
            self._remember(
                LimitReachedError(f"board {instance.id} was given up at a limit; raise --time-limit or --max-nodes")
            )
        else:
            self._n_solved += 1
            if instance.optimal_length not in (None, outcome.length):
                error = WrongAnswerError(
                    f"board {instance.id}: the shortest solution found has {outcome.length} moves, the instance file "
                    "says "
                    f"{instance.optimal_length}; if that is the length of a shortest solution, please report this board"
                )
                message(f"pdb: {error}")
                self._remember(error)
        if self._all:
            record |= {"solutions": outcome.n_solutions, "all_solutions": outcome.is_complete}
        return record | {
            "solvable": True,
            "length": outcome.length,
            "moves": None if outcome.tiles is None else list(outcome.tiles),
            "optimal": outcome.is_optimal,
            "h": outcome.h,
            "lower_bound": outcome.lower_bound,
            "generated": outcome.generated,
            "expanded": outcome.expanded,
            "seconds": round(outcome.seconds, 6),
            "thresholds": [
                {
                    "threshold": i.threshold,
                    "generated": i.generated,
                    "expanded": i.expanded,
                    "seconds": round(i.seconds, 6),
                }
                for i in outcome.iterations
            ],
        }

    def _remember(self, error: PdbError) -> None:
        """Keep the error that decides the exit code: a wrong answer before a limit before an unsolvable board."""
        order = (WrongAnswerError, LimitReachedError, UnsolvableError)
        if self.worst is None or order.index(type(error)) < order.index(type(self.worst)):
            self.worst = error

    def tell_summary(self) -> None:
        """One line about the whole, where there were several boards."""
        if self._n_boards > 1:
            seconds = time.perf_counter() - self._start
            message(
                f"{plural(self._n_boards, 'board')}, {count(self._n_solved)} solved, {seconds:.2f} s, "
                f"{count(self._generated)} nodes generated, {self._generated / seconds / 1e6:.1f} million/s"
            )


class _Listing:
    """Writes every shortest solution to stdout as it is found, a line each."""

    def __init__(self, output: Format) -> None:
        self._output = output
        self._lock = threading.Lock()

    def of(self, board_id: str) -> "Callable[[tuple[int, ...]], None]":
        """What writes the solutions of one board; it may be called from any thread."""

        def write(tiles: tuple[int, ...]) -> None:
            line = f"{board_id}: {' '.join(map(str, tiles))}"
            if self._output is Format.ndjson:
                line = json.dumps({"id": board_id, "solution": list(tiles)})
            with self._lock:
                print(line, flush=True)

        return write


class _SearchDisplay:
    """Shows the threshold being searched on a terminal; in a log, thresholds that took long."""

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._lock = threading.Lock()
        self._told: dict[tuple[str, int], float] = {}

    def show(self, instance: "Instance", iteration: "Iteration") -> None:
        """Called from the searching threads, every fraction of a second."""
        rate = iteration.generated / iteration.seconds / 1e6 if iteration.seconds > 0 else 0.0
        text = (
            f"board {instance.id}: threshold {iteration.threshold}, {count(iteration.generated)} nodes, "
            f"{iteration.seconds:.1f} s, "
            f"{rate:.1f} million/s"
        )
        with self._lock:
            self._line.show(text)
            key = instance.id, iteration.threshold
            if iteration.seconds - self._told.get(key, 0.0) >= _LOG_S and not sys.stderr.isatty():
                self._told[key] = iteration.seconds
                message(f"pdb: {text}")

    def clear(self) -> None:
        with self._lock:
            self._line.clear()


def _text(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        if not record["solvable"]:
            yield f"{record['id']}: cannot be solved"
        elif record["length"] is None:
            yield (
                f"{record['id']}: given up, at least {record['lower_bound']} moves, {count(record['generated'])} "
                "nodes, "
                f"{record['seconds']:.2f} s"
            )
        else:
            number = ""
            if "solutions" in record:
                number = f" of {count(record['solutions'])}" if record["all_solutions"] else " of many"
            yield (
                f"{record['id']}: {plural(record['length'], 'move')}, the shortest{number}; h {record['h']}, "
                f"{count(record['generated'])} nodes, "
                f"{record['seconds']:.2f} s"
            )
            yield f"  {' '.join(map(str, record['moves']))}"
