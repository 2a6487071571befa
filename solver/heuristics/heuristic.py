"""Heuristics by name, and the tables that their kernels read.

A heuristic is one of `HEURISTICS` or the largest of several, `max(a,b)`, or a compiled function, see `own`.
`evaluate_kernels` evaluates those that were chosen.
"""

import math
import re
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from pdb_core.arguments import as_all
from pdb_core.board_size import BoardSize, check_table_size
from pdb_core.errors import InputError
from pdb_core.messages import did_you_mean, shorten
from pdb_core.puzzle import Boards, Tiles, random_boards
from pdb_core.types import Int64s
from solver.algorithms import HEURISTICS
from solver.board_arrays import manhattan_distances
from solver.heuristics.evaluate_kernels import CODES, OWN, HeuristicTables, evaluate_many
from solver.heuristics.korf_taylor import corner_pairs, last_move_tables, linear_conflict_tables
from solver.heuristics.mutual_cost import pair_excesses
from solver.heuristics.own import own_heuristic
from solver.heuristics.walking_distance import no_walking_tables, walking_tables
from solver.solution import Solution

# One heuristic or several, by name or as functions that numba has compiled.
Heuristic = str | Callable[[Any], float]
HeuristicsLike = Heuristic | Sequence[Heuristic]
# Speed of a search with a function of one's own, as in `solver.algorithms.Heuristic`.
_OWN_SPEED = 0.03
# The slowest evaluation by a function of one's own with which a search has its usual speed, and boards to measure it.
_USUAL_S, _N_MEASURED = 1e-5, 32


def parse_heuristic(text: str, *, also: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names in `manhattan` or `max(walking-distance,linear-conflict)`. Raises `InputError`.

    >>> parse_heuristic("max(misplaced, manhattan)")
    ('misplaced', 'manhattan')
    """
    match = re.fullmatch(r"\s*max\s*\((.*)\)\s*", text, re.DOTALL)
    names = tuple(name.strip() for name in (match[1].split(",") if match else [text]))
    known = (*HEURISTICS, *also)
    for name in names:
        if name not in known:
            raise InputError(
                f"heuristic {shorten(name, 40)!r} is not known; give one of {', '.join(known)}, or max(a,b) of several"
                f"{did_you_mean(name, known)}"
            )
    return names


def as_heuristics(heuristics: HeuristicsLike) -> tuple[Heuristic, ...]:
    """Return heuristics, given as one or several; each string as `parse_heuristic` reads it. Raises `InputError`."""
    given = given_heuristics(heuristics)
    return tuple(one for item in given for one in (parse_heuristic(item) if isinstance(item, str) else (item,)))


def given_heuristics(heuristics: HeuristicsLike) -> tuple[Heuristic, ...]:
    """Return heuristics, given as one or several, as they are. Raises `InputError`."""
    return as_all(heuristics, str | Callable, "heuristics", "a name, a function compiled by numba, or several")


def heuristic_name(heuristic: Heuristic) -> str:
    """Return the name of a heuristic: of a function, its own."""
    return heuristic if isinstance(heuristic, str) else getattr(heuristic, "__name__", repr(heuristic))


def heuristic_tables(
    heuristics: HeuristicsLike, size: BoardSize, goal: Tiles, *, may_be_none: bool = False
) -> HeuristicTables:
    """Return the tables of heuristics, given as in `as_heuristics`. With `may_be_none`, no heuristic may be given.

    Raises `InputError` if one of them is not known, or does not exist for boards of that size, or none is given, or a
    function is not compiled or not 0 at the goal.
    """
    check_table_size(size)
    chosen = as_heuristics(heuristics)
    names = {one for one in chosen if isinstance(one, str)}
    own = {own_heuristic(one, goal) for one in chosen if not isinstance(one, str)}
    if not chosen and not may_be_none:
        raise InputError(f"no heuristic is given; name one or more of {', '.join(HEURISTICS)}")
    return HeuristicTables(
        codes=np.array(sorted(own | {CODES[name] for name in names}), dtype=np.int64),
        goal_cells=np.argsort(goal),
        width=size.width,
        height=size.height,
        manhattan=manhattan_distances(size, goal).reshape(-1),
        linear_conflict=linear_conflict_tables(size, goal),
        last_move=last_move_tables(size, goal),
        corner_pairs=corner_pairs(size, goal),
        walking=walking_tables(size, goal) if "walking-distance" in names else no_walking_tables(),
        pairs=pair_excesses(size, goal) if "pairs" in names else np.zeros(0, dtype=np.uint8),
    )


def values_of(tables: HeuristicTables, boards: Boards) -> Int64s:
    """Evaluate boards by each heuristic: int64[m, codes]."""
    values = np.zeros((len(boards), len(tables.codes)), dtype=np.uint16)
    evaluate_many(tables, boards, values)
    return values.astype(np.int64)


def search_speed(tables: HeuristicTables) -> float:
    """Return the speed of a search with the heuristics of tables, relative to one with databases; 1 without any."""
    speeds = [*(heuristic.speed for heuristic in HEURISTICS.values()), _OWN_SPEED]
    return min((speeds[min(code, OWN)] for code in tables.codes.tolist()), default=1.0)


def own_share(size: BoardSize, goal: Tiles, tables: HeuristicTables) -> float:
    """Return the share of a search's usual speed that functions of one's own allow, measured: a power of ten.

    A search looks at its limits, at Ctrl-C and at its report only between two slices of nodes.
    """
    if tables.codes.max(initial=0) < OWN:
        return 1.0
    boards = random_boards(size, goal, _N_MEASURED, seed=0).astype(np.uint8)
    values_of(tables, boards[:1])  # compiles
    start = time.perf_counter()
    values_of(tables, boards)
    seconds = (time.perf_counter() - start) / _N_MEASURED
    return float(10.0 ** min(0, math.floor(math.log10(_USUAL_S / seconds))))


def checked_solution(solution: Solution, tables: HeuristicTables) -> Solution:
    """Return a solution, without its proof if a function of one's own overestimates on it."""
    if solution.moves is None or tables.codes.max(initial=0) < OWN:
        return solution
    boards = np.array(solution.boards(), dtype=np.uint8)
    return solution.checked(values_of(tables, boards).max(axis=1).tolist())
