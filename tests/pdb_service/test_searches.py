"""Searches of several clients: queues, limits, the end of the service."""

import asyncio
import json
import re
from collections.abc import Callable
from functools import partial
from itertools import product

import pytest

from pdb_query import Database
from solver.progress import Iteration
from tests import text_of
from tests.pdb_service.app_requests import (
    BOARDS,
    GOAL,
    AppRequest,
    HeldSolvers,
    ask,
    ask_moves,
    ask_solve,
    metrics,
    n_running,
    n_waiting,
    ready_app,
    running_app,
    until,
)
from tests.solving import UNSOLVABLE, database_for

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("request_", [ask_solve, partial(ask_solve, events=True), ask_moves])
async def test_search_ends_when_its_client_leaves(solvers: HeldSolvers, request_: Callable[..., AppRequest]) -> None:
    async with running_app(solvers, n_solves=1) as app:
        running, waiting = (request_(app, board) for board in BOARDS[:2])
        await solvers.begin(1)
        for request in (waiting, running):
            request.leave()
            await request.task
        left = [count for name, count in metrics(app).items() if "requests_total" in name and 'status="499"' in name]
        assert left == [2]
        last = ask_solve(app, BOARDS[2])
        await solvers.begin(2)
        solvers.release.set()
        assert (await last.reply()).status == 200
        assert solvers.begun[:2] == [BOARDS[0], BOARDS[2]]


# Queues


@pytest.mark.parametrize("events", [False, True])
async def test_wait_of_a_solve_is_bounded(solvers: HeldSolvers, events: bool, caplog: pytest.LogCaptureFixture) -> None:
    async with running_app(solvers, n_solves=1, wait_s=0.5) as app:
        running = ask_solve(app, BOARDS[0], events=True)
        await solvers.begin(1)
        reply = await ask_solve(app, BOARDS[1], events=events).reply()
        assert b"BusyError" in reply.body
        assert events or (reply.status, reply.headers["retry-after"]) == (503, "5")
        assert not caplog.records
        solvers.release.set()
        assert (await running.reply()).status == 200


async def test_wait_for_searches_of_easy_boards_is_bounded(solvers: HeldSolvers) -> None:
    async with running_app(solvers, n_solves=1, wait_s=0.2) as app:
        app.service.solve_easy = lambda *_: solvers.release.wait()
        assert [(await ask_solve(app, board).reply()).status for board in BOARDS[:2]] == [503, 503]
        solvers.release.set()


async def test_full_queue_refuses_new_searches_but_not_short_ones(solvers: HeldSolvers) -> None:
    async with running_app(solvers, n_solves=1, n_waiting=1, short_s=20.0) as app:
        taken = [ask_solve(app, board) for board in BOARDS[:2]]
        await until(lambda: (n_running(app), n_waiting(app)) == (1, 1))
        for events in (False, True):
            refused = await ask_solve(app, BOARDS[2], events=events, time_limit=20.1).reply()
            assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        solvers.easy = BOARDS[2:]
        assert (await ask_moves(app, BOARDS[2], time_limit=20).reply()).json["distance"] == 5
        assert (await ask_solve(app, BOARDS[3], time_limit=20).reply()).json["length"] == 5
        # These need no search and no turn.
        for reply in (await ask_solve(app, UNSOLVABLE).reply(), await ask_moves(app, UNSOLVABLE).reply()):
            assert (reply.status, reply.json["solvable"]) == (200, False)
        solvers.release.set()
        assert {(await request.reply()).status for request in taken} == {200}


async def test_events_report_the_nodes_of_all_thresholds_or_the_searches_ahead(solvers: HeldSolvers) -> None:
    """The names in their data are those of docs/http.md."""
    solvers.reports = Iteration(10, 200, 100, 0.1), Iteration(12, 50, 25, 0.1), Iteration(12, 400, 200, 0.1)
    async with running_app(solvers, n_solves=1) as app:
        requests = [ask_solve(app, board, events=True) for board in BOARDS[:3]]
        await until(lambda: all(request.sent[1:] for request in requests))
        solvers.release.set()
        progress, *queued = [(await request.reply()).body.decode().partition("\n\n")[0] for request in requests]
    assert queued == ['event: queued\ndata: {"ahead":0}', 'event: queued\ndata: {"ahead":1}']
    found = json.loads(progress.removeprefix("event: progress\ndata: "))
    assert (found["threshold"], found["generated"], found["expanded"]) == (12, 600, 300)
    documented = re.search(r"^\| progress \| `({.*})", text_of("docs/http.md"), re.MULTILINE)
    assert found.keys() == json.loads(documented[1]).keys()


async def test_time_limit_is_at_most_that_of_the_server(solvers: HeldSolvers) -> None:
    solvers.release.set()
    async with running_app(solvers, solve_s=5.0) as app:
        for given in ({}, {"time_limit": 60}):
            assert (await ask_solve(app, BOARDS[0], **given).reply()).status == 200
        assert solvers.seconds == [5, 5]


# Hints


def test_hints_are_exact_and_come_best_first(database: Database) -> None:
    app = ready_app(database)
    with database_for("8", "3x3") as exact:
        for board, limits in product([GOAL, *BOARDS[:10]], ("", "&time_limit=0")):
            answer = ask(app, f"/v1/moves?board={'+'.join(map(str, board))}{limits}").json
            moves = answer["moves"]
            for at in (answer, *moves):
                assert at["distance"] == (None if limits else exact.probe(at["board"]).h)
            assert all((board[at["cell"]], board[at["blank"]]) == (at["tile"], 0) for at in moves)
            keys = [(at["distance"] or 0, at["h"]) for at in moves]
            assert keys == sorted(keys)


async def test_hints_of_a_hard_board_begin_with_a_short_solution(solvers: HeldSolvers) -> None:
    async with running_app(solvers) as app:
        answer = (await ask_moves(app, BOARDS[0], time_limit=0.1).reply()).json
        assert {at["distance"] for at in (answer, *answer["moves"])} == {None}
    assert answer["lower_bound"] == solvers.reports[-1].threshold + 1
    # Beams of this width find an optimal solution of this board.
    with database_for("8", "3x3") as exact:
        assert answer["length"] == exact.probe(BOARDS[0]).h
        assert exact.probe(answer["moves"][0]["board"]).h == answer["length"] - 1


async def test_waiting_counts_towards_the_time_of_a_hint(solvers: HeldSolvers) -> None:
    async with running_app(solvers, n_solves=1) as app:
        running, waiting = ask_solve(app, BOARDS[0], time_limit=2), ask_moves(app, BOARDS[1], time_limit=0.01)
        await until(lambda: n_waiting(app) == 1)
        await asyncio.sleep(0.02)
        solvers.release.set()
        assert (await waiting.reply()).json["distance"] is None
        assert (await running.reply()).status == 200


# The end of the service


@pytest.mark.parametrize("grace_s", [0.0, 30.0])
async def test_running_searches_have_the_time_of_grace(solvers: HeldSolvers, grace_s: float) -> None:
    async with running_app(solvers, n_solves=1, grace_s=grace_s) as app:
        running = ask_solve(app, BOARDS[0])
        await solvers.begin(1)
        waiting = ask_solve(app, BOARDS[1])
        await until(lambda: n_waiting(app) == 1)
        app.service.stop()
        assert (await ask_solve(app, BOARDS[2]).reply()).status == 503
        if grace_s:
            solvers.release.set()
        assert (await running.reply()).status == (200 if grace_s else 503)
        assert (await waiting.reply()).status == 503
        assert solvers.begun == [BOARDS[0]]
