"""Beam search for a path to one board, or to any board with some pieces on their cells."""

import time

import numpy as np

from pdb_core.types import N_MOVES, Bytes
from solver.beams.beam_search_kernels import BLOCK, CHUNK, Aim, Beam, grow_beam, start_beam
from solver.beams.fitted_values_kernels import BYTE_VALUES
from solver.beams.pieces import Pieces
from solver.progress import Iteration, Report

# Cells copied between two checks of the time limit.
_SLICE_CELLS = 10_000_000
# Bytes of a cache line.
_LINE = 64
# Recent boards that are recognised as duplicates: at least 2 ** _SEEN_BITS, and more than a layer of children.
_SEEN_BITS, _SEEN_PER_BOARD = 16, 4
# Numbers of 4 bytes in the records of a layer, whose indices are signed: links are shorter still.
_MOST_NUMBERS = 1 << 31
# The part of the available memory that a beam may take.
_PART_OF_MEMORY = 8


def find_path(
    pieces: Pieces, aim: Aim, width: int, limit: int, end: float, report: Report | None = None
) -> list[int] | None:
    """Return the blank's moves, at most `limit`, to a goal of `aim`, or None if a beam of a width finds no path.

    The beam becomes narrower where it would not reach `limit` before `time.perf_counter()` passes `end`. `report` is
    called with the depth every fraction of a second; an exception from it ends the search.
    """
    if time.perf_counter() > end:
        return None
    n = len(pieces.cells)
    beam = new_beam(n, width, limit)
    start_beam(beam, pieces.cells, pieces.blank_cell)
    depth, narrower, now = 0, width, time.perf_counter()
    while beam.state[0] > 0 and depth < limit and now < end:
        to_depth = min(depth + max(1, _SLICE_CELLS // (width * n)), limit)
        found = grow_beam(beam, aim, narrower, to_depth)
        if found >= 0:
            moves = []
            for layer in range(int(beam.state[1]), 0, -1):
                found, move = divmod(int(beam.parents[layer, found]), N_MOVES)
                moves.append(move)
            return moves[::-1]
        begun, now = now, time.perf_counter()
        boards_until_end = narrower * (to_depth - depth) * (end - now) / (now - begun)
        depth = to_depth
        narrower = int(min(width, max(1, boards_until_end / max(1, limit - depth))))
        if report is not None:
            report(Iteration(threshold=depth, generated=0, expanded=0, seconds=0.0))
    return None


def widest_beam(n_cells: int, limit: int, memory: int) -> int:
    """Return the width of the widest beam that takes at most an eighth of the available `memory`.

    Kernels read scores at 32-bit indices below 2^31, and links have the index of a board above two bits.
    """
    cell = np.min_scalar_type(n_cells)
    # `seen` has up to twice as many keys as it needs. A child has four numbers of 4 bytes and two of 8.
    n_bytes = 2 * _record_bytes(n_cells) + 2 * n_cells * cell.itemsize + 4 * (limit + 1) + 2 * _SEEN_PER_BOARD * 4
    of_children = BLOCK * N_MOVES * (4 * 4 + 2 * 8)
    room = memory // _PART_OF_MEMORY - of_children
    return max(1, min(room // n_bytes, _MOST_NUMBERS // (_record_bytes(n_cells) // 4)))


def new_beam(n_cells: int, width: int, limit: int) -> Beam:
    """Return the arrays of a beam."""
    cell, n_bytes = np.min_scalar_type(n_cells), _record_bytes(n_cells)
    n_children = N_MOVES * min(width, BLOCK)
    records = _on_lines(2 * width * n_bytes).reshape(2, width, n_bytes)
    return Beam(
        words=records.view(np.uint64),
        boards=records.view(cell),
        places=np.empty((2, width, n_cells), dtype=cell),
        parents=np.empty((limit + 1, width), dtype=np.int32),
        seen=np.zeros(1 << max(_SEEN_BITS, (_SEEN_PER_BOARD * width).bit_length()), dtype=np.uint32),
        state=np.zeros(2, dtype=np.int64),
        unsorted=np.empty(n_children, dtype=np.uint64),
        child_links=np.empty(n_children + CHUNK, dtype=np.int32),
        child_scores=np.empty(n_children + CHUNK, dtype=np.int32),
        child_ranks=np.empty(n_children + CHUNK, dtype=np.int32),
        child_keys=np.empty(n_children + CHUNK, dtype=np.uint64),
        chosen=np.empty(n_children + 1, dtype=np.int32),
        scratch=_on_lines(CHUNK * BYTE_VALUES),
        sums=np.empty(CHUNK, dtype=np.int32),
    )


def _record_bytes(n_cells: int) -> int:
    """Return the bytes of a board's record, a whole number of cache lines."""
    # 14 bytes for the blank's cell, the score and the key.
    return -(-(n_cells * np.min_scalar_type(n_cells).itemsize + 14) // _LINE) * _LINE


def _on_lines(n_bytes: int) -> Bytes:
    """Return memory from the beginning of a cache line."""
    memory = np.empty(n_bytes + _LINE, dtype=np.uint8)
    return memory[-memory.ctypes.data % _LINE :][:n_bytes]
