"""The questions that need a search, and their answers: an optimal solution, and every legal move, best first."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdb_core.puzzle import BLANK, Board, BoardSize, is_solvable
from pdb_service.lookups import board_answer, maxima
from pdb_service.searches import Question, Report, Solvers
from solver import Iteration, Limits, Solution


@dataclass(frozen=True)
class Solve(Question):
    """Task of a solve. Its answer is a `SolveAnswer`."""

    @property
    def needs_search(self) -> bool:
        """Return whether the board can be solved."""
        return is_solvable(self.board, self.served.goal, self.served.size)

    def find(self, solvers: Solvers, report: Report) -> tuple[dict[str, Any], bool]:
        """Return as `Question.find`."""
        answer = board_answer(self.board, self.served)
        if not answer["solvable"]:
            unknown = {"length": None, "moves": None, "optimal": False, "h": None, "lower_bound": None}
            return {**answer, **unknown, "generated": 0, "expanded": 0, "seconds": 0.0, "thresholds": []}, True
        limits = Limits(self.seconds, self.nodes)
        solution = solvers.solve(self.served.database, self.board, self.served.goal, limits, report)
        return {
            **answer,
            "length": solution.length,
            "moves": solution.tiles,
            "optimal": solution.is_optimal,
            "h": solution.h,
            "lower_bound": solution.lower_bound,
            "generated": solution.generated,
            "expanded": solution.expanded,
            "seconds": round(solution.seconds, 6),
            "thresholds": [{**vars(at), "seconds": round(at.seconds, 6)} for at in solution.iterations],
        }, solution.is_optimal


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
        h: int | None = None
        h_of, distance, distances = dict[Board, int](), None, dict[Board, int]()
        if answer["solvable"]:
            h, *child_h = maxima([self.board, *children], self.served)
            h_of = dict(zip(children, child_h, strict=True))
            children.sort(key=h_of.__getitem__)
        if self.board == self.served.goal:
            distance, distances = 0, dict.fromkeys(children, 1)
        elif self.needs_search:
            distance, distances = self._distances(children, solvers, report)
        if distance is not None:
            # A child whose distance was not found is between those one nearer and those one farther.
            children.sort(key=lambda child: (distances.get(child, distance), h_of[child]))
        moves = [_move(self.board, child, h_of.get(child), distances.get(child)) for child in children]
        is_complete = len(distances) == len(children)
        return {**answer, "h": h, "distance": distance, "moves": moves}, is_complete

    def _distances(
        self, children: Sequence[Board], solvers: Solvers, report: Report
    ) -> tuple[int | None, dict[Board, int]]:
        """Return the distance of the board and those of its children, as far as they are found within the limits.

        A child is one move nearer or one farther, by parity. So its search may stop after the nearer distance.
        """
        deadline = time.monotonic() + self.seconds
        nodes_left = self.nodes

        def solve(board: Board, longest: int | None) -> Solution | None:
            """Return the solution, without a length if a limit was reached; None if it is longer than `longest`."""
            nonlocal nodes_left

            def check(progress: Iteration) -> None:
                report(progress)
                if longest is not None and progress.threshold > longest:
                    raise _TooFarError

            limits = Limits(max(0.0, deadline - time.monotonic()), nodes_left)
            try:
                solution = solvers.solve(self.served.database, board, self.served.goal, limits, check)
            except _TooFarError:
                return None
            if nodes_left is not None:
                nodes_left = max(1, nodes_left - solution.generated)
            return solution

        root = solve(self.board, None)
        if root is None or root.length is None or not root.tiles:
            return None, {}
        distances: dict[Board, int] = {}
        for child in children:
            if self.board[child.index(BLANK)] == root.tiles[0]:
                distances[child] = root.length - 1
                continue
            solution = solve(child, root.length - 1)
            if solution is None:
                distances[child] = root.length + 1
            elif solution.length is not None:
                distances[child] = solution.length
        return root.length, distances


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
