"""Dual lookups (Felner, Zahavi, Schaeffer and Holte 2005): a board is also asked about with places and tiles exchanged.

A solution exchanges the contents of two cells again and again. Read backwards it solves the *dual* board, which has on
the home of each tile what belongs where that tile is. The blank of the dual board is on the goal's blank cell, and its
home is the cell where the board has its blank. So the dual board has another goal for each cell of the blank, and needs
the tables of that goal; on a board of 4x4 symmetries make three goals of them all: blank in a corner, at an edge,
inside.
"""

import time
from collections.abc import Sequence
from itertools import pairwise
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
from solver.progress import Iteration, Report
from solver.solution import one_move_away


class SumLookup(NamedTuple):
    """A database for its own goal, as kernels take it, with room for the units of a board (int64[s, p])."""

    tables: LookupTables
    views: SumViews
    masks: Int64s
    labels: Int64s


class Duals(NamedTuple):
    """How to make the dual of a board, and read it as one of each database's own.

    home      int64[n_cells]            the cell each tile belongs on
    serves    int64[n_cells, d]         1 where the database is for the duals of boards with that cell blank
    cell_map  int64[n_cells, d, n_cells]  the cell of the database's board for each cell of the dual board
    tile_of   int64[n_cells, d, n_cells]  its name for the tile of the dual board that belongs on a cell
    """

    home: Int64s
    serves: Int64s
    cell_map: Int64s
    tile_of: Int64s


class DualSolver:
    """The textbook's IDA* with the largest of the sums of a board and of its dual, and of their reflections.

    Dual sums may differ by more than one between neighbours. With `pathmax` what one says of the other is believed, in
    both directions ("bidirectional pathmax" in the paper).
    """

    def __init__(self, database: Database, *others: Database, pathmax: bool) -> None:
        """The first database is for the board itself; all of them, for other goals' blanks, are for duals. They hold
        bytes. Raises `GoalError` where the duals of some boards have no tables.
        """
        if any(each.encoding != "bytes" for each in (database, *others)):
            raise ValueError("dual lookups are for tables in bytes")
        self._database, self._all, self._pathmax = database, (database, *others), int(pathmax)
        self._duals = _duals(self._all)
        self._neighbours = np.full((database.size.n_cells, 4), -1, dtype=np.int64)
        for cell, near in enumerate(database.size.neighbours):
            self._neighbours[cell, : len(near)] = near
        self.solve(one_move_away(database.goal, database.size))  # the first board's seconds are those of its search

    def values(self, boards: npt.NDArray[np.uint8]) -> Int64s:
        """The largest sums of boards (uint8[m, n_cells], all solvable): int64[m]."""
        values = np.empty(len(boards), dtype=np.int64)
        values_with_duals(boards, self._duals, self._lookups(), values)
        return values

    def solve(self, board: Board, report: Report | None = None) -> Solution:
        """A shortest solution of a solvable board for the first database's goal, replayed. `report` is called after
        each threshold.
        """
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
                tiles = _moved(board, path[: counters[FOUND_LENGTH] + 1].tolist())
            # All solutions of a board have the same parity, and so have its sums.
            threshold += 2
        result = SearchResult(tiles, tuple(iterations), time.perf_counter() - start, h=h, n_solutions=1)
        return result.solution(board, self._database.goal, self._database.size, tiles)

    def _lookups(self) -> tuple[SumLookup, ...]:
        """Databases with room of their own, for one call: other threads have theirs."""
        found = []
        for database in self._all:
            views = database.views()
            masks, labels = np.empty((2, *views.view_of_unit.shape), dtype=np.int64)
            found.append(SumLookup(database.lookup_tables, views, masks, labels))
        return tuple(found)


def dual_goal(goal: Board, blank: int) -> Board:
    """The goal of the duals of boards with their blank on cell `blank`: the tile that belongs there belongs where the
    goal has its blank.
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
            databases[0].mappings(wanted)  # raises, and says of which goal
    home = np.array([goal.index(tile) for tile in range(n_cells)], dtype=np.int64)
    return Duals(home, serves, cell_map, tile_of)


def _moved(board: Board, path: Sequence[int]) -> tuple[int, ...]:
    """The tiles that move where the blank goes along `path`."""
    cells, tiles = list(board), []
    for blank, cell in pairwise(path):
        tiles.append(cells[cell])
        cells[blank], cells[cell] = cells[cell], BLANK
    return tuple(tiles)
