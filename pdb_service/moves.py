"""Every legal move from a board, best first: a hint for a player."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdb_core.puzzle import BLANK, Board, BoardSize, is_solvable
from pdb_service.lookups import board_answer, maxima
from pdb_service.searches import Question, Report, Solvers
from solver import Iteration, Limits, Solution


class _TooFarError(Exception):
    """A search has passed the largest distance of interest."""


@dataclass(frozen=True)
class ListMoves(Question):
    """Task of a list of moves. Its answer is a `MovesAnswer`."""

    @property
    def needs_search(self) -> bool:
        """Return whether distances have to be found, and there is time for that."""
        goal = self.served.goal
        return self.seconds > 0 and self.board != goal and is_solvable(self.board, goal, self.served.size)

    def find(self, solvers: Solvers, report: Report) -> tuple[dict[str, Any], bool]:
        """Return as `Question.find`."""
        answer = board_answer(self.board, self.served)
        children = _children(self.board, self.served.size)
        if not answer["solvable"]:
            moves = [_move(self.board, child, None, None) for child in children]
            return {**answer, "h": None, "distance": None, "moves": moves}, True
        h, *child_h = maxima([self.board, *children], self.served)
        h_of = dict(zip(children, child_h, strict=True))
        children.sort(key=h_of.__getitem__)
        distance, distances = None, dict[Board, int]()
        if self.board == self.served.goal:
            distance, distances = 0, dict.fromkeys(children, 1)
        elif self.needs_search:
            distance, distances = _Distances(self, solvers, report).find(children)
        if distance is not None:
            # A child whose distance was not found is between those one nearer and those one farther.
            children.sort(key=lambda child: (distances.get(child, distance), h_of[child]))
        moves = [_move(self.board, child, h_of[child], distances.get(child)) for child in children]
        return {**answer, "h": h, "distance": distance, "moves": moves}, len(distances) == len(children)


def _children(board: Board, size: BoardSize) -> list[Board]:
    """Return the board after each legal move."""
    blank = board.index(BLANK)
    boards = []
    for cell in size.neighbours[blank]:
        cells = list(board)
        cells[blank], cells[cell] = cells[cell], BLANK
        boards.append(tuple(cells))
    return boards


def _move(board: Board, child: Board, h: int | None, distance: int | None) -> dict[str, Any]:
    cell, blank = child.index(BLANK), board.index(BLANK)
    return {"tile": board[cell], "cell": cell, "blank": blank, "board": child, "h": h, "distance": distance}


class _Distances:
    """Search for the exact distances of a board and its children, within the limits of one question."""

    def __init__(self, question: ListMoves, solvers: Solvers, report: Report) -> None:
        self._board, self._served = question.board, question.served
        self._solvers, self._report = solvers, report
        self._deadline = time.monotonic() + question.seconds
        self._nodes_left = question.nodes

    def find(self, children: Sequence[Board]) -> tuple[int | None, dict[Board, int]]:
        """Return the distance of the board and those of its children, as far as they are found.

        A child is one move nearer or one farther, by parity. So its search may stop after the nearer distance.
        """
        root = self._solve(self._board, None)
        if root is None or root.length is None or not root.tiles:
            return None, {}
        distances: dict[Board, int] = {}
        for child in children:
            if self._board[child.index(BLANK)] == root.tiles[0]:
                distances[child] = root.length - 1
                continue
            solution = self._solve(child, root.length - 1)
            if solution is None:
                distances[child] = root.length + 1
            elif solution.length is not None:
                distances[child] = solution.length
        return root.length, distances

    def _solve(self, board: Board, longest: int | None) -> Solution | None:
        """Return the solution, without a length if a limit was reached; None if it is longer than `longest`."""

        def report(progress: Iteration) -> None:
            self._report(progress)
            if longest is not None and progress.threshold > longest:
                raise _TooFarError

        limits = Limits(max(0.0, self._deadline - time.monotonic()), self._nodes_left)
        try:
            solution = self._solvers.solve(self._served.database, board, self._served.goal, limits, report)
        except _TooFarError:
            return None
        if self._nodes_left is not None:
            self._nodes_left = max(1, self._nodes_left - solution.generated)
        return solution
