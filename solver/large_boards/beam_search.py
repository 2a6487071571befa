"""Beam search for a path to one board, or to any board with some pieces on their cells."""

import time

import numpy as np

from solver.large_boards.beam_search_kernels import Aim, Beam, grow_beam, start_beam
from solver.large_boards.line_by_line import Pieces
from solver.progress import Iteration, Report

# Cells copied between two checks of the time limit.
_SLICE_CELLS = 10_000_000
# Recent boards that are recognised as duplicates: at least 2 ** _SEEN_BITS, and more than three layers of children.
_SEEN_BITS, _SEEN_PER_BOARD = 16, 16


class BeamSearch:
    """Beam search of a fixed width for boards of n cells. Its arrays are used again by each search."""

    def __init__(self, n: int, width: int, max_depth: int) -> None:
        self._width, self._max_depth, self._n_searches = width, max_depth, 0
        self._beam = Beam(
            boards=np.empty((2, width, n), dtype=np.uint16),
            places=np.empty((2, width, n), dtype=np.uint16),
            blanks=np.empty((2, width), dtype=np.int32),
            last=np.empty((2, width), dtype=np.int32),
            estimates=np.empty((2, width), dtype=np.int64),
            values=np.empty((2, width), dtype=np.int64),
            keys=np.empty((2, width), dtype=np.uint64),
            seen=np.zeros(1 << max(_SEEN_BITS, (_SEEN_PER_BOARD * width).bit_length()), dtype=np.uint64),
            state=np.zeros(3, dtype=np.int64),
            parents=np.empty((max_depth + 1, width), dtype=np.int32),
            leasts=np.empty(max_depth + 1, dtype=np.int64),
        )

    def find(
        self,
        pieces: Pieces,
        aim: Aim,
        *,
        limit: int,
        patience: int | None = None,
        end: float,
        report: Report | None = None,
    ) -> list[int] | None:
        """Return a path of at most `limit` moves to a goal of `aim`, or None if the beam finds none.

        With `patience`, the search ends after so many moves without a better board, and returns the path to the best
        one. It also ends when `time.perf_counter()` passes `end`. `report` is called with the depth every fraction of a
        second; an exception from it ends the search.
        """
        limit = min(limit, self._max_depth)
        self._n_searches += 1
        beam = self._beam
        start_beam(beam, aim, pieces.cells, pieces.blank_cell, self._n_searches)
        step = max(1, _SLICE_CELLS // beam.boards[0].size)
        step = step if patience is None else min(step, patience)
        nearest = 0
        while True:
            depth = int(beam.state[2])
            if report is not None:
                report(Iteration(threshold=depth, generated=0, expanded=0, seconds=0.0))
            if patience is not None:
                nearest = int(np.argmin(beam.leasts[: depth + 1]))
                if depth >= nearest + patience:
                    break
            if beam.state[1] == 0 or depth >= limit or time.perf_counter() > end:
                break
            found = grow_beam(beam, aim, min(depth + step, limit))
            if found >= 0:
                return self._trace(pieces, aim, int(beam.state[2]), found)
        # The best board of a layer is its first.
        return None if patience is None else self._trace(pieces, aim, nearest, 0)

    def _trace(self, pieces: Pieces, aim: Aim, depth: int, index: int) -> list[int]:
        moves = []
        for layer in range(depth, 0, -1):
            parent = int(self._beam.parents[layer, index])
            moves.append(parent & 3)
            index = parent >> 2
        here, path = pieces.blank_cell, []
        for move in reversed(moves):
            here = int(aim.geometry.neighbours[here, move])
            path.append(here)
        return path
