"""Shorten a path: remove loops, and replace windows by shorter paths between the same boards."""

import time
from collections.abc import Callable

import numpy as np

from solver.large_boards.beam_search import Aim, BeamSearch
from solver.large_boards.bounded_ida_star_kernels import find_path
from solver.large_boards.line_by_line import Geometry, Pieces
from solver.large_boards.line_by_line_kernels import Int32s

Shorter = Callable[[Pieces, Int32s, int], list[int] | None]


def without_loops(pieces: Pieces, path: list[int]) -> list[int]:
    """Return the path without the moves between two visits of the same board."""
    n = len(pieces.cells)
    # Zobrist hashing with 62 bits: different boards of a path have different keys.
    keys = np.random.default_rng(1).integers(1 << 62, size=n * n)
    cells, here, key = pieces.cells.tolist(), pieces.blank_cell, 0
    kept: list[int] = []
    trail, depth_of = [0], {0: 0}
    for cell in path:
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
    """Search of the windows of a path, one after another, until `time.perf_counter()` passes `end`."""

    def __init__(self, arrays: Geometry, end: float) -> None:
        self._arrays, self._end = arrays, end

    def by_search(self, pieces: Pieces, path: list[int], length: int, max_nodes: int) -> list[int]:
        """Replace windows of `length` moves by optimal paths, each found with at most `max_nodes` nodes."""
        arrays = self._arrays
        found, moves, estimates = (np.empty(length + 2, dtype=np.int32) for _ in range(3))

        def shorter(board: Pieces, wanted: Int32s, limit: int) -> list[int] | None:
            n_moves, _ = find_path(
                board.cells.copy(), board.blank_cell, wanted, arrays.rows, arrays.columns, arrays.neighbours, limit,
                max_nodes, found, moves, estimates,
            )  # fmt: skip
            return None if n_moves < 0 else found[:n_moves].tolist()

        return self._slide(pieces, path, length, shorter)

    def by_beam(self, pieces: Pieces, path: list[int], length: int, width: int) -> list[int]:
        """Replace windows of `length` moves by shorter paths that a beam of that width finds."""
        arrays = self._arrays
        beam = BeamSearch(arrays, width, length)
        weights, nothing = np.full(len(pieces.cells), 16, dtype=np.int32), np.empty(0, dtype=np.int32)

        def shorter(board: Pieces, wanted: Int32s, limit: int) -> list[int] | None:
            return beam.find(board, Aim(wanted, weights, arrays.neighbours, nothing, 0, 16), limit=limit, end=self._end)

        return self._slide(pieces, path, length, shorter)

    def _slide(self, pieces: Pieces, path: list[int], length: int, shorter: Shorter) -> list[int]:
        """Apply `shorter` to windows that overlap by half."""
        result = list(path)
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
