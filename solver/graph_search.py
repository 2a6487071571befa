"""Searches that keep every board they meet, beside IDA*: their names, and what all of them tell. Read this first.

breadth-first     layer by layer from the board; shortest            breadth_first.py
bidirectional     the same from the board and the goal; shortest     breadth_first.py
a-star            least g + h first; shortest                        best_first.py
weighted-a-star   least g + w * h first; at most w times as long     best_first.py
greedy            least h first; any length                          best_first.py

All of them pack boards into words and keep them in a hash table, node_table.py, up to a limit of memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pdb_core.errors import InputError, UnsolvableError
from pdb_core.puzzle import Board, BoardSize, check_board, format_board, is_solvable, why_unsolvable
from pdb_query import Database
from solver.best_first import BestFirst, Weights, weights_of
from solver.breadth_first import search_breadth_first
from solver.heuristics import parse_heuristic
from solver.ida_star import Iteration, Limits
from solver.search_outcome import Found
from solver.solution import replay

BREADTH_FIRST, BIDIRECTIONAL = "breadth-first", "bidirectional"
A_STAR, WEIGHTED_A_STAR, GREEDY = "a-star", "weighted-a-star", "greedy"
# Each search, and whether it asks a heuristic.
GRAPH_SEARCHES = {A_STAR: True, WEIGHTED_A_STAR: True, GREEDY: True, BREADTH_FIRST: False, BIDIRECTIONAL: False}


@dataclass(frozen=True)
class GraphSolution:
    """What such a search knows of a board.

    length, tiles   of the solution; None where a limit was reached first
    is_optimal      whether `length` is proved to be the shortest
    bound           `length` is at most that many times the shortest: 1 where it is optimal, else w of weighted A*, None
                    of greedy search
    h               the lower bound at the root, 0 where no heuristic is asked
    lower_bound     what is proved of the length of a shortest solution
    generated, expanded, reopened  nodes, see docs/glossary.md
    peak_open       most nodes that were open at a time
    n_nodes         rows of the table of nodes in use: boards met, and those met on a shorter way while open once more
    n_bytes         what the arrays of the search took at the end
    seconds         of the search
    """

    board: Board
    goal: Board
    search: str
    length: int | None
    tiles: tuple[int, ...] | None
    is_optimal: bool
    bound: float | None
    h: int
    lower_bound: int
    generated: int
    expanded: int
    reopened: int
    peak_open: int
    n_nodes: int
    n_bytes: int
    seconds: float


def search_best_first(
    board: Board,
    goal: Board,
    size: BoardSize,
    *,
    search: str = A_STAR,
    heuristic: str | None = None,
    databases: Sequence[Database] = (),
    weight: float = 1.0,
    limits: Limits | None = None,
    report: Callable[[Iteration], None] | None = None,
    memory_limit_bytes: int | None = None,
) -> GraphSolution:
    """Solve a board by one of `GRAPH_SEARCHES`.

    heuristic           a name such as `manhattan` or `max(a,b)`, see `solver.heuristics`; the largest of it and of all
                        sums of `databases` counts. Manhattan distance where neither is given.
    weight              of weighted A*: 1 to 100, in hundredths (what is finer is cut off)
    report              called every fraction of a second with the key, or the depth, that the search is at; what it
                        raises ends the search
    memory_limit_bytes  three quarters of the memory at hand unless given

    Where a limit of time or nodes is reached the solution has no length. Raises `BoardError`, `InputError`,
    `UnsolvableError`, `GoalError` and `TableMismatchError` where a database does not serve the goal,
    `MemoryLimitError` where the nodes outgrow the limit, and `WrongAnswerError` should the answer fail its replay.

    >>> search_best_first((1, 2, 3, 4, 5, 6, 0, 7, 8), (1, 2, 3, 4, 5, 6, 7, 8, 0), BoardSize(3, 3)).tiles
    (7, 8)
    """
    if search not in GRAPH_SEARCHES:
        raise InputError(f"search {search!r} is not known; there are {', '.join(GRAPH_SEARCHES)}")
    board, goal = check_board(board, size), check_board(goal, size)
    if not is_solvable(board, goal, size):
        raise UnsolvableError(f"board {format_board(board)} cannot be solved: {why_unsolvable(board, goal, size)}")
    limits = limits or Limits()
    weights = Weights(0, 1) if search == GREEDY else weights_of(weight if search == WEIGHTED_A_STAR else 1.0)
    if GRAPH_SEARCHES[search]:
        names = parse_heuristic(heuristic) if heuristic is not None else () if databases else ("manhattan",)
        best_first = BestFirst(size, goal, names, databases)
        found = best_first.search(board, weights, limits, report, memory_limit_bytes)
    else:
        found = search_breadth_first(
            board, goal, size, limits, report, memory_limit_bytes, from_both_ends=search == BIDIRECTIONAL
        )
    if found.tiles is not None:
        replay(board, found.tiles, goal, size)
    return _solution(board, goal, search, weights, found)


def _solution(board: Board, goal: Board, search: str, weights: Weights, found: Found) -> GraphSolution:
    length = None if found.tiles is None else len(found.tiles)
    # A lower bound that the length meets proves it, whichever search found it.
    is_optimal = length is not None and length == found.lower_bound
    bound = None if length is None or search == GREEDY else weights.h_factor / weights.g_factor
    return GraphSolution(
        board=board,
        goal=goal,
        search=search,
        length=length,
        tiles=found.tiles,
        is_optimal=is_optimal,
        bound=1.0 if is_optimal else bound,
        h=found.h,
        lower_bound=found.lower_bound,
        generated=found.generated,
        expanded=found.expanded,
        reopened=found.reopened,
        peak_open=found.peak_open,
        n_nodes=found.n_nodes,
        n_bytes=found.n_bytes,
        seconds=found.seconds,
    )
