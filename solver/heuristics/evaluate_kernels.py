"""Evaluation of the chosen heuristics."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from pdb_core.jit import borrowing_kernel, inlined_kernel
from pdb_core.types import Bytes, Int64s, UInt16s
from solver.algorithms import HEURISTICS
from solver.heuristics.korf_taylor_kernels import LastMoveTables, LinearConflictTables
from solver.heuristics.own_kernels import own_value
from solver.heuristics.walking_distance_kernels import WalkingTables

# Codes of the heuristics. From OWN on, a code is the address of a function, see `own`.
CODES = {name: code for code, name in enumerate(HEURISTICS)}
MANHATTAN, LINEAR_CONFLICT, KORF_TAYLOR = (CODES[name] for name in ("manhattan", "linear-conflict", "korf-taylor"))
OWN = len(CODES)
# The kernel of each code: it gets `HeuristicTables` and a board, uint8[n_cells].
_KERNELS = [
    getattr(import_module(f"solver.heuristics.{heuristic.file}_kernels"), name.replace("-", "_"))
    for name, heuristic in HEURISTICS.items()
]


class HeuristicTables(NamedTuple):
    """Tables of the chosen heuristics for one board size and goal, for kernels.

    codes         int64[m]          the heuristics chosen, ascending
    goal_cells    int64[n_cells]    the cell of each tile in the goal, and of the blank
    manhattan     uint8[n_cells * n_cells]  Manhattan distance of tile t on cell c at t * n_cells + c; 0 for the blank
    corner_pairs  see `korf_taylor.corner_pairs`
    pairs         see `mutual_cost_kernels.pairs`
    """

    codes: Int64s
    goal_cells: Int64s
    width: int
    height: int
    manhattan: Bytes
    linear_conflict: LinearConflictTables
    last_move: LastMoveTables
    corner_pairs: Int64s
    walking: WalkingTables
    pairs: Bytes


def _choice(kernels: Sequence[Any], code: int = 0) -> Any:
    """Return a kernel that calls the one of its code, from `code` on, or a function of one's own."""
    if code == OWN:
        return inlined_kernel(lambda _tables, chosen, board: own_value(chosen, board))
    kernel, others = kernels[code], _choice(kernels, code + 1)

    @inlined_kernel
    def choose(tables: HeuristicTables, chosen: int, board: Bytes) -> Any:
        if chosen == code:
            return kernel(tables, board)
        return others(tables, chosen, board)

    return choose


_chosen = _choice(_KERNELS)


@borrowing_kernel
def evaluate_one(tables: HeuristicTables, code: int, board: Bytes) -> int:
    """Return h of `board` by the heuristic with this code."""
    return int(_chosen(tables, code, board))


@borrowing_kernel
def evaluate(tables: HeuristicTables, board: Bytes) -> int:
    """Return the largest h of `board` by the chosen heuristics."""
    h = 0
    for i in range(len(tables.codes)):
        h = max(h, evaluate_one(tables, tables.codes[i], board))
    return h


@borrowing_kernel
def evaluate_many(tables: HeuristicTables, boards: Bytes, values: UInt16s) -> None:
    """Fill `values` (uint16[m, codes]) with h of each board (uint8[m, n_cells]) by each chosen heuristic."""
    for row in range(len(boards)):
        for i in range(len(tables.codes)):
            values[row, i] = evaluate_one(tables, tables.codes[i], boards[row])
