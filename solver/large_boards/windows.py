"""Making a way shorter: loops are cut out, and windows of it are searched anew.

A way is the list of cells that the blank goes to. Boards are in pieces, see `line_by_line_kernels`.
"""

import time
from collections.abc import Callable

import numpy as np

from solver.large_boards.beam_search import Aim, BeamSearch
from solver.large_boards.bounded_ida_star_kernels import find_way
from solver.large_boards.line_by_line import Geometry, Pieces
from solver.large_boards.line_by_line_kernels import Int32s

Shorter = Callable[[Pieces, Int32s, int], list[int] | None]


def without_loops(pieces: Pieces, way: list[int]) -> list[int]:
    """The way without the stretches between a board and its return."""
    n = len(pieces.cells)
    # 62 random bits for each piece on each cell: no two of the boards of a way have the same sum.
    keys = np.random.default_rng(1).integers(1 << 62, size=n * n)
    cells, here, key = pieces.cells.tolist(), pieces.blank_cell, 0
    kept: list[int] = []
    trail, depth_of = [0], {0: 0}
    for cell in way:
        piece = cells[cell]
        key ^= int(keys[piece * n + cell]) ^ int(keys[piece * n + here])
        cells[here], cells[cell] = piece, pieces.blank
        here = cell
        if key in depth_of:
            depth = depth_of[key]
            for old in trail[depth + 1 :]:
                del depth_of[old]
            del trail[depth + 1 :], kept[depth:]
        else:
            kept.append(cell)
            depth_of[key] = len(kept)
            trail.append(key)
    return kept


class Windows:
    """Searches the windows of a way anew, one after another, until the clock (`time.perf_counter`) passes `end`."""

    def __init__(self, arrays: Geometry, end: float) -> None:
        self._arrays, self._end = arrays, end

    def by_search(self, pieces: Pieces, way: list[int], length: int, max_nodes: int) -> list[int]:
        """Replace windows of `length` moves by shortest ways, each searched for with at most `max_nodes` nodes."""
        arrays = self._arrays
        found, moves, estimates = (np.empty(length + 2, dtype=np.int32) for _ in range(3))

        def shorter(board: Pieces, wanted: Int32s, limit: int) -> list[int] | None:
            n_moves, _ = find_way(
                board.cells.copy(), board.blank_cell, wanted, arrays.rows, arrays.columns, arrays.neighbours, limit,
                max_nodes, found, moves, estimates,
            )  # fmt: skip
            return None if n_moves < 0 else found[:n_moves].tolist()

        return self._slide(pieces, way, length, shorter)

    def by_beam(self, pieces: Pieces, way: list[int], length: int, width: int) -> list[int]:
        """Replace windows of `length` moves by what a beam of that width finds."""
        arrays = self._arrays
        beam = BeamSearch(arrays, width, length)
        weights, nothing = np.full(len(pieces.cells), 16, dtype=np.int32), np.empty(0, dtype=np.int32)

        def shorter(board: Pieces, wanted: Int32s, limit: int) -> list[int] | None:
            return beam.way(board, Aim(wanted, weights, arrays.neighbours, nothing, 0, 16), limit=limit, end=self._end)

        return self._slide(pieces, way, length, shorter)

    def _slide(self, pieces: Pieces, way: list[int], length: int, shorter: Shorter) -> list[int]:
        """Windows one after another, each half over the one before."""
        result = list(way)
        start, board = 0, pieces
        while start < len(result) - 2 and time.perf_counter() < self._end:
            window = result[start : start + length]
            wanted = np.argsort(board.after(window).cells).astype(np.int32)
            better = shorter(board, wanted, len(window) - 2)
            if better is not None:
                result[start : start + len(window)] = better
            step = max(1, length // 2)
            board = board.after(result[start : start + step])
            start += step
        return result
