"""The legal moves of a board, best first."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from pdb_core.errors import InputError, LimitReachedError
from pdb_core.puzzle import Board, Tiles
from pdb_core.types import BLANK
from pdb_service.databases import Served
from solver.beams.solutions import find_by_beams
from solver.distances import boards_at_distances
from solver.progress import Iteration, Limits
from solver.solve import Solver

# Beams of this width take some 30 ms for a 5x5 board. With a tenth of it, the first moves of one solution after another
# may lead to and fro.
_BEAM_WIDTH, _BEAM_MOVES = 2000, 700

Report = Callable[[Iteration], None]


def list_moves(
    board: Board, served: Served, end: float, max_nodes: int | None, solver: Solver, report: Report | None = None
) -> dict[str, Any]:
    """Return a `MovesAnswer`; without `report`, distances are not searched, and with it until the time `end`."""
    solvable = board.is_solvable(served.goal)
    children = {tile: board.move(tile) for tile in board.moves()}
    h_of, distances, bound = dict[Board, int](), dict[Board, int](), None
    solution: Tiles = ()
    if solvable:
        boards = [board, *children.values()]
        found = served.database.probe_batch(np.array(boards, dtype=np.uint8), served.goal)
        h_of = dict(zip(boards, found.h.tolist(), strict=True))
        bound = h_of[board]
        if report is not None:

            def watch(progress: Iteration) -> None:
                nonlocal bound
                report(progress)
                bound = progress.threshold + 1  # no solution after a move is shorter than the threshold

            with suppress(LimitReachedError):
                labels = solver.label([board], served.goal, n_threads=1, report=_checking(watch, end, max_nodes))
                assert labels.after is not None
                lengths = np.append(labels.distances, labels.after)
                distances = dict(zip(boards, lengths[lengths >= 0].tolist(), strict=True))
            bound = distances.get(board, bound)
            if not distances:  # by h, one hint after another may lead to and fro
                solution = short_solution(board, served, report)

    moves = [
        {
            "tile": tile, "cell": board.index(tile), "blank": board.index(BLANK), "board": child,
            "h": h_of.get(child), "distance": distances.get(child),
        }
        for tile, child in children.items()
    ]  # fmt: skip
    moves.sort(key=lambda at: (at["distance"] or 0, at["tile"] not in solution[:1], at["h"] or 0))
    distance = distances.get(board)
    return served.about(board, solvable=solvable) | {
        "h": h_of.get(board), "distance": distance, "lower_bound": bound,
        "length": len(solution) if solution else distance, "moves": moves,
    }  # fmt: skip


def short_solution(board: Tiles, served: Served, report: Report | None = None) -> Tiles:
    """Return the tiles of a short solution, perhaps not optimal, that beams find; () if they find none."""
    return find_by_beams(board, served.goal, served.size, _BEAM_WIDTH, _BEAM_MOVES, math.inf, report) or ()


def draw_board(distance: int, served: Served, limits: Limits, solver: Solver, seed: int, report: Report) -> list[int]:
    """Return a board at a distance from the goal. Raises `InputError` if a limit is reached first."""
    end = time.monotonic() + (limits.time_limit or 0)

    def check_time(_: int) -> None:  # easy boards report nothing
        if time.monotonic() >= end:
            raise LimitReachedError

    with suppress(LimitReachedError):
        found: list[list[int]] = boards_at_distances(
            solver,
            distance,
            goal=served.goal,
            seed=seed,
            progress=check_time,
            n_threads=1,
            report=_checking(report, end, limits.max_nodes),
        ).tolist()
        return found[0]
    raise InputError(f"no board at distance {distance} was found in time; ask for a smaller distance")


def _checking(report: Report, end: float, max_nodes: int | None) -> Report:
    """Return a report that raises `LimitReachedError` at a limit."""

    def check(progress: Iteration) -> None:
        report(progress)
        if time.monotonic() >= end or progress.generated >= (max_nodes or math.inf):
            raise LimitReachedError

    return check
