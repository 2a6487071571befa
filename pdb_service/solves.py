"""A solve: its answer, and its progress as server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

from pdb_core.puzzle import Board, is_solvable
from pdb_service.lookups import described
from pdb_service.problems import reported_problem
from pdb_service.searches import Question, Searches
from pdb_service.served_databases import Served
from pdb_service.solve_queue import Job
from pdb_service.solving import Solving

# Between two events, in seconds. One that only waits says something too: else nobody sees that the client is gone.
_EVENT_S = 0.2


def solve(
    board: Board, served: Served, solving: Solving, job: Job, *, seconds: float, nodes: int | None
) -> dict[str, Any]:
    """The body of a solve: a `SolveAnswer`. Run it in a thread; raises what `job.report` raises."""
    answer = described(board, served)
    nothing = {"length": None, "moves": None, "optimal": False, "h": None, "lower_bound": None}
    if not answer["solvable"]:
        return {**answer, **nothing, "generated": 0, "expanded": 0, "seconds": 0.0, "thresholds": []}
    found = solving(served.database, board, served.goal, seconds=seconds, nodes=nodes, report=job.report)
    return {
        **answer,
        "length": found.length,
        "moves": found.tiles,
        "optimal": found.is_optimal,
        "h": found.h,
        "lower_bound": found.lower_bound,
        "generated": found.generated,
        "expanded": found.expanded,
        "seconds": round(found.seconds, 6),
        "thresholds": [
            {
                "threshold": at.threshold,
                "generated": at.generated,
                "expanded": at.expanded,
                "seconds": round(at.seconds, 6),
            }
            for at in found.iterations
        ],
    }


@dataclass(frozen=True)
class Solve(Question):
    """A solve that a request asks for. Its answer is a `SolveAnswer`."""

    @property
    def needs_search(self) -> bool:
        """Return whether the board can be solved."""
        return is_solvable(self.board, self.served.goal, self.served.size)

    def find(self, solving: Solving, job: Job) -> dict[str, Any]:
        """As `Question`."""
        return solve(self.board, self.served, solving, job, seconds=self.seconds, nodes=self.nodes)

    def is_complete(self, answer: dict[str, Any]) -> bool:
        """As `Question`."""
        return bool(answer["optimal"])


async def solve_events(question: Solve, searches: Searches, request_id: str) -> AsyncIterator[bytes]:
    """Yield progress, then the answer or the problem, as events. Closing the iterator leaves the search."""
    try:
        with searches.join(question) as search:
            while not (await asyncio.wait({search.found}, timeout=_EVENT_S))[0]:
                progress = search.progress()
                if progress is not None:
                    yield _event("progress", progress)
                else:
                    yield _event("queued", {"ahead": search.n_ahead})
            yield _event_of_text("result", search.found.result().body)
    except Exception as error:
        # The status has been sent: the last event is all that can name the error.
        yield _event("problem", reported_problem(error, request_id))


def _event(name: str, data: dict[str, Any]) -> bytes:
    return _event_of_text(name, orjson.dumps(data))


def _event_of_text(name: str, text: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + text + b"\n\n"
