"""Tables of a search with heuristics that need no database, arranged for the kernels of the engine."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pdb_core.board_size import BoardSize, SizeLike, as_size
from pdb_core.errors import GoalError, InputError, PdbError
from pdb_core.puzzle import BoardLike, Tiles, as_goal, format_board, permutation_is_odd
from pdb_core.symmetry import BoardMapping, mappings_between
from pdb_core.types import N_MOVES, Bytes, Int64s, UInt32s, UInt64s
from solver.algorithms import HEURISTICS
from solver.board_arrays import neighbours_by_move
from solver.engine.engine import BoundHeuristic, Engine, KeptArrays, engine_tables, slack_rows
from solver.engine.tuning import Tuning
from solver.heuristics import HeuristicTables, packed_round_kernels as packed
from solver.heuristics.evaluate_kernels import KORF_TAYLOR, LINEAR_CONFLICT, MANHATTAN, OWN
from solver.heuristics.heuristic import (
    HeuristicsLike,
    as_heuristics,
    heuristic_name,
    heuristic_tables,
    own_share,
    search_speed,
    values_of,
)
from solver.heuristics.heuristic_round_kernels import HeuristicRoundTables
from solver.heuristics.packed_round_kernels import PackedTables
from solver.pruning.fsm import PruningFsm

# Speeds of packed rounds, as in `solver.algorithms.Heuristic`.
_CONFLICTS_SPEED, _MANHATTAN_SPEED = 2.0, 6.0
# Nodes of a round. No table has to be waited for, and small rounds generate fewer nodes in the last threshold.
_PACKED_BATCH, _BATCH = 16, 32


@dataclass(frozen=True)
class HeuristicEngine(Engine):
    """Tables of a search with the largest of some heuristics. `tracked` are those that are updated with each move.

    `round_tables` is `PackedTables` for Manhattan distance and linear conflicts on boards of up to 16 cells.
    """

    heuristics: HeuristicTables
    tracked: HeuristicTables

    def _evaluated(self, rows: Bytes, nodes: UInt32s) -> tuple[Int64s, Int64s, Int64s]:
        if isinstance(self.round_tables, PackedTables):
            for column, first in ((packed.LOWER_CELLS, 0), (packed.UPPER_CELLS, packed.HALF_BOARD)):
                half = rows[:, first : first + packed.HALF_BOARD].astype(np.uint32)
                nodes[:, column] = (half << (packed.CELL_BITS * np.arange(half.shape[1], dtype=np.uint32))).sum(axis=1)
        h = values_of(self.heuristics, rows).max(axis=1, initial=0)
        goal_cells = self.heuristics.goal_cells.tolist()
        is_odd = np.array([permutation_is_odd([goal_cells[tile] for tile in row]) for row in rows.tolist()], dtype=bool)
        sums = values_of(self.tracked, rows)
        # The sums prune, too. With a threshold below one of them, a search would find nothing and not end.
        thresholds = np.maximum(h, sums.max(axis=1, initial=0))
        # Each move is one swap, so all solutions of one board have the same parity, and so have the thresholds.
        thresholds += (thresholds & 1) != is_odd
        if not sums.shape[1]:
            # A sum that prunes nothing.
            sums = thresholds[:, np.newaxis]
        return sums, h, thresholds

    def wrong_end(self) -> PdbError:
        if self.heuristics.codes[-1] < OWN:
            return super().wrong_end()
        return InputError(
            "a function that was given as a heuristic exceeds the moves left on some board; give a lower bound, or "
            "search with GraphSolver, a_star or ida_star"
        )


class Heuristics(BoundHeuristic):
    """Largest of some heuristics that need no database, for one goal."""

    operator_order = True

    def __init__(self, size: SizeLike, goal: BoardLike, heuristics: HeuristicsLike) -> None:
        """Raises the errors of `HeuristicSolver`."""
        self.size = as_size(size)
        self.goal = as_goal(goal, self.size)
        self._tables = heuristic_tables(heuristics, self.size, self.goal)
        self._given = as_heuristics(heuristics)
        self.identity = self.size, self._given

    def __reduce__(self) -> tuple[Any, ...]:
        return Heuristics, (self.size, self.goal, self._given)

    def __repr__(self) -> str:
        return f"{self.size}, {', '.join(map(heuristic_name, self._given))}"

    def engine(self, fsm: PruningFsm, tuning: Tuning) -> HeuristicEngine:
        """Arrange the heuristics for the kernels.

        Manhattan distance prunes along with all of them that are never lower, linear conflicts along with
        `korf-taylor`, which only adds to them.
        """
        heuristics, size = self._tables, self.size
        codes = set(heuristics.codes.tolist())
        relations = {code: of.than_manhattan for code, of in enumerate(HEURISTICS.values()) if code in codes}
        uses_manhattan = "higher" in relations.values()
        uses_conflicts = bool(codes & {LINEAR_CONFLICT, KORF_TAYLOR})
        useless = {code for code, relation in relations.items() if uses_manhattan and relation == "lower"}
        others = sorted(codes - {MANHATTAN, LINEAR_CONFLICT} - useless)
        tracked = [MANHATTAN] * uses_manhattan + [LINEAR_CONFLICT] * uses_conflicts
        sums, first_column = slack_rows(max(1, len(tracked)))
        nearer = _nearer(size, heuristics)
        arrays = KeptArrays()
        if size.n_cells <= packed.MAX_CELLS and uses_manhattan and not others:
            round_tables: Any = _packed_tables(heuristics, nearer, uses_conflicts, arrays)
            columns, batch = {"n_columns": packed.PACKED_COLUMNS}, _PACKED_BATCH
            speed = _CONFLICTS_SPEED if uses_conflicts else _MANHATTAN_SPEED
        else:
            round_tables = HeuristicRoundTables(
                heuristics, nearer, np.array(others, dtype=np.int64), int(uses_manhattan), int(uses_conflicts)
            )
            columns = {"board_column": first_column, "n_columns": first_column + -(-size.n_cells // 4)}
            batch, speed = _BATCH, search_speed(heuristics)
        tables = engine_tables(
            size, np.array(self.goal, dtype=np.uint8), fsm, arrays, sums=sums, batch=tuning.batch or batch, **columns
        )
        speed *= own_share(size, self.goal, heuristics)
        by_sum = heuristics._replace(codes=np.array(tracked, dtype=np.int64))
        return HeuristicEngine(size, fsm, tables, round_tables, speed, tuning, arrays, heuristics, by_sum)

    def mapping(self, goal: Tiles) -> BoardMapping:
        if goal != self.goal:
            raise GoalError(f"the solver's goal is {format_board(self.goal, self.size)}; make one for another goal")
        return mappings_between(goal, goal, self.size)[0]  # the identity


def _packed_tables(
    heuristics: HeuristicTables, nearer: UInt64s, has_conflicts: bool, arrays: KeptArrays
) -> PackedTables:
    """Return the tables of a packed round."""
    conflicts = heuristics.linear_conflict
    n_cells = len(heuristics.goal_cells)
    nearer_masks = np.zeros(packed.MAX_CELLS * N_MOVES, dtype=np.uint32)
    nearer_masks[: len(nearer)] = nearer
    parts = np.zeros((2, packed.MAX_CELLS, packed.MAX_CELLS), dtype=np.uint32)
    parts[:, :n_cells, :n_cells] = conflicts.parts.reshape(2, n_cells, n_cells)
    starts = np.zeros((2, packed.MAX_CELLS), dtype=np.uint32)
    goal_lines = np.maximum(conflicts.goal_lines, 0)
    starts[:, :n_cells] = goal_lines * np.array([[conflicts.width], [1]])
    row_costs, column_costs = np.split(conflicts.costs, conflicts.starts[1:])
    costs = np.zeros(2 * len(conflicts.costs), dtype=np.uint32)
    costs[: len(row_costs)] = row_costs // 2
    costs[2 * len(row_costs) : 2 * len(row_costs) + len(column_costs)] = column_costs // 2
    return PackedTables(
        nearer=arrays.address(nearer_masks),
        has_conflicts=int(has_conflicts),
        width=conflicts.width,
        height=conflicts.height,
        parts=arrays.address(parts),
        starts=arrays.address(starts),
        costs=arrays.address(costs),
        column_costs=2 * len(row_costs),
    )


def _nearer(size: BoardSize, heuristics: HeuristicTables) -> UInt64s:
    """Return `HeuristicRoundTables.nearer`."""
    tiles, cells = np.arange(size.n_cells, dtype=np.uint64), neighbours_by_move(size)
    # At an edge the blank stays, and no tile comes nearer.
    cells = np.where(cells < 0, np.arange(size.n_cells)[:, np.newaxis], cells)
    distances = heuristics.manhattan.reshape(size.n_cells, size.n_cells)
    is_nearer = (distances[:, :, np.newaxis] < distances[:, cells]).reshape(size.n_cells, -1)
    nearer: UInt64s = (is_nearer.T << tiles).sum(axis=1, dtype=np.uint64)
    return nearer
