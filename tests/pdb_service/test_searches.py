"""Searches of several clients: queues, limits, the end of the service."""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
from fastapi import FastAPI

from pdb_query import Database, open_database
from solver import Iteration
from tests.pdb_service.app_requests import (
    BOARDS,
    GOAL,
    UNSOLVABLE,
    AppRequest,
    HeldSolvers,
    answer_for,
    ask,
    ask_moves,
    ask_solve,
    in_event_loop,
    metrics,
    ready_app,
    run,
    running_app,
    until,
)
from tests.project.test_docs import page
from tests.tables import table_file

ASKING = [ask_solve, partial(ask_solve, events=True), ask_moves]


@pytest.fixture
def solvers() -> HeldSolvers:
    return HeldSolvers()


def searches(app: FastAPI) -> Any:
    return app.state.service.searches


# Clients that leave


@in_event_loop
@pytest.mark.parametrize("request_", ASKING)
async def test_search_ends_when_its_client_leaves(
    database: Database, solvers: HeldSolvers, request_: Callable[..., AppRequest]
) -> None:
    async with running_app(database, solvers, n_solves=1) as app:
        running, waiting = (request_(app, board) for board in BOARDS[:2])
        await until(lambda: len(solvers.begun) == 1)
        for request in (waiting, running):
            request.leave()
            await request.task
        last = request_(app, BOARDS[2])
        await until(lambda: len(solvers.begun) == 2)
        solvers.release.set()
        assert (await last.reply()).status == 200
        assert solvers.begun[:2] == [BOARDS[0], BOARDS[2]]


# Queues


@in_event_loop
@pytest.mark.parametrize("events", [False, True])
async def test_wait_of_a_solve_is_bounded(
    database: Database, solvers: HeldSolvers, events: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_app(database, solvers, n_solves=1, wait_s=0.1) as app:
        running = ask_solve(app, BOARDS[0])
        await until(lambda: len(solvers.begun) == 1)
        for request in [ask_solve(app, BOARDS[1], events=events) for _ in range(2)]:
            reply = await request.reply()
            if events:
                assert b"event: problem" in reply.body
                assert b"BusyError" in reply.body
            else:
                assert (reply.status, reply.headers["retry-after"]) == (503, "5")
                assert "0.1 seconds" in reply.json["detail"]
                assert "request_id" not in reply.json
        assert not caplog.records
        counted = metrics(app)
        assert counted['tile_pdb_solve_refusals_total{queue="long",reason="waited"}'] == 2
        assert counted['tile_pdb_solve_wait_seconds_count{queue="long"}'] == 3
        assert counted['tile_pdb_solve_wait_seconds_sum{queue="long"}'] >= 0.1
        solvers.release.set()
        assert (await running.reply()).status == 200
        assert (await ask_solve(app, BOARDS[1]).reply()).status == 200


@in_event_loop
async def test_full_queue_refuses_only_new_searches(database: Database, solvers: HeldSolvers) -> None:
    async with running_app(database, solvers, n_solves=1, n_waiting=1) as app:
        taken = [ask_solve(app, board) for board in BOARDS[:2]]
        await until(lambda: (searches(app).n_running, searches(app).n_waiting) == (1, 1))
        for events in (False, True):
            refused = await ask_solve(app, BOARDS[2], events=events).reply()
            assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert metrics(app)['tile_pdb_solve_refusals_total{queue="long",reason="full"}'] == 2
        solvers.release.set()
        assert {(await request.reply()).status for request in taken} == {200}
        assert len(solvers.begun) == 2


@in_event_loop
async def test_short_searches_do_not_wait_behind_long_ones(database: Database, solvers: HeldSolvers) -> None:
    async with running_app(database, solvers, n_solves=1, n_waiting=1) as app:
        long = [ask_solve(app, board) for board in BOARDS[:2]]
        await until(lambda: (searches(app).n_running, searches(app).n_waiting) == (1, 1))
        solvers.wait_s = lambda board: 60.0 if board in BOARDS[:2] else 0.0
        hint = (await ask_moves(app, BOARDS[2]).reply()).json
        assert hint["distance"] == 5
        assert (await ask_solve(app, BOARDS[3], seconds=2).reply()).json["length"] == 5
        assert (await ask_solve(app, BOARDS[4], seconds=2.1).reply()).status == 503
        # These need no search and no turn.
        for reply in (await ask_solve(app, UNSOLVABLE).reply(), await ask_moves(app, UNSOLVABLE).reply()):
            assert (reply.status, reply.json["solvable"]) == (200, False)
        assert b'"solvable":false' in (await ask_solve(app, UNSOLVABLE, events=True).reply()).body
        assert (await ask_moves(app, GOAL).reply()).json["distance"] == 0
        assert (await ask_moves(app, BOARDS[0], seconds=0).reply()).json["distance"] is None
        solvers.wait_s = None
        solvers.release.set()
        assert {(await request.reply()).status for request in long} == {200}


@in_event_loop
async def test_events_report_the_nodes_of_all_thresholds_or_the_searches_ahead(
    database: Database, solvers: HeldSolvers
) -> None:
    """The names in their data are those of docs/http.md."""
    documented = re.findall(r"^\| (queued|progress) \| (.*) \|$", page("docs/http.md"), re.MULTILINE)
    names = {name: set(re.findall(r'"(\w+)":', shown)) for name, shown in documented}
    counts = ((10, 100), (10, 200), (12, 50), (12, 400), (14, 10))
    solvers.reports = tuple(Iteration(at, generated, generated // 2, 0.1) for at, generated in counts)
    async with running_app(database, solvers, n_solves=1) as app:
        requests = [ask_solve(app, board, events=True) for board in BOARDS[:3]]
        await until(lambda: all(request.sent[1:] for request in requests))
        solvers.release.set()
        events = [re.match("event: (.*)\ndata: (.*)\n\n", (await at.reply()).body.decode()) for at in requests]
    (name, progress), *queued = [(at[1], json.loads(at[2])) for at in events if at]
    assert queued == [("queued", {"ahead": 0}), ("queued", {"ahead": 1})]
    assert (name, progress["threshold"]) == ("progress", 14)
    assert (progress["generated"], progress["expanded"]) == (610, 305)
    assert progress["nodes_per_s"] > 0
    assert names == {"progress": set(progress), "queued": {"ahead"}}


@in_event_loop
async def test_time_limit_is_at_most_that_of_the_server(database: Database, solvers: HeldSolvers) -> None:
    solvers.release.set()
    async with running_app(database, solvers, solve_s=5.0) as app:
        for request, given, expected in (
            (ask_solve, {}, 5),
            (ask_solve, {"seconds": 60}, 5),
            (ask_solve, {"body": json.dumps({"board": BOARDS[0], "seconds": 60}).encode()}, 5),
            (ask_moves, {}, 1),
            (ask_moves, {"seconds": 4}, 4),
            (ask_moves, {"seconds": 60}, 5),
        ):
            solvers.seconds.clear()
            assert (await request(app, BOARDS[0], **given).reply()).status == 200
            assert expected - 1 < solvers.seconds[0] <= expected, given


# Hints


def test_hints_are_exact_and_come_best_first(database: Database) -> None:
    """First the moves that begin an optimal solution, then those of unknown distance, then longer ones; else by h."""
    app = ready_app(database)
    seen: Counter[str] = Counter()
    with open_database(table_file("8", "3x3")) as exact:
        for board, limits in product(BOARDS[:40], ("", "&seconds=0", "&nodes=400")):
            answer = ask(app, f"/v1/moves?board={'+'.join(map(str, board))}{limits}").json
            found, moves = answer["distance"], answer["moves"]
            assert found == exact.probe(board).maximum or (found is None and limits)
            for move in moves:
                assert move["distance"] == exact.probe(move["board"]).maximum or (move["distance"] is None and limits)
                assert (board[move["cell"]], board[move["blank"]]) == (move["tile"], 0)
            # Without a distance of the board there is none of a move.
            keys = [(found if move["distance"] is None else move["distance"], move["h"]) for move in moves]
            assert keys == sorted(keys, key=lambda key: (key[0] or 0, key[1]))
            distances = {move["distance"] for move in moves}
            seen["different h"] += found is None and len({move["h"] for move in moves}) > 1
            seen["different distances"] += len(distances - {None}) > 1
            seen["unknown distances"] += len(distances) > 1 and None in distances
    assert len(seen) == 3
    assert min(seen.values()) > 5
    answer = ask(app, "/v1/moves?board=1+2+3/4+5+6/7+8+0").json
    assert (answer["distance"], [move["distance"] for move in answer["moves"]]) == (0, [1, 1])


@in_event_loop
async def test_search_of_a_move_that_leads_away_is_not_finished(database: Database, solvers: HeldSolvers) -> None:
    solvers.reports = (Iteration(threshold=9, generated=7, expanded=5, seconds=0.1),)
    solvers.release.set()
    board = next(board for board in BOARDS if board.index(0) == 1)  # `answer_for` moves the tile of the first cell
    async with running_app(database, solvers) as app:
        answer = (await ask_moves(app, board).reply()).json
    assert (answer["distance"], [move["distance"] for move in answer["moves"]]) == (5, [4, 6, 6])


# The end of the service


@in_event_loop
@pytest.mark.parametrize("grace_s", [0.0, 30.0])
async def test_running_searches_have_the_time_of_grace(
    database: Database, solvers: HeldSolvers, grace_s: float
) -> None:
    async with running_app(database, solvers, n_solves=1, grace_s=grace_s) as app:
        running = ask_solve(app, BOARDS[0])
        await until(lambda: len(solvers.begun) == 1)
        waiting = ask_solve(app, BOARDS[1])
        await until(lambda: searches(app).n_waiting == 1)
        searches(app).stop()
        assert (await ask_solve(app, BOARDS[2]).reply()).status == 503
        if grace_s:
            solvers.release.set()
        assert (await running.reply()).status == (200 if grace_s else 503)
        assert (await waiting.reply()).status == 503
        assert solvers.begun == [BOARDS[0]]
        assert metrics(app)['tile_pdb_solve_refusals_total{queue="long",reason="stopping"}'] == 2


# Random requests


@pytest.mark.parametrize("n_seeds", [6, pytest.param(2000, marks=pytest.mark.slow)])
def test_random_requests_have_one_outcome_each(database: Database, n_seeds: int) -> None:
    for seed in range(n_seeds):
        run(random_requests(database, seed))


FAILING = BOARDS[3]


class RandomSolvers(HeldSolvers):
    """Solvers whose searches take random times; those of one board fail."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        seconds = {board: chance.choice([0.0, 0.001, 0.004, 0.02]) for board in BOARDS}
        self.wait_s = lambda board: seconds[board]

    def _search(self, board: Any, seconds: float, report: Any) -> Any:
        found = super()._search(board, seconds, report)
        if board == FAILING:
            raise KeyError("a bug")
        return found


async def random_requests(database: Database, seed: int) -> None:
    """Send, close and cancel requests in random order, to a service that may stop meanwhile."""
    chance = random.Random(seed)
    solvers = RandomSolvers(chance)
    n_solves = chance.randint(1, 2)
    settings = {
        "n_solves": n_solves,
        "n_waiting": chance.randint(0, 4),
        "wait_s": chance.choice([0.0, 0.01, 30.0]),
        "grace_s": chance.choice([0.0, 0.01, 5.0]),
    }
    requests: list[tuple[Any, AppRequest]] = []
    left: set[int] = set()
    async with running_app(database, solvers, **settings) as app:
        stop_at = chance.choice([None, 15, 30])
        for step in range(40):
            if step == stop_at:
                searches(app).stop()
            kind = chance.random()
            if kind < 0.7:
                board = chance.choice(BOARDS[:6])
                named = {"seconds": chance.choice([0.002, 1, 30])} | ({"events": True} if chance.random() < 0.4 else {})
                requests.append((board, ask_solve(app, board, **named)))
            elif requests:
                at = chance.randrange(len(requests))
                left.add(at)
                if kind < 0.95:
                    requests[at][1].leave()
                else:
                    requests[at][1].task.cancel()
            await asyncio.sleep(chance.choice([0, 0, 0, 0.001, 0.004]))
        statuses: Counter[Any] = Counter()
        for at, (board, request) in enumerate(requests):
            try:
                await request.task
            except (asyncio.CancelledError, RuntimeError):
                assert at in left
                continue
            statuses[check_outcome(board, request, at in left)] += 1
        for is_short in (False, True):
            assert solvers.most_running[is_short] <= n_solves
        await until(lambda: searches(app).n_running + searches(app).n_waiting == 0)
        counted = metrics(app)
        waits = sum(
            counted.get(f'tile_pdb_solve_wait_seconds_count{{queue="{name}"}}', 0) for name in ("short", "long")
        )
        assert len(solvers.begun) <= waits <= len(requests)


def check_outcome(board: Any, request: AppRequest, may_be_cut: bool) -> str:
    """Check an answer against the known one of its board, and return its status."""
    starts = [message["status"] for message in request.sent if message["type"] == "http.response.start"]
    body = b"".join(message.get("body", b"") for message in request.sent)
    if may_be_cut and (not starts or starts == [499] or ((starts == [200] and b"event: " in body) or not body)):
        return "left"
    (status,) = starts
    if b"event: " in body:
        name, data = body.decode().strip().splitlines()[-2:]
        answer = json.loads(data.removeprefix("data: "))
        status = 200 if name == "event: result" else answer["status"]
    else:
        answer = json.loads(body)
    if status == 200:
        assert board != FAILING or answer["moves"] is None
        assert answer["board"] == list(board)
        assert answer["moves"] in (None, list(answer_for(board)))
        assert answer["optimal"] == (answer["moves"] is not None)
    elif status == 500:
        assert board == FAILING
        assert answer["request_id"]
    else:
        assert (status, answer["type"]) == (503, "urn:tile-pdb:BusyError")
    return str(status)
