"""The way of a board: a request goes to a source of answers, and its answer comes back once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from pdb_core.errors import MemoryLimitError, UnsolvableError
from pdb_core.puzzle import Board, BoardSize, Tiles
from solver.solution import Solution

# A board that cannot be solved, or not within the memory, has an error instead of a solution.
Result = Solution | UnsolvableError | MemoryLimitError


@dataclass(frozen=True)
class Request:
    """Board to be solved for a goal. `id` names it in messages, progress and results."""

    id: str
    board: Board
    goal: Tiles

    @property
    def size(self) -> BoardSize:
        return self.board.size


@dataclass(frozen=True)
class Answer:
    """Request and its result."""

    request: Request
    result: Result


class AnswerSource(Protocol):
    """Search that answers requests: the engine in batches, a textbook search, the suboptimal search, or a cluster."""

    def answers(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Yield the answer of each request, in the order of the requests.

        Requests are read ahead in a thread, so a slow iterator delays no search. Errors of `requests` are raised after
        the answers of the requests before.
        """
        ...
