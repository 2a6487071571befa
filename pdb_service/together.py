"""Boards of requests that wait at the same time, answered by one call."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pdb_core.puzzle import Board
from pdb_service.databases import Served

Result = TypeVar("Result")
_Asked = list[tuple[Board, asyncio.Future[Result]]]
# Boards of one call.
_MOST_BOARDS = 64


@dataclass
class Together(Generic[Result]):
    """Boards of requests that wait at the same time, answered by one call. For the event loop.

    answer     returns the results of the first boards, at least of one; the others wait for the next call
    n_at_once  calls of `answer` that may run at the same time
    """

    answer: Callable[[Served, list[Board]], Awaitable[Sequence[Result]]]
    n_at_once: int

    def __post_init__(self) -> None:
        self._waiting: dict[Served, _Asked[Result]] = {}
        self._tasks: set[asyncio.Task[None] | None] = set()

    async def ask(self, board: Board, served: Served) -> Result:
        """Return the result of a board."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(served, []).append((board, result))
        if len(self._tasks) < self.n_at_once:
            # Other requests that have arrived run first, and ask too.
            self._tasks.add(asyncio.create_task(self._answer_all()))
        return await result

    async def _answer_all(self) -> None:
        while self._waiting:
            served = next(iter(self._waiting))
            asked = [each for each in self._waiting.pop(served) if not each[1].done()]  # some may have left
            # Calls that may start now share the boards.
            n_now = min(_MOST_BOARDS, -(-len(asked) // (1 + self.n_at_once - len(self._tasks))))
            self._wait_again(served, asked[n_now:])
            if asked := asked[:n_now]:
                await self._answer_some(served, asked)
        self._tasks.discard(asyncio.current_task())

    async def _answer_some(self, served: Served, asked: _Asked[Result]) -> None:
        try:
            found = await self.answer(served, [board for board, _ in asked])
        except Exception as error:
            for _, result in asked:
                if not result.done():
                    result.set_exception(error)
            return
        for (_, result), one in zip(asked, found, strict=False):
            if not result.done():  # the request may have been cancelled
                result.set_result(one)
        self._wait_again(served, asked[len(found) :])

    def _wait_again(self, served: Served, asked: _Asked[Result]) -> None:
        if asked:
            self._waiting[served] = asked + self._waiting.get(served, [])
