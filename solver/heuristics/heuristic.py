"""Heuristics by name, and the tables that their kernels read.

A heuristic is one of `HEURISTICS` or the largest of several, `max(a,b)`. Each has a NamedTuple of arrays, the function
that fills it, and a file of kernels that evaluate a board. `evaluate_kernels` evaluates those that were chosen.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.errors import InputError
from pdb_core.messages import shorten
from pdb_core.puzzle import Board, BoardSize, check_table_size
from solver.heuristics.corner_tiles import CornerTables, corner_tables
from solver.heuristics.last_move import LastMoveTables, last_move_tables
from solver.heuristics.linear_conflict import LinearConflictTables, linear_conflict_tables
from solver.heuristics.manhattan import ManhattanTables, manhattan_tables
from solver.heuristics.mutual_cost import GroupTables, group_tables
from solver.heuristics.walking_distance import WalkingTables, no_walking_tables, walking_tables

# Codes of heuristics for kernels, in the order of evaluation: the cheapest first.
(
    MISPLACED, MANHATTAN, CORNER_TILES, LAST_MOVE, LINEAR_CONFLICT, KORF_TAYLOR, WALKING_DISTANCE, PAIRS, TRIPLES,
) = range(9)  # fmt: skip
HEURISTICS = {
    "misplaced": MISPLACED,
    "manhattan": MANHATTAN,
    "corner-tiles": CORNER_TILES,
    "last-move": LAST_MOVE,
    "linear-conflict": LINEAR_CONFLICT,
    "korf-taylor": KORF_TAYLOR,
    "walking-distance": WALKING_DISTANCE,
    "pairs": PAIRS,
    "triples": TRIPLES,
}


class HeuristicTables(NamedTuple):
    """Tables of the chosen heuristics for one board size and goal, for kernels.

    codes       int64[m]         the heuristics chosen, ascending
    goal_cells  int64[n_cells]   the cell of each tile in the goal, and of the blank
    """

    codes: npt.NDArray[np.int64]
    goal_cells: npt.NDArray[np.int64]
    width: int
    height: int
    manhattan: ManhattanTables
    linear_conflict: LinearConflictTables
    last_move: LastMoveTables
    corner_tiles: CornerTables
    walking: WalkingTables
    groups: GroupTables


def parse_heuristic(text: str, *, also: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names in `manhattan` or `max(walking-distance,linear-conflict)`. Raises `InputError`.

    >>> parse_heuristic("max(misplaced, manhattan)")
    ('misplaced', 'manhattan')
    """
    match = re.fullmatch(r"\s*max\s*\((.*)\)\s*", text, re.DOTALL)
    names = tuple(name.strip() for name in (match[1].split(",") if match else [text]))
    for name in names:
        if name not in HEURISTICS and name not in also:
            raise InputError(
                f"heuristic {shorten(name, 40)!r} is not known; there are {', '.join((*HEURISTICS, *also))}, and "
                "max(a,b) of several"
            )
    return names


def heuristic_tables(names: Sequence[str], size: BoardSize, goal: Board) -> HeuristicTables:
    """Return the tables of heuristics, by the names that `parse_heuristic` returns.

    Raises `InputError` if one of them does not exist for boards of that size.
    """
    check_table_size(size)
    goal_cells = np.array([goal.index(tile) for tile in range(size.n_cells)], dtype=np.int64)
    return HeuristicTables(
        codes=np.array(sorted({HEURISTICS[name] for name in names}), dtype=np.int64),
        goal_cells=goal_cells,
        width=size.width,
        height=size.height,
        manhattan=manhattan_tables(size, goal),
        linear_conflict=linear_conflict_tables(size, goal),
        last_move=last_move_tables(size, goal),
        corner_tiles=corner_tables(size, goal),
        walking=walking_tables(size, goal) if "walking-distance" in names else no_walking_tables(),
        groups=group_tables(size, goal, with_pairs="pairs" in names, with_triples="triples" in names),
    )
