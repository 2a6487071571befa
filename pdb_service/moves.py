"""Every legal move from a board, best first: what a game needs for a hint."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pdb_core.puzzle import BLANK, Board, BoardSize, is_solvable
from pdb_service.lookups import described, maxima
from pdb_service.searches import Question
from pdb_service.served_databases import Served
from pdb_service.solve_queue import Job
from pdb_service.solving import Answer, Progress, Solving

Report = Callable[[Progress], None]


class _TooFarError(Exception):
    """The search has gone past the last distance that matters."""


@dataclass(frozen=True)
class ListMoves(Question):
    """A list of moves that a request asks for. Its answer is a `MovesAnswer`."""

    @property
    def needs_search(self) -> bool:
        """Return whether distances have to be found, and time is given for that."""
        goal = self.served.goal
        return self.seconds > 0 and self.board != goal and is_solvable(self.board, goal, self.served.size)

    def find(self, solving: Solving, job: Job) -> dict[str, Any]:
        """As `Question`."""
        return list_moves(self.board, self.served, solving, seconds=self.seconds, nodes=self.nodes, report=job.report)

    def is_complete(self, answer: dict[str, Any]) -> bool:
        """As `Question`."""
        return all(move["distance"] is not None for move in answer["moves"])


def list_moves(
    board: Board, served: Served, solving: Solving, *, seconds: float, nodes: int | None, report: Report
) -> dict[str, Any]:
    """The body of a list of moves: a `MovesAnswer`. Distances are those found within the limits; no seconds, none."""
    answer = described(board, served)
    after = _boards_after(board, served.size)
    if not answer["solvable"]:
        moves = [_move(board, child, None, None) for child in after]
        return {**answer, "h": None, "distance": None, "moves": moves}
    h, *child_h = maxima([board, *after], served)
    order = sorted(range(len(after)), key=lambda at: child_h[at])
    distances: dict[int, int] = {}
    distance = 0 if board == served.goal else None
    if board == served.goal:
        distances = dict.fromkeys(order, 1)
    elif seconds > 0:
        search = _Search(served, solving, seconds, nodes, report)
        found = search.solve(board)
        if found is not None and found.length is not None and found.tiles:
            distance = found.length
            distances = search.distances_after(distance, found.tiles[0], [(at, board, after[at]) for at in order])
    ranked = sorted(order, key=lambda at: (distances.get(at, distance), child_h[at]) if distances else child_h[at])
    moves = [_move(board, after[at], child_h[at], distances.get(at)) for at in ranked]
    return {**answer, "h": h, "distance": distance, "moves": moves}


def _boards_after(board: Board, size: BoardSize) -> list[Board]:
    """The board after each legal move."""
    blank = board.index(BLANK)
    boards = []
    for cell in size.neighbours[blank]:
        cells = list(board)
        cells[blank], cells[cell] = cells[cell], BLANK
        boards.append(tuple(cells))
    return boards


def _move(board: Board, after: Board, h: int | None, distance: int | None) -> dict[str, Any]:
    cell, blank = after.index(BLANK), board.index(BLANK)
    return {"tile": board[cell], "cell": cell, "blank": blank, "board": after, "h": h, "distance": distance}


class _Search:
    """Searches that share one limit."""

    def __init__(self, served: Served, solving: Solving, seconds: float, nodes: int | None, report: Report) -> None:
        self._served, self._solving, self._report = served, solving, report
        self._deadline = time.monotonic() + seconds
        self._nodes_left = nodes

    def solve(self, board: Board, longest: int | None = None) -> Answer | None:
        """A shortest solution; None where it is proved to be longer than `longest`.

        Where a limit was reached the answer has no length.
        """

        def report(progress: Progress) -> None:
            self._report(progress)
            if longest is not None and progress.threshold > longest:
                raise _TooFarError

        try:
            answer = self._solving(
                self._served.database,
                board,
                self._served.goal,
                seconds=max(0.0, self._deadline - time.monotonic()),
                nodes=self._nodes_left,
                report=report,
            )
        except _TooFarError:
            return None
        if self._nodes_left is not None:
            self._nodes_left = max(1, self._nodes_left - answer.generated)
        return answer

    def distances_after(
        self, distance: int, first_tile: int, children: list[tuple[int, Board, Board]]
    ) -> dict[int, int]:
        """The exact distances of boards one move from one whose distance is known, as far as they are found.

        children  (key, the board, the board after a move)

        Each is one nearer or one farther, by parity: it is enough to know whether it can be done in one less.
        """
        found: dict[int, int] = {}
        for key, board, child in children:
            if board[child.index(BLANK)] == first_tile:
                found[key] = distance - 1
                continue
            answer = self.solve(child, distance - 1)
            if answer is None:
                found[key] = distance + 1
            elif answer.length is not None:
                found[key] = answer.length
        return found
