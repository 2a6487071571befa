"""Tables of a search with databases, arranged for the kernels of the engine."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import UNREACHED
from pdb_core.errors import TableFileDamagedError
from pdb_core.layout import pattern_blocks
from pdb_core.puzzle import BoardSize
from pdb_query.lookup import Int64s, probe_boards
from solver.board_arrays import N_MOVES, blank_moves
from solver.engine.board_kernels import fill_sum
from solver.engine.catalogue_round_kernels import CatalogueStages
from solver.engine.catalogue_stages import Sum, Unit, catalogue_stages, distinct_units, fill_units, suits_catalogue
from solver.engine.engine import Array, Engine, Roots, engine_tables, first_column_after_slacks, slack_rows
from solver.engine.layout import (
    BATCH,
    BLOCK_BITS,
    CELL_SETS,
    DIGIT_BITS,
    DIGITS,
    FAR_COLUMN,
    FIRST_DIGIT,
    FRAME,
    LEFT,
    MAX_VECTOR_CELLS,
    MAX_VECTOR_SUMS,
    MAX_VECTOR_TILES,
    MAX_VECTOR_WIDTH,
    MEMORY,
    N_UNITS,
    REGION_BITS,
    ROW_BITS,
    STEPS,
    SUM_FIELDS,
    TABLE_BIT,
    UNIT_DIGITS,
    UNIT_FIELDS,
    WORDS,
)
from solver.engine.unit_tables import DatabaseSums, UnitTables, unit_tables
from solver.engine.wide_round_kernels import SLACKS, WideStages
from solver.engine.wide_stages import jumps, n_tiles_of, suits_wide, wide_stages
from solver.move_pruning.move_pruning import PruningFsm
from solver.vectors.vectors import address_of

# Kinds of rounds.
VECTOR, CATALOGUE, WIDE, SCALAR = "vector", "catalogue", "wide", "scalar"


@dataclass(frozen=True)
class DatabaseEngine(Engine):
    """Tables of a search with databases. `stages` is None for vector rounds, else `CatalogueStages`,
    `WideStages`, or `UnitTables` for scalar rounds.

    sums    those of the search, in their order
    units   of catalogue rounds, see `catalogue_stages`; none for other kinds
    source  names the tables' files in messages
    """

    heuristics: tuple[DatabaseSums, ...]
    sums: tuple[Sum, ...]
    units: tuple[Unit, ...]
    source: str

    def _evaluated(self, rows: npt.NDArray[np.uint8], nodes: npt.NDArray[np.uint32]) -> Roots:
        found = {id(heuristic): self._probed(rows, heuristic) for heuristic in self.heuristics}
        sums = np.zeros((len(rows), len(self.sums)), dtype=np.int64)
        if isinstance(self.stages, CatalogueStages):
            for s, (heuristic, view, patterns) in enumerate(self.sums):
                sums[:, s] = found[id(heuristic)][2][:, view, list(patterns)].sum(axis=1)
            of_units = [found[id(unit.heuristic)][2][:, unit.view, unit.pattern] for unit in self.units]
            fill_units(self.stages, rows, np.stack(of_units, axis=1), nodes)
        else:
            for s, (heuristic, view, patterns) in enumerate(self.sums):
                masks, labels, values = (array[:, view] for array in found[id(heuristic)])
                fill_sum(
                    self.tables, s, np.array(patterns, dtype=np.int64), heuristic.tables.label_bits, masks, labels,
                    values, nodes, sums,
                )  # fmt: skip
        h = sums.max(axis=1, initial=0)
        # All sums have the parity of the solutions.
        return Roots(rows, nodes, sums, h, h)

    def _probed(
        self, rows: npt.NDArray[np.uint8], heuristic: DatabaseSums
    ) -> tuple[Int64s, Int64s, npt.NDArray[np.uint8]]:
        """Return the cell sets, labels and distances of a database, see `probe_boards`."""
        found = probe_boards(rows, heuristic.tables, heuristic.views)
        if (found[2] == UNREACHED).any():
            raise self.wrong_end()
        return found

    def wrong_end(self) -> TableFileDamagedError:
        """Return the error of a search that only damaged tables can lead to."""
        return TableFileDamagedError(
            f"{self.source} is damaged: a distance in it contradicts another one; run pdb verify, and build it again"
        )


def database_engine(
    size: BoardSize,
    heuristics: Sequence[DatabaseSums],
    fsm: PruningFsm,
    *,
    source: str = "the table",
    rounds: Sequence[str] | None = None,
    batch: int = BATCH,
) -> DatabaseEngine:
    """Arrange the tables of databases, the views of a goal and the operator pruning FSM for the kernels.

    The goal is that of the first heuristic's tables. Of the kinds of `rounds` the first that suits them is used, by
    default the fastest; SCALAR suits all. `batch` are the nodes of a round, up to BATCH. `source` names the tables'
    files in messages.
    """
    sums = _sums(heuristics)
    kind = _kind_of_rounds(size, heuristics, sums, rounds)
    most_units = max(len(patterns) for _, _, patterns in sums)
    rows = slack_rows(len(sums), SUM_FIELDS + most_units * UNIT_FIELDS)
    column = first_column_after_slacks(len(sums))
    arrays: list[Array] = []
    others: dict[str, Any] = {}

    def address(array: Array) -> int:
        arrays.append(array)
        return address_of(array)

    stages: UnitTables | WideStages | CatalogueStages | None = None
    units: Sequence[Unit] = ()
    if kind == CATALOGUE:
        units = tuple(distinct_units(sums).values())
        others["board_column"] = column
        stages, column, others["list_columns"] = catalogue_stages(size, sums, column, address)
    elif kind == VECTOR:
        for row, (heuristic, view, patterns) in zip(rows, sums, strict=True):
            column = _fill_vector_sum(row, heuristic, view, patterns, size, column, address)
        order, n_far = _order_of_sums(rows)
        others = {
            "list_columns": DIGITS + len(sums),
            "n_far_columns": int(n_far.max()),
            "order": order,
            "n_far": n_far,
            "sets": address(_cell_sets(size, heuristics)),
            "jumps": address(jumps(MAX_VECTOR_WIDTH)),
        }
    else:
        rows_of_units = unit_tables(size, heuristics)
        stages = rows_of_units if kind == SCALAR else wide_stages(size, sums, rows, rows_of_units, address)
        first_list_column = WORDS if kind == SCALAR else SLACKS + column - LEFT
        others = {"board_column": column, "list_columns": first_list_column + 2 * len(sums)}
        column += -(-size.n_cells // 4)
        others["word_column"] = column if kind == SCALAR else 0
        for row, (_, _, patterns) in zip(rows, sums, strict=True):
            row[N_UNITS], row[UNIT_DIGITS] = len(patterns), column
            column += 2 * len(patterns)
    goal = heuristics[0].tables.goal
    tables = engine_tables(size, goal, fsm, arrays, n_columns=column, sums=rows, batch=batch, **others)
    return DatabaseEngine(size, fsm, tables, stages, 1.0, arrays, tuple(heuristics), tuple(sums), tuple(units), source)


def _kind_of_rounds(
    size: BoardSize, heuristics: Sequence[DatabaseSums], sums: Sequence[Sum], rounds: Sequence[str] | None
) -> str:
    """Return the first kind of `rounds` that suits the tables, by default the fastest."""
    suits = {
        VECTOR: _suits_vectors(size, heuristics),
        CATALOGUE: suits_catalogue(size, sums),
        WIDE: suits_wide(size, heuristics),
        SCALAR: True,
    }
    fastest = (VECTOR, WIDE, CATALOGUE, SCALAR) if len(sums) <= 2 else (VECTOR, CATALOGUE, WIDE, SCALAR)
    return next(kind for kind in rounds or fastest if suits[kind])


def _sums(heuristics: Sequence[DatabaseSums]) -> list[Sum]:
    """Return the sums of a search in their order."""
    return [(heuristic, view, patterns) for heuristic in heuristics for view, patterns in heuristic.sums()]


def _suits_vectors(size: BoardSize, heuristics: Sequence[DatabaseSums]) -> bool:
    """Return whether the vector stages can search with these tables."""
    n_sums = sum(len(heuristic.sums()) for heuristic in heuristics)
    return (
        size.n_cells <= MAX_VECTOR_CELLS
        and max(size.width, size.height) <= MAX_VECTOR_WIDTH
        and n_sums <= MAX_VECTOR_SUMS
        and all(
            tables.is_bits == 1
            and tables.counts_every_move == 0
            and int(tables.n_orders.max()) <= math.factorial(MAX_VECTOR_TILES)
            and 8 * len(tables.memory) <= 1 << 32
            # All units of a sum have one view.
            and len(views.cell_maps) == views.n_sums
            for tables, views in heuristics
        )
    )


def _fill_vector_sum(
    row: Int64s,
    heuristic: DatabaseSums,
    view: int,
    patterns: tuple[int, ...],
    size: BoardSize,
    column: int,
    address: Callable[[Array], int],
) -> int:
    """Fill the fields of a sum, its columns from `column` on. Returns the column after them."""
    tables, views = heuristic
    cell_map = views.cell_maps[view]
    n_units = len(patterns)
    row[N_UNITS], row[CELL_SETS], row[UNIT_DIGITS] = n_units, column, column + n_units // 2
    row[MEMORY] = address_of(tables.memory)
    frame = np.zeros(16, dtype=np.uint32)
    frame[: size.n_cells] = cell_map
    row[FRAME] = address(frame)
    edge_cells, cell_moves = blank_moves(size)
    steps = np.zeros(16, dtype=np.int64)
    for move in range(N_MOVES):
        blank = next(cell for cell in range(size.n_cells) if cell_moves[cell] >> move & 1)
        steps[move] = cell_map[edge_cells[blank, move]] - cell_map[blank]
    row[STEPS] = address(steps.astype(np.uint32))
    # Marks for `_order_of_sums`: whether the sum is far for horizontal and for vertical moves.
    row[FAR_COLUMN : FAR_COLUMN + 2] = np.abs(steps[1::-1]) != 1
    for unit, pattern in enumerate(patterns):
        n_orders = int(tables.n_orders[pattern])
        fields = row[SUM_FIELDS + unit * UNIT_FIELDS :]
        n_tiles = n_tiles_of(n_orders)
        fields[TABLE_BIT] = 8 * tables.table_start[pattern]
        fields[ROW_BITS] = (n_orders + 7) // 8 * 8
        fields[FIRST_DIGIT] = DIGIT_BITS * (MAX_VECTOR_TILES - n_tiles)
    return column + n_units // 2 + n_units


def _order_of_sums(rows: Int64s) -> tuple[Int64s, Int64s]:
    """Return `EngineTables.order` and `n_far`, and fill in the far columns of the sums."""
    n_sums = len(rows)
    order, n_far = np.zeros((2, n_sums), dtype=np.int64), np.zeros((2, n_sums), dtype=np.int64)
    for f in range(2):
        is_far = rows[:, FAR_COLUMN + f] != 0
        order[f] = np.argsort(is_far, kind="stable")
        n_far[f] = np.cumsum(is_far[order[f]])
        rows[order[f], FAR_COLUMN + f] = np.where(is_far[order[f]], DIGITS - 1 + n_far[f], -1)
    return order, n_far


def _cell_sets(size: BoardSize, heuristics: Sequence[DatabaseSums]) -> npt.NDArray[np.uint64]:
    """Return the entries of all cell sets of the patterns' sizes, by mask: uint64[1 << MAX_VECTOR_CELLS]."""
    sets = np.zeros(1 << MAX_VECTOR_CELLS, dtype=np.uint64)
    shifts = BLOCK_BITS + REGION_BITS * np.arange(size.n_cells, dtype=np.uint64)
    for n_tiles in {n_tiles_of(n_orders) for tables, _ in heuristics for n_orders in tables.n_orders.tolist()}:
        blocks = pattern_blocks(size, n_tiles)
        numbers = blocks.region_numbers & ((1 << REGION_BITS) - 1)
        regions = np.bitwise_or.reduce(numbers.astype(np.uint64) << shifts, axis=1)
        sets[blocks.cell_sets] = regions | blocks.first_block[:-1].astype(np.uint64)
    return sets
