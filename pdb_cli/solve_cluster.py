"""`pdb solve` on a Dask cluster: the answers of a batch, and the display of its progress."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.databases import OpenDatabases
from pdb_cli.output import ProgressLine, count, message, plural
from pdb_cli.solve_log import SolveLog

if TYPE_CHECKING:
    from pdb_cluster.solve_boards import ClusterProgress, Request
    from pdb_core.errors import MemoryLimitError, UnsolvableError
    from pdb_core.puzzle import Board
    from pdb_query import Instance
    from solver import Limits, Solution

    Outcome = tuple[Instance, Board, Solution | UnsolvableError | MemoryLimitError]

WorkerDatabaseOption = Annotated[
    Path | None,
    typer.Option(
        "--worker-db",
        metavar="DIR",
        help="Folder with the files of --db on the workers of --scheduler; by default the same path as here.",
        show_default=False,
    ),
]

# Interval at which the rate is measured, and a line is written if stderr is no terminal, in seconds.
_RATE_S, _LOG_S = 1.0, 5.0


def cluster_outcomes(
    client: Any,
    instances: "Iterable[Instance | None]",
    databases: OpenDatabases,
    goal_of: "Callable[[Instance], Board]",
    log: SolveLog | None,
    *,
    limits: "Limits",
    load: str,
    worker_folder: Path | None,
) -> "Iterator[Outcome]":
    """Yield each board, its goal and its answer, in order. Boards in the log are not searched.

    None among `instances` means that the next one is not known yet.
    """
    from pdb_cluster.solve_boards import ClusterBatch, Request

    taken: deque[tuple[Instance, Board]] = deque()
    ids: list[str] = []

    def requests() -> "Iterator[Request | Solution | None]":
        for instance in instances:
            if instance is None:
                yield None
                continue
            goal = goal_of(instance)
            known = None if log is None else log.answer(instance.board, goal, instance.size)
            request = known or Request(instance.board, goal, databases.databases_for(instance.size, goal))
            taken.append((instance, goal))
            ids.append(instance.id)
            yield request

    display = ClusterDisplay(ids)
    batch = ClusterBatch(
        client,
        limits=limits,
        load=load,  # type: ignore[arg-type]
        worker_folder=worker_folder,
        report=display.show,
        finished=None if log is None else log.add,
    )
    for answer in batch.solutions(requests()):
        display.clear()
        instance, goal = taken.popleft()
        yield instance, goal, answer


class ClusterDisplay:
    """Display of the progress of a batch: one line that changes on a terminal, else a line every few seconds."""

    def __init__(self, ids: list[str]) -> None:
        """`ids` are those of the boards, in order; the list may grow."""
        self._ids = ids
        self._line = ProgressLine()
        self._rate = 0.0
        self._measured_s = self._logged_s = 0.0
        self._measured_nodes = 0
        self._had_workers = True

    def show(self, progress: "ClusterProgress") -> None:
        """Show the progress of a batch."""
        passed = progress.seconds - self._measured_s
        if passed >= _RATE_S:
            self._rate = (progress.generated - self._measured_nodes) / passed
            self._measured_s, self._measured_nodes = progress.seconds, progress.generated
        self._report_workers(progress.n_threads)
        text = self._text(progress)
        self._line.show(text)
        if not sys.stderr.isatty() and progress.n_threads and progress.seconds - self._logged_s >= _LOG_S:
            self._logged_s = progress.seconds
            message(f"pdb: {text}")

    def clear(self) -> None:
        """Remove the line from a terminal."""
        self._line.clear()

    def _report_workers(self, n_threads: int) -> None:
        if (n_threads > 0) != self._had_workers:
            self._had_workers = n_threads > 0
            came = f"pdb: {plural(n_threads, 'thread')} again, continuing"
            self._line.log(came if self._had_workers else "pdb: all workers are gone; waiting for workers ...")

    def _text(self, progress: "ClusterProgress") -> str:
        boards = "".join(
            f"; board {self._ids[number]}: threshold {at.threshold}, {count(at.generated)} nodes, {at.seconds:.0f} s"
            for number, at in progress.iterations
        )
        return (
            f"{count(progress.n_done)} of {count(progress.n_taken)} boards, {plural(progress.n_threads, 'thread')}, "
            f"{self._rate / 1e6:.1f} million/s{boards}"
        )
