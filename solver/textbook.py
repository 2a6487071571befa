"""A* and IDA* as in textbooks, over boards, with `heapq` and recursion: for reading, and to test the fast searches.

Both find an optimal solution with a heuristic that never overestimates. A node here is a board
and the path to it; g is the length of the path, h the heuristic's lower bound on the moves left, and f = g + h.
The result is not called optimal if h of a board on the solution is more than the moves left.
"""

import heapq
import itertools
import math
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pdb_core.arguments import as_names, as_number, check_kind
from pdb_core.board_size import SizeLike
from pdb_core.puzzle import Board, BoardLike, as_goal, unchecked_board
from pdb_core.types import BLANK
from solver.progress import Iteration
from solver.solution import Solution, check_solvable, least_length, replay, solution_of

Heuristic = Callable[[Board], float]
# Pairs of the blank's moves (up, left, right, down) of which the second undoes the first.
UNDOING = ("UD", "DU", "LR", "RL")


def children(board: Board) -> Iterator[tuple[str, int, Board]]:
    """Yield for each move of the blank, in the order up, left, right, down: its letter, the tile, the next board."""
    size = board.size
    blank = board.index(BLANK)
    letters = {-size.width: "U", -1: "L", 1: "R", size.width: "D"}
    for cell in size.neighbours[blank]:
        cells = list(board)
        cells[blank], cells[cell] = cells[cell], BLANK
        yield letters[cell - blank], board[cell], unchecked_board(cells, size)


def a_star(
    board: BoardLike, heuristic: Heuristic, goal: BoardLike = "blank-last", size: SizeLike | None = None
) -> Solution:
    """Return an optimal solution of a board by A* (Hart, Nilsson and Raphael 1968).

    The open node with the least f is expanded next; among equals, the one with the least h. A board that is reached by
    a shorter path is opened again, so the heuristic may be inconsistent.

    Parameters
    ----------
    board
        Board to solve.
    heuristic
        Function of a `Board` that returns a lower bound on the moves from there to the goal. Fractions are rounded up.
        If it overestimates, the solution may be longer than the optimum, and `optimal` may be wrong. If numba has
        compiled it, it is one for `HeuristicSolver`, which is much faster.
    goal
        Board to reach, or its name.
    size
        Size of the board, if it does not follow from `board`.

    Raises
    ------
    BoardError, GoalError, UnsolvableError, InputError
        The board cannot be solved, or an argument is invalid.

    Examples
    --------
    >>> def misplaced(board):
    ...     return sum(tile not in (0, cell) for cell, tile in enumerate(board, 1))
    >>> a_star("1 2 3/4 5 6/0 7 8", misplaced).moves
    (7, 8)
    """
    board, goal, bound = _checked(board, heuristic, goal, size)
    start = time.perf_counter()
    least_g = {board: 0}
    # The board before, and the tile moved.
    parents: dict[Board, tuple[Board, int]] = {}
    h = bound(board)
    open_nodes = [(h, h, board)]
    closed: set[Board] = set()
    generated = expanded = reopened = peak_open = 0
    while True:
        peak_open = max(peak_open, len(open_nodes))
        f, h_here, here = heapq.heappop(open_nodes)
        g = f - h_here
        if g > least_g[here]:
            continue  # a shorter path was found since
        if here == goal:
            break
        expanded += 1
        reopened += here in closed
        closed.add(here)
        for _letter, tile, child in children(here):
            generated += 1
            if child not in least_g or g + 1 < least_g[child]:
                least_g[child] = g + 1
                parents[child] = here, tile
                h_child = bound(child)
                heapq.heappush(open_nodes, (g + 1 + h_child, h_child, child))
    tiles: list[int] = []
    while here != board:
        here, tile = parents[here]
        tiles.append(tile)
    iteration = Iteration(g, generated, expanded, time.perf_counter() - start)
    solution = _solution(board, goal, "a-star", bound, tiles[::-1], [iteration])
    return replace(solution, reopened=reopened, peak_open=peak_open, thresholds=())


def ida_star(
    board: BoardLike,
    heuristic: Heuristic,
    goal: BoardLike = "blank-last",
    size: SizeLike | None = None,
    *,
    pruned: Collection[str] = UNDOING,
) -> Solution:
    """Return an optimal solution of a board by IDA* (Korf 1985): depth first, with ever larger thresholds on f.

    A node is generated when the search reaches it, and counted before its h is evaluated. Thresholds have the parity of
    the solutions. Errors, and parameters beside `pruned`, are those of `a_star`.

    Parameters
    ----------
    pruned
        Sequences of the blank's moves, such as ``"UD"``, that no path contains.

    Examples
    --------
    >>> def misplaced(board):
    ...     return sum(tile not in (0, cell) for cell, tile in enumerate(board, 1))
    >>> ida_star("1 2 3/4 5 6/0 7 8", misplaced).moves
    (7, 8)
    """
    board, goal, bound = _checked(board, heuristic, goal, size)
    pruned = frozenset(as_names(pruned, "pruned"))
    lengths = sorted(set(map(len, pruned)))
    counts = {"generated": 0, "expanded": 0}
    iterations: list[Iteration] = []

    def search(here: Board, path: str, tiles: list[int], threshold: int) -> bool:
        """Search below a node. Returns whether the goal was found; `tiles` then lead there."""
        counts["expanded"] += 1
        for letter, tile, child in children(here):
            longer = path + letter
            if any(longer[-length:] in pruned for length in lengths):
                continue
            counts["generated"] += 1
            tiles.append(tile)
            if child == goal:
                return True
            if len(longer) + bound(child) <= threshold and search(child, longer, tiles, threshold):
                return True
            tiles.pop()
        return False

    tiles: list[int] = []
    for threshold in itertools.count(least_length(bound(board), board, goal), 2):
        if board == goal:
            break
        start = time.perf_counter()
        counts |= {"generated": 0, "expanded": 0}
        is_found = search(board, "", tiles, threshold)
        iterations.append(Iteration(threshold, counts["generated"], counts["expanded"], time.perf_counter() - start))
        if is_found:
            break
    return _solution(board, goal, "ida-star", bound, tiles, iterations)


def _checked(
    board: BoardLike, heuristic: Heuristic, goal: BoardLike, size: SizeLike | None
) -> tuple[Board, Board, Callable[[Board], int]]:
    """Return the board, the goal and the heuristic in whole numbers. Raises what the searches raise."""
    check_kind(heuristic, Callable, "heuristic", "a function of a board")
    board = Board(board, size)
    goal = as_goal(goal, board.size)
    check_solvable(board, goal, board.size)
    takes_cells = hasattr(heuristic, "py_func")  # numba has compiled it, and knows no `Board`

    def bound(here: Board) -> int:
        """Round up, because a length is a whole number, except for a rounding error."""
        given: Any = np.array(here, dtype=np.int8) if takes_cells else here
        return math.ceil(as_number(heuristic(given), "the value of the heuristic", most=1e9) - 1e-9)

    return board, goal, bound


def _solution(
    board: Board,
    goal: Board,
    algorithm: str,
    bound: Callable[[Board], int],
    moves: list[int],
    iterations: list[Iteration],
) -> Solution:
    bounds = [bound(unchecked_board(cells, board.size)) for cells in replay(board, moves, goal, board.size)]
    return solution_of(
        board,
        goal,
        moves,
        len(moves),
        h=bounds[0],
        generated=sum(iteration.generated for iteration in iterations),
        expanded=sum(iteration.expanded for iteration in iterations),
        seconds=sum(iteration.seconds for iteration in iterations),
        algorithm=algorithm,
        thresholds=tuple(iterations),
    ).checked(bounds)
