"""Heuristics by name, and the tables that their kernels read.

A heuristic is one of `HEURISTICS` or the largest of several, `max(a,b)`. `evaluate_kernels` evaluates those that were
chosen.
"""

import re
from collections.abc import Collection, Sequence

import numpy as np

from pdb_core.arguments import as_names
from pdb_core.board_size import BoardSize, check_table_size
from pdb_core.errors import InputError
from pdb_core.messages import did_you_mean, shorten
from pdb_core.puzzle import Tiles
from solver.algorithms import HEURISTIC_NAMES
from solver.board_arrays import manhattan_distances
from solver.heuristics.evaluate_kernels import HeuristicTables
from solver.heuristics.korf_taylor import corner_pairs, last_move_tables, linear_conflict_tables
from solver.heuristics.mutual_cost import group_tables
from solver.heuristics.walking_distance import no_walking_tables, walking_tables

# Heuristics by name, with their codes for kernels in the order of evaluation.
HEURISTICS = {name: code for code, name in enumerate(HEURISTIC_NAMES)}


def parse_heuristic(text: str, *, also: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names in `manhattan` or `max(walking-distance,linear-conflict)`. Raises `InputError`.

    >>> parse_heuristic("max(misplaced, manhattan)")
    ('misplaced', 'manhattan')
    """
    match = re.fullmatch(r"\s*max\s*\((.*)\)\s*", text, re.DOTALL)
    names = tuple(name.strip() for name in (match[1].split(",") if match else [text]))
    for name in names:
        _check_known(name, also)
    return names


def _check_known(name: str, also: Collection[str] = ()) -> None:
    if name not in HEURISTICS and name not in also:
        raise InputError(
            f"heuristic {shorten(name, 40)!r} is not known; give one of {', '.join((*HEURISTICS, *also))}, or "
            f"max(a,b) of several{did_you_mean(name, (*HEURISTICS, *also))}"
        )


def as_heuristics(heuristics: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of `HEURISTICS`, given as one string or several, each as `parse_heuristic` reads it.

    Raises `InputError`.
    """
    return tuple(name for text in as_names(heuristics, "heuristics") for name in parse_heuristic(text))


def heuristic_tables(
    heuristics: str | Sequence[str], size: BoardSize, goal: Tiles, *, may_be_none: bool = False
) -> HeuristicTables:
    """Return the tables of heuristics, given as in `as_heuristics`. With `may_be_none`, no heuristic may be given.

    Raises `InputError` if one of them is not known, or does not exist for boards of that size, or none is given.
    """
    check_table_size(size)
    names = as_heuristics(heuristics)
    if not names and not may_be_none:
        raise InputError(f"no heuristic is given; name one or more of {', '.join(HEURISTICS)}")
    return HeuristicTables(
        codes=np.array(sorted({HEURISTICS[name] for name in names}), dtype=np.int64),
        goal_cells=np.argsort(goal),
        width=size.width,
        height=size.height,
        manhattan=manhattan_distances(size, goal),
        linear_conflict=linear_conflict_tables(size, goal),
        last_move=last_move_tables(size, goal),
        corner_pairs=corner_pairs(size, goal),
        walking=walking_tables(size, goal) if "walking-distance" in names else no_walking_tables(),
        groups=group_tables(size, goal, with_pairs="pairs" in names, with_triples="triples" in names),
    )
