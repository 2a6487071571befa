"""A solve: its answer, and its progress as server-sent events."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import orjson

from pdb_core.errors import PdbError
from pdb_core.puzzle import Board
from pdb_query.service.lookups import described
from pdb_query.service.problems import problem
from pdb_query.service.served_databases import Served
from pdb_query.service.solve_queue import Job, SolveQueue
from pdb_query.service.solving import Solving

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


async def solve_events(
    board: Board, served: Served, solving: Solving, queue: SolveQueue, *, seconds: float, nodes: int | None
) -> AsyncIterator[bytes]:
    """The same as events, with progress between. Closing the iterator gives the search up."""
    job: Job | None = None

    async def whole() -> dict[str, Any]:
        nonlocal job
        async with queue.turn() as job:
            return await queue.run(job, partial(solve, board, served, solving, job, seconds=seconds, nodes=nodes))

    work = asyncio.ensure_future(whole())
    try:
        while not (await asyncio.wait({work}, timeout=_EVENT_S))[0]:
            progress = None if job is None else job.progress()
            if progress is not None:
                yield _event("progress", progress)
            else:
                yield _event("queued", {"ahead": max(0, queue.n_waiting - 1)})
        yield _event("result", work.result())
    except PdbError as error:
        yield _event("problem", problem(error))
    finally:
        work.cancel()
        await asyncio.wait({work})


def _event(name: str, data: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
