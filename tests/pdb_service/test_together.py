"""Boards of several requests in one call: each request gets what it would get alone."""

import asyncio
from typing import Any

from pdb_core.errors import PdbError
from pdb_core.puzzle import Board
from pdb_query import Database
from pdb_service.served_databases import Served
from pdb_service.together import Together
from tests.pdb_service.app_requests import BOARDS, GOAL

WRONG, HARD, LEFT = (Board(board) for board in BOARDS[:3])


def test_each_board_gets_its_own_result_or_error(database: Database) -> None:
    calls: list[list[Board]] = []

    async def answer(_: Served, boards: list[Board]) -> list[int]:
        calls.append(boards)
        await asyncio.sleep(0)
        if WRONG in boards:
            raise PdbError("wrong")
        n_found = boards.index(HARD) if HARD in boards else len(boards)
        return [board[0] for board in boards[:n_found]]

    async def work() -> list[Any]:
        together, served = Together(answer, 2), Served("a", database, Board(GOAL))
        asked = [asyncio.create_task(together.ask(Board(board), served)) for board in BOARDS[:100]]
        await asyncio.sleep(0)
        asked[BOARDS.index(LEFT)].cancel()
        found = await asyncio.gather(*asked, return_exceptions=True)
        return [*found, await together.ask(Board(BOARDS[50]), served)]

    wrong, hard, left, *found = asyncio.run(work())
    assert (str(wrong), hard, type(left)) == ("wrong", None, asyncio.CancelledError)
    assert found == [board[0] for board in [*BOARDS[3:100], BOARDS[50]]]
    assert max(map(len, calls)) > 30
