"""Requests to solve boards, their answers, and the log that a source of answers asks and tells."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from pdb_core.board_size import BoardSize
from pdb_core.errors import MemoryLimitError, UnsolvableError
from pdb_core.puzzle import Board, Tiles
from solver.engine.checkpoint import Checkpoint
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


class Log:
    """Log that keeps nothing. `AnswerLog` overrides its methods, which any thread calls."""

    def known(self, _request: Request) -> Result | None:
        """Return the result if it is known without a search, or None."""
        return None

    def finish(self, answer: Answer) -> None:
        """Take an answer that was searched."""

    def checkpoint(self, _request: Request) -> Checkpoint:
        """Return the checkpoint of a board that may take long."""
        return Checkpoint()
