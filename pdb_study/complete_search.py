"""Complete breadth-first search of the state spaces of up to 12 cells.

On n cells, the cells of n - 3 tiles and of the blank determine the board: the other two tiles are on the other two
cells, and only one of their two orders can be solved. So the boards are the states of a pattern of n - 3 tiles in which
every move counts, and `pdb_build` searches them (docs/design/other-searches.md).
"""

from collections.abc import Callable

import numpy as np

from pdb_build.search import PatternTable, search_pattern
from pdb_core.board_size import BoardSize
from pdb_core.errors import InputError
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Boards, Tiles
from pdb_core.ranking import PatternIndex
from pdb_core.table_spec import TableSpec
from pdb_core.types import Bytes, Int64s
from pdb_query.board_rows import checked_rows

# Called from the main thread after each level: (depth, boards reached).
Progress = Callable[[int, int], None]

MAX_CELLS = 12
# 2x5 and 3x3 are the largest sizes whose boards are all kept in memory: 1.8 million boards.
MAX_LISTED_CELLS = 10
# Memory of a complete search for each board: a byte and two bits, with some room.
BYTES_A_BOARD = 1.4
# Cells without a tile of the pattern.
_N_FREE = 3


def search_completely(size: BoardSize, goal: Tiles, n_threads: int, progress: Progress) -> PatternTable:
    """Return the distance of each state, for boards of at most `MAX_CELLS` cells. It does not depend on `n_threads`."""
    pattern = Pattern(tuple(range(1, size.n_cells - _N_FREE + 1)))
    return search_pattern(
        TableSpec(size, goal, pattern, "bits", "every-move"),
        n_threads=n_threads,
        progress=lambda depth, n_reached, _n_states: progress(depth, n_reached),
        zero_aware=True,
    )


def all_boards(size: BoardSize, goal: Tiles) -> tuple[Boards, Bytes]:
    """Return the solvable boards, nearest first, uint8[m, n_cells], and their distances, uint8[m]; m is n_cells! / 2.

    Raises `InputError` for boards of more than 10 cells.
    """
    if size.n_cells > MAX_LISTED_CELLS:
        raise InputError(
            f"{size} boards are too many to evaluate each; the largest sizes have {MAX_LISTED_CELLS} cells"
        )
    found = search_completely(size, goal, 1, lambda _depth, _n_reached: None)
    states = np.argsort(found.table, kind="stable")
    return boards_of_states(found.spec, states), found.table[states]


def boards_of_states(spec: TableSpec, states: Int64s) -> Boards:
    """Return the boards of states, which are indices of a zero-aware table: uint8[m, n_cells]."""
    size, rows = spec.size, np.arange(len(states))
    blocks, ranks = np.divmod(states, spec.n_orders)
    cell_sets, regions = np.divmod(blocks, _N_FREE)
    cells = PatternIndex(size, spec.n_tiles).unrank(cell_sets * spec.n_orders + ranks).astype(np.int64)
    boards = np.zeros((len(states), size.n_cells), dtype=np.uint8)
    np.put_along_axis(boards, cells, np.arange(1, spec.n_tiles + 1, dtype=np.uint8), axis=1)
    free = np.argsort(boards != 0, axis=1, kind="stable")[:, :_N_FREE]
    first, second = free[np.arange(_N_FREE) != regions[:, None]].reshape(-1, 2).T
    boards[rows, first], boards[rows, second] = spec.n_tiles + 1, spec.n_tiles + 2
    wrong = np.flatnonzero(checked_rows(boards, size, spec.goal)[1] == 0)
    boards[wrong, first[wrong]], boards[wrong, second[wrong]] = spec.n_tiles + 2, spec.n_tiles + 1
    return boards
