"""One round of the search with Manhattan distance or linear conflicts, in vectors, for boards of up to 16 cells.

All tables fit the first cache, so each vector of nodes is expanded at once, move by move. A node holds its board in two
columns, four bits for each cell.
"""

from typing import Any, NamedTuple

from pdb_core.bit_kernels import load_word, popcount
from pdb_core.jit import inlined_kernel
from pdb_core.types import N_MOVES
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.rounds.shared_kernels import legal_moves, take_nodes
from solver.engine.search_kernels import ROUNDS
from solver.heuristics.korf_taylor_kernels import COLUMNS, ROWS
from solver.vectors import vector_kernels as v

# The columns of the board, four bits a cell:
#
#                    31                28             4                0
#     LOWER_CELLS    | tile on cell 7  | ...          | tile on cell 0  |
#     UPPER_CELLS    | tile on cell 15 | ...          | tile on cell 8  |
LOWER_CELLS, UPPER_CELLS = mem.MOVES_LEFT + 1, mem.MOVES_LEFT + 2
PACKED_COLUMNS = UPPER_CELLS + 1
HALF_BOARD, CELL_BITS, TILE_MASK = 8, 4, 15
MAX_CELLS = 1 << CELL_BITS
LAST_CELL = MAX_CELLS - 1


class PackedTables(NamedTuple):
    """Addresses of the tables of a packed round. Those of linear conflicts have rows first, then columns.

    nearer         uint32[64]: by blank * N_MOVES + move, the mask of the tiles that the move takes nearer to their goal
                   cells
    has_conflicts  whether linear conflicts prune
    parts          uint32[2, MAX_CELLS, MAX_CELLS]: what a tile on a cell adds to the code of its goal line
    starts         uint32[2, MAX_CELLS]: by tile, the first cell of its goal line
    costs          uint32[2 * codes]: half of the moves for the conflicts of a line, by its code; those of columns begin
                   at `column_costs`. Twice as long as codes are large: lanes that hold no node may lead there
    """

    nearer: int
    has_conflicts: int
    width: int
    height: int
    parts: int
    starts: int
    costs: int
    column_costs: int


@inlined_kernel
def tile_on(lower: Any, upper: Any, cell: Any) -> Any:
    """Return the tiles on a cell of packed boards."""
    return (v.where(cell < HALF_BOARD, lower, upper) >> ((cell & (HALF_BOARD - 1)) * CELL_BITS)) & TILE_MASK


@inlined_kernel
def conflicts_after_move(
    round_tables: PackedTables, lower: Any, upper: Any, tile: Any, from_cell: Any, to_cell: Any, axis: int
) -> Any:
    """Return half of the change of the moves for linear conflicts when tiles slide across the lines of an axis.

    Only the goal line of the tile changes: see `korf_taylor_kernels.conflicts_after_move`.
    """
    parts = round_tables.parts + 4 * MAX_CELLS * MAX_CELLS * axis
    costs = round_tables.costs + 4 * round_tables.column_costs * axis
    step, length = (round_tables.width, round_tables.height) if axis == COLUMNS else (1, round_tables.width)
    cell = v.take(16, round_tables.starts + 4 * MAX_CELLS * axis, tile)
    code = v.splat(0)
    for _ in range(length):
        code = code + v.gather(32, parts, (tile_on(lower, upper, cell) << CELL_BITS) | cell)
        cell = (cell + step) & LAST_CELL
    before, after = (tile << CELL_BITS) | from_cell, (tile << CELL_BITS) | to_cell
    code_after = code - v.gather(32, parts, before) + v.gather(32, parts, after)
    return v.gather(32, costs, code_after) - v.gather(32, costs, code)


@inlined_kernel
def packed_round(
    round_tables: PackedTables, tables: EngineTables, at: StackMemory, n: int, top: int, first_link: int
) -> tuple[int, int, int]:
    """Expand `n` nodes of the stack from `top` on, see `search_kernels.round_of`.

    With a batch of one node, the first move's child is on top.
    """
    take_nodes(tables, at, n, top)
    generated, has_ended = 0, 0
    # Move by move, so that the order does not depend on the lanes of a vector.
    for move in range(N_MOVES - 1, -1, -1):
        for i in range(0, n, v.LANES):
            node = at.batch + 4 * i
            state, left = v.load(node + mem.STATE * mem.BATCH_COLUMN), v.load(node + mem.MOVES_LEFT * mem.BATCH_COLUMN)
            lower, upper = v.load(node + LOWER_CELLS * mem.BATCH_COLUMN), v.load(node + UPPER_CELLS * mem.BATCH_COLUMN)
            moves = legal_moves(tables, state, v.iota() + i < n)
            blank = (state >> mem.BLANK_SHIFT) & LAST_CELL
            link = (v.iota() + (first_link + i)) << 2
            has_slack = (left & mem.MAX_SLACK) != 0
            # Step 1. The tile that moves, and whether the threshold allows it.
            is_move = ((moves >> move) & 1) != 0
            generated += popcount(v.bits_of(is_move))
            cell = (blank + load_word(tables.steps + 4 * move)) & LAST_CELL
            tile = tile_on(lower, upper, cell)
            farther = ((v.take(64, round_tables.nearer, (blank << 2) | move) >> tile) & 1) ^ 1
            stays = v.without(is_move, v.without(farther != 0, has_slack))
            left_after = left - mem.ONE_MOVE - farther
            if round_tables.has_conflicts != 0:
                if move == 1 or move == 2:
                    rise = conflicts_after_move(round_tables, lower, upper, tile, cell, blank, COLUMNS)
                else:
                    rise = conflicts_after_move(round_tables, lower, upper, tile, cell, blank, ROWS)
                # The second slack shrinks by up to 2.
                slack = ((left >> mem.SLACK_BITS) & mem.MAX_SLACK) + 2 - farther - rise
                stays = stays & (slack >= 2)
                left_after = left_after - ((farther + rise) << mem.SLACK_BITS)
            # Step 2. The child: the tile and the blank change places.
            to = at.stack + 4 * top
            after = v.gather(32, tables.successors, ((state & mem.FSM_STATE_MASK) << 2) | move)
            before_move = tile << ((cell & (HALF_BOARD - 1)) * CELL_BITS)
            after_move = tile << ((blank & (HALF_BOARD - 1)) * CELL_BITS)
            none = v.splat(0)
            lower_after = lower ^ v.where(cell < HALF_BOARD, before_move, none)
            lower_after = lower_after ^ v.where(blank < HALF_BOARD, after_move, none)
            upper_after = upper ^ v.where(cell < HALF_BOARD, none, before_move)
            upper_after = upper_after ^ v.where(blank < HALF_BOARD, none, after_move)
            v.store(
                to + mem.STATE * at.stack_column,
                v.compress(after | (cell << mem.BLANK_SHIFT), stays, tables.permutations),
            )
            v.store(to + mem.LINK * at.stack_column, v.compress(link | move, stays, tables.permutations))
            v.store(to + mem.MOVES_LEFT * at.stack_column, v.compress(left_after, stays, tables.permutations))
            v.store(to + LOWER_CELLS * at.stack_column, v.compress(lower_after, stays, tables.permutations))
            v.store(to + UPPER_CELLS * at.stack_column, v.compress(upper_after, stays, tables.permutations))
            has_ended |= v.bits_of(v.without(stays, left_after >= mem.ONE_MOVE))
            top += popcount(v.bits_of(stays))
    return generated, top, has_ended


ROUNDS[PackedTables] = packed_round
