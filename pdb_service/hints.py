"""The answer of /v1/moves: the moves of a board, with their lower bounds and distances, best first."""

import math
import time
from collections.abc import Sequence

import numpy as np

from pdb_core.puzzle import Board
from pdb_core.types import BLANK
from pdb_service.databases import Served
from pdb_service.models import MoveAnswer, MovesAnswer
from pdb_service.searches import Report, Searches
from solver import Iteration, Limits, Solution


def list_moves(
    service: Searches, board: Board, served: Served, limits: Limits, report: Report | None = None
) -> MovesAnswer:
    """Return every legal move, best first; without `report`, distances are not searched."""
    children = [board.move(tile) for tile in board.moves()]
    solvable, h_of, distances = board.is_solvable(served.goal), dict[Board, int](), dict[Board, int]()
    if solvable:
        boards = [board, *children]
        found = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
        h_of = dict(zip(boards, found.h.tolist(), strict=True))
    if board == served.goal:
        distances = dict.fromkeys(children, 1) | {board: 0}
    elif report is not None:
        distances = _distances(service, board, children, served, limits, report)
    distance = distances.get(board)
    if solvable:
        # A child whose distance was not found is between those one nearer and those one farther.
        children.sort(key=lambda child: (distances.get(child, distance or 0), h_of[child]))
        if distance is None and report is not None:
            # By h, one hint after another may lead to and fro.
            first = service.first_tile(board, served, report)
            children.sort(key=lambda child: board[child.index(BLANK)] != first)
    moves = tuple(MoveAnswer.of(board, child, h_of.get(child), distances.get(child)) for child in children)
    about = MovesAnswer.about(board, served, solvable=solvable)
    return MovesAnswer(**about, h=h_of.get(board), distance=distance, moves=moves)


class _TooFarError(Exception):
    """A search has passed the largest distance of interest."""


def _distances(
    service: Searches, board: Board, children: Sequence[Board], served: Served, limits: Limits, report: Report
) -> dict[Board, int]:
    """Return the distances of a board and of its children, as far as they are found within the limits.

    A child is one move nearer or one farther, by parity. So its search may stop after the nearer distance.
    """
    deadline, nodes_left = time.monotonic() + (limits.time_limit or 0), limits.max_nodes

    def solve(start: Board, longest: float) -> Solution | None:
        """Return the solution, without a length if a limit was reached; None if it is longer than `longest`."""
        nonlocal nodes_left

        def check(progress: Iteration) -> None:
            report(progress)
            if progress.threshold > longest:
                raise _TooFarError

        try:
            solution = service.solve(start, served, Limits(max(0.0, deadline - time.monotonic()), nodes_left), check)
        except _TooFarError:
            return None
        if nodes_left is not None:
            nodes_left = max(1, nodes_left - solution.generated)
        return solution

    root = solve(board, math.inf)
    if root is None or not root.moves:
        return {}
    distance = len(root.moves)
    distances = {board: distance}
    for child in children:
        if board[child.index(BLANK)] == root.moves[0]:
            distances[child] = distance - 1
        elif (solution := solve(child, distance - 1)) is None:
            distances[child] = distance + 1
        elif solution.length is not None:
            distances[child] = solution.length
    return distances
