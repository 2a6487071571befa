"""Beam search for a path to one board, or to any board with some pieces on their cells."""

import time
from dataclasses import dataclass, field

import numpy as np

from solver.large_boards.beam_search_kernels import N_CLASSES, Beam, Int64s, grow_beam, start_beam
from solver.large_boards.fitted_values import no_fitted_values
from solver.large_boards.fitted_values_kernels import FittedValues
from solver.large_boards.line_by_line import Geometry, Pieces
from solver.large_boards.line_by_line_kernels import Int32s
from solver.progress import Iteration, Report

# Cells copied between two checks of the time limit.
_SLICE_CELLS = 10_000_000
# Recent boards that are recognised as duplicates: at least 2 ** _SEEN_BITS, and more than three layers of children.
_SEEN_BITS, _SEEN_PER_BOARD = 16, 16


@dataclass(frozen=True, eq=False)
class Aim:
    """Goal and ranking of a beam search.

    wanted      int32[n]     goal cell of each piece
    weights     int32[n]     cost of each cell between a piece and its goal cell
    neighbours  int32[n, 4]  as in `Geometry`, without the locked cells
    focus       int32[k]     the pieces that must reach their goal cells; all pieces if empty
    pull        cost of each cell between the blank and the nearest misplaced piece of the focus
    noise       upper bound of the random part of a rank, at least 1
    fitted      values of the pieces and of their pairs; they name a piece by its goal cell, so `wanted` is 0, 1, 2, ...
    """

    wanted: Int32s
    weights: Int32s
    neighbours: Int32s
    focus: Int32s
    pull: int
    noise: int
    fitted: FittedValues = field(default_factory=no_fitted_values)


class BeamSearch:
    """Beam search of a fixed width for one board size. Its arrays are used again by each search."""

    def __init__(self, arrays: Geometry, width: int, max_depth: int) -> None:
        n = arrays.size.n_cells
        self._arrays, self._width, self._max_depth, self._n_searches = arrays, width, max_depth, 0
        self._beam = Beam(
            boards=np.empty((2, width, n), dtype=np.uint16),
            places=np.empty((2, width, n), dtype=np.uint16),
            blanks=np.empty((2, width), dtype=np.int32),
            last=np.empty((2, width), dtype=np.int32),
            estimates=np.empty((2, width), dtype=np.int64),
            values=np.empty((2, width), dtype=np.int64),
            keys=np.empty((2, width), dtype=np.uint64),
            seen=np.zeros(1 << max(_SEEN_BITS, (_SEEN_PER_BOARD * width).bit_length()), dtype=np.uint64),
            state=np.zeros(4, dtype=np.int64),
            child_estimates=np.empty(3 * width + 4, dtype=np.int64),
            child_values=np.empty(3 * width + 4, dtype=np.int64),
            child_ranks=np.empty(3 * width + 4, dtype=np.int64),
            child_keys=np.empty(3 * width + 4, dtype=np.uint64),
            child_moves=np.empty(3 * width + 4, dtype=np.int32),
            order=np.empty(3 * width + 4, dtype=np.int32),
            counts=np.empty(N_CLASSES + 1, dtype=np.int64),
            astray=np.empty(n, dtype=np.int32),
        )
        self._parents = np.empty((max_depth + 1, width), dtype=np.int32)
        self._leasts: Int64s = np.empty(max_depth + 1, dtype=np.int64)

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
        arrays, beam = self._arrays, self._beam
        start_beam(
            beam, pieces.cells, pieces.blank_cell, aim.wanted, aim.weights, aim.fitted, arrays.rows, arrays.columns,
            self._n_searches,
        )  # fmt: skip
        self._leasts[0] = beam.state[3]
        step = max(1, _SLICE_CELLS // (self._width * arrays.size.n_cells))
        step = step if patience is None else min(step, patience)
        nearest = 0
        while True:
            depth = int(beam.state[2])
            if report is not None:
                report(Iteration(threshold=depth, generated=0, expanded=0, seconds=0.0))
            if patience is not None:
                nearest = int(np.argmin(self._leasts[: depth + 1]))
                if depth >= nearest + patience:
                    break
            if beam.state[1] == 0 or depth >= limit or time.perf_counter() > end:
                break
            found = grow_beam(
                beam, aim.wanted, aim.weights, aim.fitted, arrays.rows, arrays.columns, aim.neighbours, aim.focus,
                aim.pull, aim.noise, self._parents, self._leasts, min(depth + step, limit),
            )  # fmt: skip
            if found >= 0:
                return self._trace(pieces, int(beam.state[2]), found)
        # The best board of a layer is its first.
        return None if patience is None else self._trace(pieces, nearest, 0)

    def _trace(self, pieces: Pieces, depth: int, index: int) -> list[int]:
        moves = []
        for at in range(depth, 0, -1):
            parent = int(self._parents[at, index])
            moves.append(parent & 3)
            index = parent >> 2
        here, path = pieces.blank_cell, []
        for move in reversed(moves):
            here = int(self._arrays.neighbours[here, move])
            path.append(here)
        return path
