"""Breadth-first search layer by layer, for spaces too large for one bit per board. Layers are in memory, two at a time.

A move takes the blank to a cell of the other colour and can be undone, so a neighbour of a board in layer d is in layer
d - 1 or d + 1: two layers are enough to find the new boards. A layer has, for each cell of the blank, the sorted orders
of the tiles. `layer_search_kernels` explains why they need no sorting.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import numpy.typing as npt

from pdb_core.errors import InputError
from pdb_core.puzzle import BLANK, Boards, BoardSize, Tiles
from pdb_core.threads import thread_pool
from pdb_study.layer_search_kernels import N_LISTS, N_WRITTEN, merge_lists, move_rows

Rows = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
# The sorted orders for each cell of the blank.
Layer = dict[int, Rows]
# 2x5 and 3x3 are the largest sizes whose boards are all kept in memory: 1.8 million boards.
MAX_CELLS = 10
# Rows that a thread reads between two checks of the memory limit: some hundredths of a second.
_SLICE_ROWS = 100_000


class MemoryLimitError(Exception):
    """The layers need more memory than the limit; raised and caught in this package only."""


def all_boards(size: BoardSize, goal: Tiles) -> tuple[Boards, npt.NDArray[np.uint8]]:
    """Return the solvable boards, nearest first, uint8[m, n_cells], and their distances, uint8[m]; m is n_cells! / 2.

    Raises `InputError` for boards of more than 10 cells.
    """
    if size.n_cells > MAX_CELLS:
        raise InputError(f"{size} boards are too many to evaluate each; the largest sizes have {MAX_CELLS} cells")
    orders = PackedOrders(size)
    found = [np.concatenate([orders.boards(*rows) for rows in sorted(layer.items())]) for layer in layers(size, goal)]
    return np.concatenate(found), np.repeat(np.arange(len(found), dtype=np.uint8), [len(boards) for boards in found])


def layers(size: BoardSize, goal: Tiles, *, n_threads: int = 1, memory_limit_bytes: int = 1 << 62) -> Iterator[Layer]:
    """Yield the boards at distance 0, 1, 2, ... as long as there are any, for boards of any size.

    Raises `MemoryLimitError` if the arrays of two layers do not fit.
    """
    orders, budget = PackedOrders(size), _Budget(memory_limit_bytes)
    previous: Layer = {}
    layer = {goal.index(BLANK): orders.pack(goal)}
    with thread_pool(n_threads) as pool:
        while layer:
            yield layer
            following = _next_layer(orders, previous, layer, budget, pool)
            budget.take(-sum(rows.nbytes for rows in previous.values()))
            previous, layer = layer, following


class PackedOrders:
    """Packing of the tiles, read row by row, into one or more words: the form of rows in the kernels."""

    def __init__(self, size: BoardSize) -> None:
        self.size = size
        self.n_tiles = size.n_cells - 1
        self.label_bits = max(1, (self.n_tiles - 1).bit_length())
        # Bit 63 stays free, so that a word is the same number with and without a sign.
        labels_per_word = 63 // self.label_bits
        self.n_words = -(-self.n_tiles // labels_per_word)
        self.mask = (1 << self.label_bits) - 1
        self.place = np.array(
            [
                (position // labels_per_word, self.label_bits * (labels_per_word - 1 - position % labels_per_word))
                for position in range(self.n_tiles)
            ],
            dtype=np.int64,
        )
        self.none = np.empty((0, self.n_words), dtype=np.uint64)

    def pack(self, board: Tiles) -> Rows:
        """Return a board as one row."""
        row = [0] * self.n_words
        for (word, shift), tile in zip(self.place.tolist(), (tile for tile in board if tile != BLANK), strict=True):
            row[word] |= (tile - 1) << shift
        return np.array([row], dtype=np.uint64)

    def boards(self, cell: int, rows: Rows) -> Boards:
        """Return rows as boards with the blank on `cell`, uint8[m, n_cells]."""
        labels = rows[:, self.place[:, 0]] >> self.place[:, 1].astype(np.uint64) & np.uint64(self.mask)
        return np.insert(labels.astype(np.uint8) + np.uint8(1), cell, BLANK, axis=1)

    def first_boards(self, layer: Layer, n_boards: int) -> tuple[Tiles, ...]:
        """Return the first boards of a layer, by the cell of the blank."""
        boards: list[Tiles] = []
        for cell in sorted(layer):
            boards += map(tuple, self.boards(cell, layer[cell][: n_boards - len(boards)]).tolist())
        return tuple(boards)


class _Budget:
    """Memory left for boards. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        self._lock = Lock()
        self._left = limit_bytes
        self.is_over = False

    def take(self, n_bytes: int) -> None:
        """Count memory as used, or as free if negative. Raises `MemoryLimitError` if none is left or all must stop."""
        with self._lock:
            self._left -= n_bytes
            self.is_over |= self._left < 0
            if self.is_over:
                raise MemoryLimitError


def _next_layer(
    orders: PackedOrders, previous: Layer, layer: Layer, budget: _Budget, pool: ThreadPoolExecutor
) -> Layer:
    """Return the layer after `layer`; `previous` is the one before it."""
    cells = {near for cell in layer for near in orders.size.neighbours[cell]}
    # The longest first, so that the threads end together.
    cells_by_work = sorted(cells, key=lambda cell: -sum(len(layer.get(n, ())) for n in orders.size.neighbours[cell]))
    try:
        tasks = {
            cell: pool.submit(_merge_cell, orders, cell, layer, previous.get(cell, orders.none), budget)
            for cell in cells_by_work
        }
        return {cell: rows for cell, task in tasks.items() if len(rows := task.result())}
    except BaseException:
        budget.is_over = True  # so that the other threads stop
        raise


def _merge_cell(orders: PackedOrders, cell: int, layer: Layer, before: Rows, budget: _Budget) -> Rows:
    """Return the orders of the next layer with the blank on `cell`; `before` has those of the layer before last."""
    arriving = {near: layer[near] for near in orders.size.neighbours[cell] if near in layer}
    rows = np.empty((sum(map(len, arriving.values())), orders.n_words), dtype=np.uint64)
    budget.take(rows.nbytes)
    bounds = [0]
    for near, given in arriving.items():
        moved = rows[bounds[-1] : bounds[-1] + len(given)]
        if abs(near - cell) == 1:
            moved[:] = given
            counts = np.array([len(given)])
        else:
            source, target = (cell - 1, near) if near < cell else (cell, near - 1)
            counts = _move(orders, given, source, target, moved, budget)
        bounds += (bounds[-1] + np.cumsum(counts)).tolist()
    merged = _merge(rows, np.array(bounds), before, budget)
    budget.take(-rows.nbytes)
    return merged


def _move(orders: PackedOrders, rows: Rows, source: int, target: int, moved: Rows, budget: _Budget) -> Counts:
    """Apply a vertical move to sorted rows: write a sorted list for each label that moves. Returns their lengths."""
    counts = np.zeros(orders.n_tiles, dtype=np.int64)
    slices = [(start, min(start + _SLICE_ROWS, len(rows))) for start in range(0, len(rows), _SLICE_ROWS)]
    word, shift = orders.place[source].tolist()
    for start, stop in slices:
        labels = (rows[start:stop, word] >> np.uint64(shift) & np.uint64(orders.mask)).astype(np.int64)
        counts += np.bincount(labels, minlength=orders.n_tiles)
        budget.take(0)
    next_row = np.cumsum(counts) - counts
    for start, stop in slices:
        move_rows(start, stop, rows, source, target, orders.place, orders.mask, next_row, moved)
        budget.take(0)
    return counts


def _merge(rows: Rows, bounds: Counts, before: Rows, budget: _Budget) -> Rows:
    """Merge the sorted lists between `bounds`, without duplicates and rows of `before`."""
    is_list = bounds[1:] > bounds[:-1]
    cursors, ends = bounds[:-1][is_list], bounds[1:][is_list]
    # Sorted lists are a heap.
    heap = np.lexsort(rows[cursors].T[::-1])
    state = np.array([0, 0, len(heap), -1])
    # Large enough for all rows. Pages without a write take no memory, and `resize` frees them.
    merged = np.empty_like(rows)
    while state[N_LISTS] > 0:
        n_written = int(state[N_WRITTEN])
        merge_lists(_SLICE_ROWS, rows, cursors, ends, heap, before, state, merged)
        budget.take((int(state[N_WRITTEN]) - n_written) * rows.itemsize * rows.shape[1])
    merged.resize((int(state[N_WRITTEN]), rows.shape[1]), refcheck=False)
    return merged
