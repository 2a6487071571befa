"""Boards of several requests in one call: each request gets what it would get alone."""

import asyncio

import pytest

from pdb_core.errors import PdbError
from pdb_core.puzzle import Board, parse_goal
from pdb_query import Database
from pdb_service.databases import Served
from pdb_service.searches import Searches, Together
from pdb_service.settings import ServiceSettings
from solver.engine.checkpoint import Checkpoint
from solver.solution import Solution
from tests.pdb_service.app_requests import BOARDS, GOAL
from tests.solving import database_for


@pytest.mark.anyio
async def test_each_board_gets_its_own_result_or_the_error_of_its_call(database: Database) -> None:
    calls: list[list[Board]] = []

    async def answer(_: Served, boards: list[Board]) -> list[Board]:
        calls.append(boards)
        await asyncio.sleep(0)
        if Board(BOARDS[99]) in boards:
            raise PdbError("wrong")
        return boards

    together, served = Together(answer, 2), Served("a", database, Board(GOAL))
    asked = [asyncio.create_task(together.ask(Board(board), served)) for board in BOARDS[:100]]
    await asyncio.sleep(0)
    asked[0].cancel()
    left, *found = await asyncio.gather(*asked, return_exceptions=True)
    found.append(await together.ask(Board(GOAL), served))
    assert type(left) is asyncio.CancelledError
    assert list(map(str, found)) == [*map(str, map(Board, BOARDS[1:65])), *["wrong"] * 35, str(Board(GOAL))]
    assert [len(call) for call in calls] == [64, 35, 1]


def test_hard_board_continues_after_the_thresholds_of_its_easy_search() -> None:
    easy, hard = Board("1 2 3 4/5 6 7 8/9 10 11 0/13 14 15 12"), Board("14 15 12 11/2 3 6 5/13 0 8 7/4 10 9 1")
    with database_for("663", "4x4") as database:
        service = Searches([database], ServiceSettings())
        served = Served("663", database, parse_goal("blank-last", hard.size))
        solved, checkpoint, *rest = service.solve_easy(served, [easy, hard, easy, hard])
        assert isinstance(solved, Solution)
        assert isinstance(checkpoint, Checkpoint)
        assert [type(each) for each in rest] == [Solution, Checkpoint]
        seen: list[int] = []
        solver = service.solver(database)
        continued = solver.solve(hard, served.goal, report=lambda at: seen.append(at.threshold), checkpoint=checkpoint)
        whole = solver.solve(hard, served.goal)
    assert min(seen) > continued.thresholds[0].threshold
    assert (continued.length, continued.generated) == (whole.length, whole.generated)
