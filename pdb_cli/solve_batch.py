"""Boards solved one after another or several at a time, and the record of each."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdb_cli.databases import OpenDatabases
from pdb_cli.output import count, message, plural
from pdb_cli.read_ahead import in_chunks
from pdb_cli.solve_cluster import cluster_outcomes
from pdb_cli.solve_log import SolveLog
from pdb_cli.solve_output import Listing, SearchDisplay, tell_unsolvable
from pdb_cli.solvers import Solvers
from pdb_core.errors import LimitReachedError, MemoryLimitError, PdbError, UnsolvableError, WrongAnswerError

if TYPE_CHECKING:
    from pdb_core.puzzle import Board
    from pdb_query import Instance
    from solver import Checkpoint, Iteration, Limits, Solution, WorkerPool
    from solver.progress import Report

    _Answer = Solution | UnsolvableError | MemoryLimitError
    _Outcome = tuple[Instance, Board, _Answer]

COLUMNS = (
    "id", "board", "goal", "solvable", "length", "moves", "optimal", "h", "lower_bound", "generated", "expanded",
    "seconds", "thresholds", "search", "heuristic", "bound", "reopened", "peak_open",
)  # fmt: skip


class Batch:
    """Solves boards and remembers the worst that happened: a board that cannot be solved does not stop the others."""

    def __init__(
        self,
        databases: OpenDatabases,
        solvers: Solvers,
        goal: str | None,
        time_limit: float | None,
        max_nodes: int | None,
        all_solutions: bool,
        listing: "Listing | None",
        word: Callable[[int], str] = str,
        log: SolveLog | None = None,
    ) -> None:
        """`word` is what a tile is called in messages; `log` has answers, and gets those that are found."""
        self._log = log
        self._word = word
        self._all, self._listing = all_solutions, listing
        self._databases, self._solvers, self._goal = databases, solvers, goal
        self._time_limit, self._max_nodes = time_limit, max_nodes
        is_limited = time_limit is not None or max_nodes is not None
        self._in_batches = solvers.solves_batches and not (all_solutions or is_limited)
        self._display = SearchDisplay()
        self._start = time.perf_counter()
        self._n_boards = self._n_solved = self._generated = 0
        self.worst: PdbError | None = None

    def records(self, instances: "Iterable[Instance]", n_threads: int) -> Iterator[dict[str, Any]]:
        """Yield the answers in the order of the boards, found by threads of this process."""
        from solver.engine.worker_pool import stream_in_parallel
        from solver.solve import MOST_BOARDS

        boards = ((instance, self._databases.goal_of(instance, self._goal)) for instance in instances)
        chunks = in_chunks(boards, MOST_BOARDS if self._in_batches else 1, n_threads=n_threads)
        for outcomes in stream_in_parallel(chunks, self._solve, n_threads=n_threads):
            for instance, goal, outcome in outcomes:
                self._display.clear()
                yield self._record(instance, goal, outcome)

    def cluster_records(
        self, client: Any, instances: "Iterable[Instance | None]", *, plain: bool, load: str, worker_folder: Path | None
    ) -> Generator[dict[str, Any], None, None]:
        """The answers in the order of the boards, by a Dask cluster."""
        outcomes = cluster_outcomes(
            client,
            instances,
            self._databases,
            lambda instance: self._databases.goal_of(instance, self._goal),
            self._log,
            limits=self._limits(),
            plain=plain,
            load=load,
            worker_folder=worker_folder,
        )
        for instance, goal, outcome in outcomes:
            yield self._record(instance, goal, outcome)

    def _limits(self) -> "Limits":
        from solver import Limits

        return Limits(seconds=self._time_limit, nodes=self._max_nodes)

    def _solve(
        self, boards: "list[tuple[Instance, Board]]", report: "Report", pool: "WorkerPool | None"
    ) -> "Generator[list[_Outcome], None, None]":
        """Yield the outcomes of boards in lists of those that are ready."""
        for (_, goal), group in groupby(boards, key=lambda board: (board[0].size, board[1])):
            instances = [instance for instance, _ in group]
            if self._log is None:
                yield from self._search(instances, goal, report, pool)
            else:
                yield from self._search_with_log(self._log, instances, goal, report, pool)

    def _search_with_log(
        self, log: SolveLog, instances: "list[Instance]", goal: "Board", report: "Report", pool: "WorkerPool | None"
    ) -> "Generator[list[_Outcome], None, None]":
        """As `_search`, with the answers that the log has. Add the others to the log, each board once."""
        held: list[Instance] = []

        def search_held() -> "Iterator[list[_Outcome]]":
            for outcomes in self._search(held.copy(), goal, report, pool) if held else ():
                for _, _, outcome in outcomes:
                    if not isinstance(outcome, PdbError):
                        log.add(outcome)
                log.release([instance.board for instance, _, _ in outcomes], goal)
                del held[: len(outcomes)]
                yield outcomes

        try:
            for instance in instances:
                if not log.try_hold(instance.board, goal):
                    # Hold no board while waiting: two threads could wait for each other.
                    yield from search_held()
                    log.hold(instance.board, goal)
                held.append(instance)
                known = log.answer(instance.board, goal, instance.size)
                if known is not None:
                    held.pop()
                    log.release([instance.board], goal)
                    yield [(instance, goal, known)]
            yield from search_held()
        finally:
            log.release([instance.board for instance in held], goal)

    def _search(
        self, instances: "list[Instance]", goal: "Board", report: "Report", pool: "WorkerPool | None"
    ) -> "Generator[list[_Outcome], None, None]":
        """Yield the outcomes of boards of one size in lists of those that are ready."""

        checkpoints: dict[int, Checkpoint] = {}

        def checkpoint_of(index: int) -> "Checkpoint":
            checkpoints[index] = self._checkpoint(instances[index], goal)
            return checkpoints[index]

        def show(index: int, iteration: "Iteration") -> None:
            report(iteration)
            self._display.show(instances[index], iteration, checkpoints.get(index))

        if not self._in_batches:
            for index, instance in enumerate(instances):
                outcome = self._search_one(instance, goal, partial(show, index), pool, checkpoint_of(index))
                yield [(instance, goal, outcome)]
            return
        boards, n_found = [instance.board for instance in instances], 0
        for answers in self._solvers.solve_batch(boards, instances[0].size, goal, show, pool, checkpoint_of):
            of = instances[n_found : n_found + len(answers)]
            n_found += len(answers)
            yield [(instance, goal, answer) for instance, answer in zip(of, answers, strict=True)]

    def _checkpoint(self, instance: "Instance", goal: "Board") -> "Checkpoint":
        """Return the checkpoint of a board. Without a log it is in memory, for the display."""
        from solver import Checkpoint

        return Checkpoint() if self._log is None else self._log.checkpoint(instance.board, goal)

    def _search_one(
        self,
        instance: "Instance",
        goal: "Board",
        report: "Report",
        pool: "WorkerPool | None",
        checkpoint: "Checkpoint",
    ) -> "_Answer":
        size, limits = instance.size, self._limits()
        try:
            if not self._all:
                return self._solvers.solve(instance.board, size, goal, limits, report, pool, checkpoint)
            listed = None if self._listing is None else self._listing.of(instance.id)
            return self._solvers.solve_all(instance.board, size, goal, listed, limits, report, pool, checkpoint)
        except (UnsolvableError, MemoryLimitError) as error:
            return error

    def _record(self, instance: "Instance", goal: "Board", outcome: "_Answer") -> dict[str, Any]:
        from solver import Solution

        self._n_boards += 1
        record: dict[str, Any] = {"id": instance.id, "size": str(instance.size)}
        record |= {"board": list(instance.board), "goal": list(goal)}
        if isinstance(outcome, MemoryLimitError):
            message(f"pdb: board {instance.id}: {outcome}")
            self._remember(LimitReachedError(f"board {instance.id} was given up at the memory limit"))
            if isinstance(outcome.solution, Solution):
                outcome = outcome.solution
        if not isinstance(outcome, Solution):
            return record | self._record_of_none(instance, goal, outcome)
        self._generated += outcome.generated
        if outcome.length is None:
            self._remember(
                LimitReachedError(f"board {instance.id} was given up at a limit; raise --time-limit or --max-nodes")
            )
        else:
            self._n_solved += 1
        if instance.optimal_length is not None and outcome.contradicts(instance.optimal_length):
            error = WrongAnswerError(_contradiction(instance, outcome, instance.optimal_length))
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
            "search": outcome.search,
            "heuristic": self._solvers.heuristic,
            "bound": outcome.bound,
            "reopened": outcome.reopened,
            "peak_open": outcome.peak_open,
        }

    def _record_of_none(
        self, instance: "Instance", goal: "Board", error: UnsolvableError | MemoryLimitError
    ) -> dict[str, Any]:
        """What there is to say of a board without an answer."""
        is_solvable = isinstance(error, MemoryLimitError)
        if not is_solvable:
            tell_unsolvable(instance, goal, self._word)
            self._remember(UnsolvableError("not all boards can be solved"))
        known = {"solvable": is_solvable, "search": self._solvers.search, "heuristic": self._solvers.heuristic}
        none = {"generated": 0, "expanded": 0, "seconds": 0.0, "thresholds": [], "reopened": 0, "peak_open": 0}
        return dict.fromkeys(COLUMNS[4:]) | none | known

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


def _contradiction(instance: "Instance", outcome: "Solution", shortest: int) -> str:
    found = f"no solution has less than {outcome.lower_bound} moves"
    if outcome.length is not None and (outcome.is_optimal or outcome.lower_bound <= shortest):
        is_shortest = "shortest solution found" if outcome.is_optimal else "solution found"
        found = f"the {is_shortest} has {outcome.length} moves"
    return (
        f"board {instance.id}: {found}, the instance file says {shortest}; if that is the length of a shortest "
        "solution, please report this board"
    )
