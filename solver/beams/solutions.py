"""Solutions by beams from the board and from the goal, ranked by fitted values.

A path is a list of the blank's moves.
"""

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.moves import make_moves, tiles_moved
from pdb_core.puzzle import Tiles
from pdb_core.types import N_MOVES
from solver.beams.beam_search import find_path
from solver.beams.beam_search_kernels import Aim
from solver.beams.fitted_values import Embedding, embedding, fitted_values, has_fitted_values
from solver.beams.pieces import Pieces, in_pieces
from solver.progress import Report


def find_by_beams(
    board: Tiles, goal: Tiles, size: BoardSize, width: int, limit: int, end: float, report: Report | None
) -> tuple[int, ...] | None:
    """Search by beams from the board and, if that finds nothing, from the goal. Return the tiles moved, or None.

    Boards without fitted values are not searched. `limit`, `end` and `report` are those of `find_path`.
    """
    if not has_fitted_values(size.height, size.width):
        return None
    pieces = in_pieces(board, goal)
    whole = embedding(size, range(size.height), range(size.width))
    aim, (forward, backward) = fitted_aim(whole), both_ends(whole.embed(pieces))
    path = find_path(forward, aim, width, limit, end, report)
    if path is None:
        path = shorter(None, find_path(backward, aim, width, limit, end, report))
    return None if path is None else tiles_moved(board, without_loops(pieces, whole.original_path(path), size), size)[0]


def fitted_aim(embedded: Embedding) -> Aim:
    """Return the aim at the goal of the boards of an embedded rectangle, ranked by fitted values."""
    cells = np.arange(embedded.size.n_cells, dtype=np.int32)
    return Aim(embedded.geometry, np.zeros_like(cells), fitted_values(embedded.size), cells, pull=0)


def both_ends(pieces: Pieces) -> tuple[Pieces, Pieces]:
    """Return the board, and the goal as a board that must reach it."""
    return pieces, Pieces(np.argsort(pieces.cells).astype(np.int32), pieces.blank_cell)


def shorter(forward: list[int] | None, backward: list[int] | None) -> list[int] | None:
    """Return the shorter of the paths from both ends, from the board to the goal."""
    if backward is None:
        return forward
    backward = [N_MOVES - 1 - move for move in reversed(backward)]
    return backward if forward is None else min(forward, backward, key=len)


def without_loops(pieces: Pieces, path: list[int], size: BoardSize) -> list[int]:
    """Leave out of a path what it does between two visits of the same board."""
    cells = pieces.cells.astype(np.uint16)
    boards = [hash(cells.tobytes())]
    boards += [hash(cells.tobytes()) for _ in make_moves(cells, path, size, pieces.blank)]
    last_visit = {board: i for i, board in enumerate(boards)}
    kept, i = [], last_visit[boards[0]]
    while i < len(path):
        kept.append(path[i])
        i = last_visit[boards[i + 1]]
    return kept
