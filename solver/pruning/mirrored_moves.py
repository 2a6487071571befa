"""First moves of boards that a symmetry of the goal maps to themselves: of moves that it exchanges, one is enough.

The image of a solution is a solution of the same board, with the images of its moves. So some optimal solution begins
with a move that is kept, see `kept_moves`.
"""

from functools import lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles
from pdb_core.symmetry import mappings_between
from pdb_core.types import N_MOVES, Bytes, Int64s
from solver.board_arrays import mapped_moves

EVERY_MOVE = (1 << N_MOVES) - 1


def kept_moves(boards: Bytes, goal: Tiles, size: BoardSize) -> Bytes:
    """Return masks of the first moves that are enough for boards, uint8[m, n_cells], as uint8[m].

    Of moves that are images of each other the first is kept. A board that is not its own image keeps all.
    """
    kept = np.full(len(boards), EVERY_MOVE, dtype=np.uint8)
    for tile_map, cell_map, mask in _own_mappings(goal, size):
        kept[(tile_map[boards] == boards[:, cell_map]).all(axis=1)] &= mask
    return kept


@lru_cache(maxsize=32)
def _own_mappings(goal: Tiles, size: BoardSize) -> list[tuple[Bytes, Int64s, np.uint8]]:
    """Return the tiles and cells of the symmetries that keep the goal, and masks of the moves before their images."""
    result = []
    for mapping in mappings_between(goal, goal, size)[1:]:
        is_kept = mapped_moves(mapping.cell_map, size) >= np.arange(N_MOVES)
        mask = np.packbits(is_kept, bitorder="little")[0]
        result.append((np.array(mapping.tile_map, dtype=np.uint8), np.array(mapping.cell_map), mask))
    return result
