"""Requests to solve boards, and the protocol of the sources that answer each of them once."""

from array import array
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pdb_core.board_size import BoardSize
from pdb_core.errors import MemoryLimitError, UnsolvableError
from pdb_core.puzzle import Board, Tiles
from solver.engine.checkpoint import Checkpoint
from solver.progress import Iteration
from solver.solution import Solution

# A board that cannot be solved, or not within the memory, has an error instead of a solution.
Result = Solution | UnsolvableError | MemoryLimitError


@dataclass(frozen=True)
class Request:
    """Board to be solved for a goal.

    id                name of the board in messages, progress and results
    optimal_length    known number of moves, which an answer must not contradict; None if it is not known
    published_length  number of moves of a known solution, which an answer may improve; None if there is none
    """

    id: str
    board: Board
    goal: Tiles
    optimal_length: int | None = None
    published_length: int | None = None

    @property
    def size(self) -> BoardSize:
        return self.board.size

    @property
    def key(self) -> bytes:
        """Size, board and goal: equal requests have equal answers."""
        return request_key(self.size.width, self.board, self.goal)


def request_key(width: int, board: Sequence[int], goal: Sequence[int]) -> bytes:
    """Return `Request.key`. Raises `TypeError`, `OverflowError` if they are not such numbers."""
    # Boards of more than 16x16 have numbers above 255.
    return array("H", [width, *board, *goal]).tobytes()


@dataclass(frozen=True)
class Answer:
    """Request and its result."""

    request: Request
    result: Result


@dataclass(frozen=True)
class Hooks:
    """Functions that a source of answers calls, which keep a log and show the progress.

    known          returns the result of a request that needs no search, else None
    finished       is called with each answer that was searched, in any order and in any thread
    checkpoint_of  returns the checkpoint of a board that may take long
    watch          is called several times a second with a board that is searched, its threshold, and its checkpoint
    """

    known: Callable[[Request], Result | None] | None = None
    finished: Callable[[Answer], None] = lambda _answer: None
    checkpoint_of: Callable[[Request], Checkpoint] = lambda _request: Checkpoint()
    watch: Callable[[Request, Iteration, Checkpoint], None] = lambda *_: None


class AnswerSource(Protocol):
    """Search that answers requests: the engine in batches, a textbook search, the suboptimal search, or a cluster."""

    def answers(self, requests: Iterable[Request]) -> Generator[Answer, None, None]:
        """Yield the answer of each request, in the order of the requests.

        Requests are read ahead in a thread, so a slow iterator delays no search. Errors of `requests` are raised after
        the answers of the requests before.
        """
        ...
