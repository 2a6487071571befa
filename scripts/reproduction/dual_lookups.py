"""Dual lookups (Felner, Zahavi, Schaeffer and Holte 2005): lookups of a board with cells and tiles exchanged.

A solution is a sequence of exchanges of two cells. In reverse order it solves the *dual* board. The dual board has, on
the goal cell of each tile, the tile whose goal cell is the cell of that tile. Its blank is on the blank cell of the
goal, and the goal cell of its blank is the blank cell of the board. So each cell of the blank has another dual goal,
which needs its own tables. On 4x4 boards, symmetries reduce them to three goals: blank in a corner, at an edge, or
inside.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.errors import GoalError
from pdb_core.puzzle import BLANK, Board
from pdb_query import Database
from pdb_query.lookup import Int64s, LookupTables, SumViews
from scripts.reproduction.dual_kernels import (
    FOUND_LENGTH,
    N_EXPANDED,
    N_GENERATED,
    NOT_FOUND,
    search_with_duals,
    values_with_duals,
)
from solver import Solution
from solver.engine.search_result import SearchResult
from solver.large_boards.suboptimal import tiles_on_path
from solver.progress import Iteration, Report
from solver.solution import one_move_away


class SumLookup(NamedTuple):
    """Database for its own goal in kernel form, with scratch arrays for the units of a board (int64[s, p])."""

    tables: LookupTables
    views: SumViews
    masks: Int64s
    labels: Int64s


class Duals(NamedTuple):
    """Mappings from a board to its dual, in the terms of each database.

    home      int64[n_cells]              the goal cell of each tile
    serves    int64[n_cells, d]           1 if the database serves duals of boards with that cell blank
    cell_map  int64[n_cells, d, n_cells]  the cell in the database for each cell of the dual board
    tile_of   int64[n_cells, d, n_cells]  the tile in the database for the tile with this goal cell in the dual board
    """

    home: Int64s
    serves: Int64s
    cell_map: Int64s
    tile_of: Int64s


class DualSolver:
    """Textbook IDA* with the largest sum of a board, its dual, and their reflections.

    Dual sums of neighbours may differ by more than one. `pathmax` applies bidirectional pathmax, as in the paper.
    """

    def __init__(self, database: Database, *others: Database, pathmax: bool) -> None:
        """The first database is for boards, and all databases, of several goals, are for duals. They are in bytes.

        Raises `GoalError` if the duals of some boards have no tables.
        """
        if any(each.encoding != "bytes" for each in (database, *others)):
            raise ValueError("dual lookups are for tables in bytes")
        self._database, self._all, self._pathmax = database, (database, *others), int(pathmax)
        self._duals = _duals(self._all)
        self._neighbours = np.full((database.size.n_cells, 4), -1, dtype=np.int64)
        for cell, near in enumerate(database.size.neighbours):
            self._neighbours[cell, : len(near)] = near
        self.solve(one_move_away(database.goal, database.size))  # compiles the kernels

    def values(self, boards: npt.NDArray[np.uint8]) -> Int64s:
        """Return the largest sums of boards (uint8[m, n_cells], all solvable): int64[m]."""
        values = np.empty(len(boards), dtype=np.int64)
        values_with_duals(boards, self._duals, self._lookups(), values)
        return values

    def solve(self, board: Board, report: Report | None = None) -> Solution:
        """Return an optimal solution of a solvable board, replayed. `report` is called after each threshold."""
        start = time.perf_counter()
        root = np.array(board, dtype=np.uint8)
        threshold = h = int(self.values(root[np.newaxis])[0])
        tiles: tuple[int, ...] | None = () if board == self._database.goal else None
        iterations: list[Iteration] = []
        while tiles is None:
            began = time.perf_counter()
            path, counters = np.empty(threshold + 1, dtype=np.int64), np.empty(3, dtype=np.int64)
            search_with_duals(
                root, self._neighbours, threshold, self._pathmax, self._duals, self._lookups(), path, counters
            )
            n_generated, n_expanded = int(counters[N_GENERATED]), int(counters[N_EXPANDED])
            iterations.append(Iteration(threshold, n_generated, n_expanded, time.perf_counter() - began))
            if report is not None:
                report(iterations[-1])
            if counters[FOUND_LENGTH] != NOT_FOUND:
                tiles = tiles_on_path(board, path[1 : counters[FOUND_LENGTH] + 1].tolist())
            # All solutions of a board, and its sums, have the same parity.
            threshold += 2
        result = SearchResult(tiles, tuple(iterations), time.perf_counter() - start, h=h, n_solutions=1)
        return result.solution(board, self._database.goal, self._database.size, tiles)

    def _lookups(self) -> tuple[SumLookup, ...]:
        """Return the databases with new scratch arrays, for one call of one thread."""
        found = []
        for database in self._all:
            views = database.views()
            masks, labels = np.empty((2, *views.view_of_unit.shape), dtype=np.int64)
            found.append(SumLookup(database.lookup_tables, views, masks, labels))
        return tuple(found)


def dual_goal(goal: Board, blank: int) -> Board:
    """Return the goal of the duals of boards with the blank on cell `blank`.

    It is `goal` with the contents of that cell and of its blank cell exchanged.
    """
    cells = list(goal)
    at = goal.index(BLANK)
    cells[at], cells[blank] = cells[blank], BLANK
    return tuple(cells)


def _duals(databases: Sequence[Database]) -> Duals:
    size, goal = databases[0].size, databases[0].goal
    n_cells = size.n_cells
    serves = np.zeros((n_cells, len(databases)), dtype=np.int64)
    cell_map, tile_of = np.zeros((2, n_cells, len(databases), n_cells), dtype=np.int64)
    for blank in range(n_cells):
        wanted = dual_goal(goal, blank)
        for i, database in enumerate(databases):
            try:
                mapping = database.mappings(wanted)[0]
            except GoalError:
                continue
            serves[blank, i] = 1
            cell_map[blank, i] = mapping.cell_map
            tile_of[blank, i] = [mapping.tile_map[tile] for tile in wanted]
        if not serves[blank].any():
            databases[0].mappings(wanted)  # raises an error with the goal
    home = np.array([goal.index(tile) for tile in range(n_cells)], dtype=np.int64)
    return Duals(home, serves, cell_map, tile_of)
