"""Everything that does not change during a search, arranged for the kernels of the engine."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.errors import TableFileDamagedError
from pdb_core.layout import pattern_blocks
from pdb_core.lookup import Int64s
from pdb_core.puzzle import Board, BoardSize
from pdb_core.vectors import address_of, compress_permutations
from solver.engine.layout import (
    ALLOWED_SHIFT,
    BATCH,
    BLANK_MASK,
    BLOCK_BITS,
    CELL_SETS,
    DIGIT_BITS,
    DIGITS,
    FAR_COLUMN,
    FIRST_DIGIT,
    FIRST_SLACKS,
    FRAME,
    JUMPS_UPWARD,
    LEFT,
    MAX_VECTOR_CELLS,
    MAX_VECTOR_SUMS,
    MAX_VECTOR_TILES,
    MAX_VECTOR_WIDTH,
    MEMORY,
    MORE_SLACKS,
    N_UNITS,
    REGION_BITS,
    ROW_BITS,
    SLACK,
    SLACK_BITS,
    SLACK_SHIFT,
    STEPS,
    SUM_FIELDS,
    TABLE_BIT,
    UNIT_DIGITS,
    UNIT_FIELDS,
    WORDS,
)
from solver.engine.unit_tables import N_MOVES, Heuristic, UnitTables, blank_moves, unit_tables
from solver.move_pruning.move_pruning import MoveMachine

Array = npt.NDArray[Any]

_UNUSED = np.empty(0, dtype=np.uint8)


class EngineTables(NamedTuple):
    """Constants of a search, in the form that kernels read. The owner keeps the arrays of `Engine` alive.

    batch         nodes of a round, up to BATCH
    n_columns     of a node; the sums' columns begin at `first_sum_column`. Scalar stages: the board's begin at
                  `board_column`, those of the units' words at `word_column`; 0 for vector stages
    list_columns  of a list of children; `n_far_columns` of them hold digits
    sums          int64[s, SUM_FIELDS + units * UNIT_FIELDS]
    order, n_far  int64[2, s]: for horizontal and for vertical moves the order in which the sums are looked up, and how
                  many columns of digits the list has by then
    all_cells     mask
    between       mask of as many cells as a tile can jump over
    goal          uint8[n_cells]
    Addresses of uint32[64]: `legal`, the mask of moves by the blank's cell; uint32[16]: `steps` of the moves; uint32:
    `successors`, the machine's states by state and move, with the moves that they allow; uint64: `sets`, by cell set,
    see `layout`; uint16: `jumps`; and `permutations`, see `compress`.
    """

    batch: int
    n_columns: int
    first_sum_column: int
    board_column: int
    word_column: int
    list_columns: int
    n_far_columns: int
    n_sums: int
    n_cells: int
    sums: Int64s
    order: Int64s
    n_far: Int64s
    all_cells: int
    between: int
    goal: npt.NDArray[np.uint8]
    legal: int
    steps: int
    successors: int
    sets: int
    jumps: int
    permutations: int


@dataclass(frozen=True)
class Engine:
    """The tables of a search, and the arrays that they refer to by address. `units` is None for the vector stages."""

    size: BoardSize
    goal: Board
    heuristics: tuple[Heuristic, ...]
    tables: EngineTables
    units: UnitTables | None
    source: str
    _arrays: tuple[Array, ...] = field(repr=False)

    def damaged(self) -> TableFileDamagedError:
        """Return the error of a search that only damaged tables can lead to."""
        return TableFileDamagedError(
            f"{self.source} is damaged: a distance in it contradicts another one; run pdb verify, and build it again"
        )


def make_engine(
    size: BoardSize,
    heuristics: Sequence[Heuristic],
    machine: MoveMachine,
    *,
    source: str = "the table",
    allows_vectors: bool = True,
    batch: int = BATCH,
) -> Engine:
    """Arrange the tables of databases, the views of a goal and the machine that prunes moves for the kernels.

    The goal is that of the first heuristic's tables. With `allows_vectors=False` the scalar stages are used even if the
    vector stages could be. `batch` are the nodes of a round, up to BATCH. `source` names the tables' files in messages.
    """
    is_vector = allows_vectors and _suits_vectors(size, heuristics)
    sums = [(heuristic, s, patterns) for heuristic in heuristics for s, patterns in heuristic.sums()]
    n_sums = len(sums)
    first_sum_column = LEFT + 1 + max(0, -(-(n_sums - FIRST_SLACKS) // MORE_SLACKS))
    arrays: list[Array] = []

    def address(array: Array) -> int:
        arrays.append(array)
        return address_of(array)

    most_units = max(len(patterns) for _, _, patterns in sums)
    rows = np.zeros((n_sums, SUM_FIELDS + most_units * UNIT_FIELDS), dtype=np.int64)
    for s, row in enumerate(rows):
        row[SLACK], row[SLACK_SHIFT] = _slack_place(s)
    board_column = word_column = 0
    if is_vector:
        n_columns = first_sum_column
        for row, (heuristic, s, _) in zip(rows, sums, strict=True):
            n_columns = _fill_vector_sum(row, heuristic, s, size, n_columns, address)
        sets = address(_cell_sets(size, heuristics))
    else:
        board_column = first_sum_column
        word_column = n_columns = board_column + -(-size.n_cells // 4)
        for row, (_, _, patterns) in zip(rows, sums, strict=True):
            row[N_UNITS], row[UNIT_DIGITS] = len(patterns), n_columns
            n_columns += 2 * len(patterns)
        sets = address(_UNUSED)
    order, n_far = _order_of_sums(rows)
    _, cell_moves = blank_moves(size)
    legal = np.zeros(BLANK_MASK + 1, dtype=np.uint32)
    legal[: size.n_cells] = cell_moves
    tables = EngineTables(
        batch=batch,
        n_columns=n_columns,
        first_sum_column=first_sum_column,
        board_column=board_column,
        word_column=word_column,
        list_columns=DIGITS + n_sums if is_vector else WORDS + 2 * n_sums,
        n_far_columns=int(n_far.max()),
        n_sums=n_sums,
        n_cells=size.n_cells,
        sums=rows,
        order=order,
        n_far=n_far,
        all_cells=(1 << size.n_cells) - 1,
        between=(1 << (size.width - 1)) - 1,
        goal=heuristics[0].tables.goal,
        legal=address(legal),
        steps=address(np.array([-size.width, -1, 1, size.width] + [0] * 12, dtype=np.int64).astype(np.uint32)),
        successors=address(_successors(machine)),
        sets=sets,
        jumps=address(_jumps()),
        permutations=address(compress_permutations()),
    )
    units = None if is_vector else unit_tables(size, heuristics)
    return Engine(size, tuple(tables.goal.tolist()), tuple(heuristics), tables, units, source, tuple(arrays))


def _suits_vectors(size: BoardSize, heuristics: Sequence[Heuristic]) -> bool:
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


def _slack_place(s: int) -> tuple[int, int]:
    """Return the column and the shift of the slack of sum `s`."""
    if s < FIRST_SLACKS:
        return LEFT, SLACK_BITS * s
    column, k = divmod(s - FIRST_SLACKS, MORE_SLACKS)
    return LEFT + 1 + column, SLACK_BITS * k


def _fill_vector_sum(
    row: Int64s, heuristic: Heuristic, s: int, size: BoardSize, column: int, address: Callable[[Array], int]
) -> int:
    """Fill the fields of a sum, its columns from `column` on. Returns the column after them."""
    tables, views = heuristic
    cell_map = views.cell_maps[s]
    n_units = len(tables.table_start)
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
    for unit, n_orders in enumerate(tables.n_orders.tolist()):
        fields = row[SUM_FIELDS + unit * UNIT_FIELDS :]
        n_tiles = _n_tiles(n_orders)
        fields[TABLE_BIT] = 8 * tables.table_start[unit]
        fields[ROW_BITS] = (n_orders + 7) // 8 * 8
        fields[FIRST_DIGIT] = DIGIT_BITS * (MAX_VECTOR_TILES - n_tiles)
    return column + n_units // 2 + n_units


def _n_tiles(n_orders: int) -> int:
    """Return the number of tiles that have `n_orders` arrangements."""
    return next(n for n in range(1, MAX_VECTOR_TILES + 1) if math.factorial(n) == n_orders)


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


def _cell_sets(size: BoardSize, heuristics: Sequence[Heuristic]) -> npt.NDArray[np.uint64]:
    """Return the entries of all cell sets of the patterns' sizes, by mask: uint64[1 << MAX_VECTOR_CELLS]."""
    sets = np.zeros(1 << MAX_VECTOR_CELLS, dtype=np.uint64)
    shifts = BLOCK_BITS + REGION_BITS * np.arange(size.n_cells, dtype=np.uint64)
    for n_tiles in {_n_tiles(n_orders) for tables, _ in heuristics for n_orders in tables.n_orders.tolist()}:
        blocks = pattern_blocks(size, n_tiles)
        numbers = blocks.region_numbers & ((1 << REGION_BITS) - 1)
        regions = np.bitwise_or.reduce(numbers.astype(np.uint64) << shifts, axis=1)
        sets[blocks.cell_sets] = regions | blocks.first_block[:-1].astype(np.uint64)
    return sets


def _successors(machine: MoveMachine) -> npt.NDArray[np.uint32]:
    """Return the state after each state and move, with the moves it allows above; 0 for a move that is pruned."""
    after = machine.successors.astype(np.int64)
    allowed = ((after >= 0) << np.arange(N_MOVES)).sum(axis=1)
    return np.where(after < 0, 0, after | (allowed[after] << ALLOWED_SHIFT)).astype(np.uint32).reshape(-1)


def _jumps() -> npt.NDArray[np.uint16]:
    """Return the changes of Lehmer digits when a tile jumps over up to three others: digits before XOR digits after.

    A tile at position a that passes the next one leaves digits p, r: r, p - 1 if p > r, else r + 1, p.
    """
    jumps = np.zeros(2 * JUMPS_UPWARD, dtype=np.uint16)
    for n in range(MAX_VECTOR_WIDTH):
        before = np.arange(1 << DIGIT_BITS * (n + 1))
        marker = 1 << DIGIT_BITS * (n + 1)
        for upward in range(2):
            digits = [(before >> DIGIT_BITS * i) & 7 for i in range(n + 1)]
            for a in range(n) if upward else range(n - 1, -1, -1):
                p, r = digits[a], digits[a + 1]
                digits[a], digits[a + 1] = np.where(p > r, r, r + 1), np.where(p > r, p - 1, p)
            after = sum((digit & 7) << DIGIT_BITS * i for i, digit in enumerate(digits))
            jumps[upward * JUMPS_UPWARD + marker + before] = before ^ after
    return jumps
