"""Solves of several clients at a time: shared searches, kept answers, the queues, limits, the end of the service."""

import asyncio
import random
from collections import Counter
from collections.abc import Coroutine, Iterator
from typing import Any

import orjson
import pytest
from fastapi import FastAPI

from pdb_query import Database, open_database
from tests.pdb_service.held_solving import (
    BOARDS,
    GOAL,
    UNSOLVABLE,
    AppRequest,
    HeldSolving,
    answer_for,
    ask_moves,
    ask_solve,
    running_app,
    until,
)
from tests.pdb_service.server import Reply
from tests.tables import table_file

N_SEEDS, N_SLOW_SEEDS = 6, 2000


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with open_database(table_file("1,2,5/3,4,6/7,8", "3x3")) as opened:
        yield opened


@pytest.fixture
def solving() -> HeldSolving:
    return HeldSolving()


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a test. Errors that asyncio only logs are errors here."""
    unread: list[Any] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unread.append(context))
        async with asyncio.timeout(60):
            await work

    asyncio.run(watched())
    assert not unread


async def metrics(app: FastAPI) -> dict[str, float]:
    text = (await AppRequest(app, "/metrics").reply()).body.decode()
    pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def searches(app: FastAPI) -> Any:
    return app.state.service.searches


# Shared searches


@pytest.mark.parametrize("events", [False, True])
def test_identical_solves_at_a_time_share_one_search(database: Database, solving: HeldSolving, events: bool) -> None:
    async def work() -> None:
        async with running_app(database, solving) as app:
            requests = [ask_solve(app, BOARDS[0], events=events and at != 1) for at in range(5)]
            await until(lambda: len(solving.begun) == 1 and searches(app).n_running == 1)
            solving.release.set()
            replies = [await request.reply() for request in requests]
            assert solving.begun == [BOARDS[0]]
            assert {reply.status for reply in replies} == {200}
            body = replies[1].json
            assert body["moves"] == list(answer_for(BOARDS[0]))
            for reply in replies:
                assert (result_of(reply) if "event" in reply.headers["content-type"] else reply.json) == body
            counted = await metrics(app)
            assert counted['tile_pdb_solve_answers_total{source="search"}'] == 1
            assert counted['tile_pdb_solve_answers_total{source="shared"}'] == 4

    run(work())


def result_of(reply: Reply) -> Any:
    """The data of the last event, which must be the result."""
    *_, name, data = reply.body.decode().strip().splitlines()
    assert name == "event: result", reply.body
    return orjson.loads(data.removeprefix("data: "))


def test_solves_with_other_limits_do_not_share(database: Database, solving: HeldSolving) -> None:
    async def work() -> None:
        async with running_app(database, solving, n_solves=8) as app:
            requests = [ask_solve(app, BOARDS[0], **named) for named in ({}, {"seconds": 50}, {"nodes": 9})]
            requests.append(ask_moves(app, BOARDS[0], seconds=60))
            await until(lambda: len(solving.begun) == 4)
            solving.release.set()
            assert {(await request.reply()).status for request in requests} == {200}

    run(work())


@pytest.mark.parametrize("events", [False, True])
def test_a_search_goes_on_while_anyone_waits_and_ends_with_the_last(
    database: Database, solving: HeldSolving, events: bool
) -> None:
    async def work() -> None:
        async with running_app(database, solving, n_solves=1) as app:
            first, second, third = (ask_solve(app, BOARDS[0], events=events) for _ in range(3))
            await until(lambda: len(solving.begun) == 1)
            first.leave()
            await first.task
            await asyncio.sleep(0.05)
            assert searches(app).n_running == 1
            for request in (second, third):
                request.leave()
                await request.task
            # One that comes now does not get the search that is about to end.
            fourth = ask_solve(app, BOARDS[0], events=events)
            await until(lambda: len(solving.begun) == 2)
            solving.release.set()
            assert (await fourth.reply()).status == 200
            assert len(solving.begun) == 2

    run(work())


def test_who_leaves_the_queue_is_not_searched_for(database: Database, solving: HeldSolving) -> None:
    async def work() -> None:
        async with running_app(database, solving, n_solves=1) as app:
            running = ask_solve(app, BOARDS[0])
            await until(lambda: len(solving.begun) == 1)
            waiting = ask_solve(app, BOARDS[1])
            await until(lambda: searches(app).n_waiting == 1)
            waiting.leave()
            await until(lambda: searches(app).n_waiting == 0)
            solving.release.set()
            await running.reply()
            await asyncio.sleep(0.02)
            assert solving.begun == [BOARDS[0]]

    run(work())


# Kept answers


def test_an_answer_is_kept_and_serves_any_limits(database: Database, solving: HeldSolving) -> None:
    solving.release.set()

    async def work() -> None:
        async with running_app(database, solving) as app:
            bodies = [
                (await ask_solve(app, BOARDS[0], **named).reply()).json
                for named in ({}, {}, {"seconds": 1}, {"nodes": 2})
            ]
            bodies.append(result_of(await ask_solve(app, BOARDS[0], events=True).reply()))
            assert solving.begun == [BOARDS[0]]
            assert all(body == bodies[0] for body in bodies)
            assert (await metrics(app))['tile_pdb_solve_answers_total{source="cache"}'] == 4
            await ask_moves(app, BOARDS[0]).reply()
            assert len(solving.begun) > 1  # another question

    run(work())


def test_an_answer_that_a_limit_cut_short_is_not_kept(database: Database, solving: HeldSolving) -> None:
    async def work() -> None:
        async with running_app(database, solving) as app:
            both = [ask_solve(app, BOARDS[0], seconds=0.05) for _ in range(2)]
            for request in both:
                reply = await request.reply()
                assert (reply.status, reply.json["length"], reply.json["lower_bound"]) == (200, None, 5)
            assert len(solving.begun) == 1
            solving.release.set()
            assert (await ask_solve(app, BOARDS[0], seconds=0.05).reply()).json["length"] == 5
            assert len(solving.begun) == 2

    run(work())


@pytest.mark.parametrize("max_cached_bytes", [0, 10_000])
def test_kept_answers_take_bounded_memory(database: Database, solving: HeldSolving, max_cached_bytes: int) -> None:
    solving.release.set()

    async def work() -> None:
        async with running_app(database, solving, max_cached_bytes=max_cached_bytes) as app:
            for board in BOARDS[:40]:
                assert (await ask_solve(app, board).reply()).json["moves"] == list(answer_for(board))
                assert searches(app).n_cached_bytes <= max_cached_bytes
            assert (await metrics(app))["tile_pdb_cached_bytes"] == searches(app).n_cached_bytes
            # The last is there if there is room for any, the first is not.
            await ask_solve(app, BOARDS[39]).reply()
            assert len(solving.begun) == (40 if max_cached_bytes else 41)
            await ask_solve(app, BOARDS[0]).reply()
            assert len(solving.begun) == (41 if max_cached_bytes else 42)

    run(work())


# Queues


@pytest.mark.parametrize("events", [False, True])
def test_a_solve_waits_for_a_bounded_time(database: Database, solving: HeldSolving, events: bool) -> None:
    async def work() -> None:
        async with running_app(database, solving, n_solves=1, wait_s=0.1) as app:
            running = ask_solve(app, BOARDS[0])
            await until(lambda: len(solving.begun) == 1)
            for request in [ask_solve(app, BOARDS[1], events=events) for _ in range(2)]:
                reply = await request.reply()
                if events:
                    assert b"event: problem" in reply.body
                    assert b"BusyError" in reply.body
                else:
                    assert (reply.status, reply.headers["retry-after"]) == (503, "5")
                    assert "0.1 seconds" in reply.json["detail"]
            counted = await metrics(app)
            assert counted['tile_pdb_solve_refusals_total{queue="long",reason="waited"}'] == 1
            assert counted['tile_pdb_solve_wait_seconds_count{queue="long"}'] == 2
            assert counted['tile_pdb_solve_wait_seconds_sum{queue="long"}'] >= 0.1
            solving.release.set()
            assert (await running.reply()).status == 200
            assert (await ask_solve(app, BOARDS[1]).reply()).status == 200

    run(work())


def test_a_full_queue_refuses_other_solves_but_not_the_same(database: Database, solving: HeldSolving) -> None:
    async def work() -> None:
        async with running_app(database, solving, n_solves=1, n_waiting=1) as app:
            taken = [ask_solve(app, board) for board in BOARDS[:2]]
            await until(lambda: (searches(app).n_running, searches(app).n_waiting) == (1, 1))
            for events in (False, True):
                refused = await ask_solve(app, BOARDS[2], events=events).reply()
                assert (refused.status, refused.headers["retry-after"]) == (503, "5")
            taken += [ask_solve(app, BOARDS[at % 2], events=at % 3 == 0) for at in range(20)]
            await asyncio.sleep(0.02)
            assert (await metrics(app))['tile_pdb_solve_refusals_total{queue="long",reason="full"}'] == 2
            solving.release.set()
            assert {(await request.reply()).status for request in taken} == {200}
            assert len(solving.begun) == 2

    run(work())


def test_hints_and_short_solves_do_not_wait_behind_long_ones(database: Database, solving: HeldSolving) -> None:
    async def work() -> None:
        async with running_app(database, solving, n_solves=1, n_waiting=1) as app:
            long = [ask_solve(app, board) for board in BOARDS[:2]]
            await until(lambda: (searches(app).n_running, searches(app).n_waiting) == (1, 1))
            solving.wait_s = lambda board: 60.0 if board in BOARDS[:2] else 0.0
            hint = (await ask_moves(app, BOARDS[2]).reply()).json
            assert hint["distance"] == 5
            assert (await ask_solve(app, BOARDS[3], seconds=2).reply()).json["length"] == 5
            assert (await ask_solve(app, BOARDS[4], seconds=2.1).reply()).status == 503
            # No search, no turn.
            for reply in (await ask_solve(app, UNSOLVABLE).reply(), await ask_moves(app, UNSOLVABLE).reply()):
                assert (reply.status, reply.json["solvable"]) == (200, False)
            assert result_of(await ask_solve(app, UNSOLVABLE, events=True).reply())["solvable"] is False
            assert (await ask_moves(app, GOAL).reply()).json["distance"] == 0
            assert (await ask_moves(app, BOARDS[0], seconds=0).reply()).json["distance"] is None
            solving.wait_s = None
            solving.release.set()
            assert {(await request.reply()).status for request in long} == {200}

    run(work())


def test_events_tell_how_many_go_first(database: Database, solving: HeldSolving) -> None:
    async def work() -> None:
        async with running_app(database, solving, n_solves=1) as app:
            requests = [ask_solve(app, board, events=True) for board in BOARDS[:3]]
            await until(lambda: all(request.sent[1:] for request in requests))
            told = [request.sent[1]["body"] for request in requests]
            assert b"event: progress" in told[0]
            assert [b'{"ahead":0}' in told[1], b'{"ahead":1}' in told[2]] == [True, True]
            solving.release.set()
            for request in requests:
                await request.reply()

    run(work())


# The end of the service


@pytest.mark.parametrize("grace_s", [0.0, 30.0])
def test_shared_searches_have_the_time_of_grace(database: Database, solving: HeldSolving, grace_s: float) -> None:
    async def work() -> None:
        async with running_app(database, solving, n_solves=1, grace_s=grace_s) as app:
            shared = [ask_solve(app, BOARDS[0]) for _ in range(2)]
            await until(lambda: len(solving.begun) == 1)
            waiting = ask_solve(app, BOARDS[1])
            await until(lambda: searches(app).n_waiting == 1)
            searches(app).stopping.begin()
            assert (await ask_solve(app, BOARDS[2]).reply()).status == 503
            if grace_s:
                joined = ask_solve(app, BOARDS[0])
                solving.release.set()
                assert (await joined.reply()).status == 200
            replies = [await request.reply() for request in shared]
            assert [reply.status for reply in replies] == [200 if grace_s else 503] * 2
            assert (await waiting.reply()).status == 503
            assert solving.begun == [BOARDS[0]]
            assert (await metrics(app))['tile_pdb_solve_refusals_total{queue="long",reason="stopping"}'] == 2

    run(work())


def test_the_end_waits_for_the_threads_of_searches_given_up(database: Database, solving: HeldSolving) -> None:
    async def work() -> None:
        async with running_app(database, solving) as app:
            request = ask_solve(app, BOARDS[0])
            await until(lambda: len(solving.begun) == 1)
            request.leave()
            await request.task

    run(work())  # running_app looks for what is left
    assert not +solving._running


def test_a_request_that_the_end_cuts_off_is_answered(database: Database, solving: HeldSolving) -> None:
    async def work() -> None:
        async with running_app(database, solving) as app:
            request = ask_solve(app, BOARDS[0])
            await until(lambda: len(solving.begun) == 1)
            request.task.cancel()  # as uvicorn does when the time of grace is long over
            assert (await request.reply()).status == 503

    run(work())


# All at once, at random


def test_random_requests_have_one_outcome_each(database: Database) -> None:
    for seed in range(N_SEEDS):
        run(random_requests(database, seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, N_SLOW_SEEDS, 20))
def test_many_random_requests_have_one_outcome_each(database: Database, first: int) -> None:
    for seed in range(first, first + 20):
        run(random_requests(database, seed))


FAILING = BOARDS[3]


class RandomSolving(HeldSolving):
    """A solver whose searches take random times; those of one board fail."""

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
    """Requests that come, leave and are cut off in any order, in a service that stops in the midst of them or not."""
    chance = random.Random(seed)
    solving = RandomSolving(chance)
    n_solves = chance.randint(1, 2)
    settings = {
        "n_solves": n_solves,
        "n_waiting": chance.randint(0, 4),
        "wait_s": chance.choice([0.0, 0.01, 30.0]),
        "grace_s": chance.choice([0.0, 0.01, 5.0]),
        "max_cached_bytes": chance.choice([0, 3_000, 1_000_000]),
    }
    requests: list[tuple[Any, AppRequest]] = []
    left: set[int] = set()
    async with running_app(database, solving, **settings) as app:
        stop_at = chance.choice([None, 15, 30])
        for step in range(40):
            if step == stop_at:
                searches(app).stopping.begin()
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
            assert solving.most_running[is_short] <= n_solves
        await until(lambda: searches(app).n_running + searches(app).n_waiting == 0)
        counted = await metrics(app)
        waits = sum(
            counted.get(f'tile_pdb_solve_wait_seconds_count{{queue="{name}"}}', 0) for name in ("short", "long")
        )
        assert len(solving.begun) <= waits <= counted.get('tile_pdb_solve_answers_total{source="search"}', 0)


def check_outcome(board: Any, request: AppRequest, may_be_cut: bool) -> str:
    """Check the whole answer against the one that the board has, and return what it is."""
    starts = [message["status"] for message in request.sent if message["type"] == "http.response.start"]
    body = b"".join(message.get("body", b"") for message in request.sent)
    if may_be_cut and (not starts or starts == [499] or ((starts == [200] and b"event: " in body) or not body)):
        return "left"
    (status,) = starts
    if b"event: " in body:
        name, data = body.decode().strip().splitlines()[-2:]
        answer = orjson.loads(data.removeprefix("data: "))
        status = 200 if name == "event: result" else answer["status"]
    else:
        answer = orjson.loads(body)
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
