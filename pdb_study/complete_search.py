"""Complete breadth-first search of the state spaces of up to 12 cells.

On n cells, the cells of n - 3 tiles and of the blank determine the board: the other two tiles are on the other two
cells, and only one of their two orders can be solved. So the boards are the states of a pattern of n - 3 tiles in which
every move counts, and `pdb_build` searches them (docs/design/studies.md).
"""

from collections.abc import Callable
from itertools import islice

import numpy as np

from pdb_build.search import zero_aware_distances
from pdb_core.board_size import BoardSize
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Tiles, is_solvable
from pdb_core.ranking import PatternIndex
from pdb_core.table_spec import TableSpec

# Called from the main thread after each level: (depth, boards reached).
Progress = Callable[[int, int], None]

MAX_CELLS = 12
# Memory of a complete search for each board: a byte and a bit, with some room.
BYTES_A_BOARD = 1.25
# Cells without a tile of the pattern.
_N_FREE = 3


def search_completely(
    size: BoardSize, goal: Tiles, *, n_threads: int, max_antipodes: int, progress: Progress
) -> tuple[tuple[int, ...], tuple[Tiles, ...]]:
    """Return the number of boards at each distance, and the first `max_antipodes` boards at the largest one.

    For boards of at most `MAX_CELLS` cells. The result does not depend on `n_threads`.
    """
    pattern = Pattern(tuple(range(1, size.n_cells - _N_FREE + 1)))
    spec = TableSpec(size, goal, pattern, "bits", "every-move")
    found = zero_aware_distances(
        spec, n_threads=n_threads, progress=lambda depth, n_reached, _n_states: progress(depth, n_reached)
    )
    farthest = (
        _board(spec, block, rank)
        for block, distances in enumerate(found.table.reshape(-1, spec.n_orders))
        for rank in np.flatnonzero(distances == len(found.states_per_depth) - 1).tolist()
    )
    return found.states_per_depth, tuple(islice(farthest, max_antipodes))


def _board(spec: TableSpec, block: int, rank: int) -> Tiles:
    """Return the board of a state: the block and the rank of the arrangement."""
    cell_set, region = divmod(block, _N_FREE)
    (cells,) = PatternIndex(spec.size, spec.n_tiles).unrank([cell_set * spec.n_orders + rank]).tolist()
    free = [cell for cell in range(spec.size.n_cells) if cell not in cells]
    blank = free.pop(region)
    boards = (tuple(np.argsort([blank, *cells, *rest]).tolist()) for rest in (free, free[::-1]))
    return next(board for board in boards if is_solvable(board, spec.goal, spec.size))
