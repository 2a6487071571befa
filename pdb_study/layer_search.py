"""Breadth-first search layer by layer, for spaces too large for one bit per board. Layers are in memory, two at a time.

A move takes the blank to a cell of the other colour and can be undone, so a neighbour of a board in layer d is in layer
d - 1 or d + 1: two layers are enough to find the new boards. A layer has, for each cell of the blank, the sorted orders
of the tiles. `layer_search_kernels` explains why they need no sorting.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from itertools import pairwise
from threading import Lock

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Board, Boards, BoardSize
from pdb_study.layer_search_kernels import (
    HAS_LAST,
    N_LISTS,
    N_WRITTEN,
    count_labels,
    merge_lists,
    move_rows,
    start_merger,
)

Rows = npt.NDArray[np.uint64]
# The sorted orders for each cell of the blank.
Layer = dict[int, Rows]
# Called from the main thread several times a second: (depth, boards reached, boards found of the next layer).
Progress = Callable[[int, int, int], None]

# Rows that a thread reads between two checks of the memory limit: some hundredths of a second.
_SLICE_ROWS = 100_000
_PROGRESS_S = 0.2


class MemoryLimitError(Exception):
    """The layers need more memory than the limit; raised and caught in this file only."""


def search_layers(
    size: BoardSize,
    goal: Board,
    *,
    max_depth: int | None,
    n_threads: int,
    memory_limit_bytes: int,
    max_antipodes: int,
    progress: Progress | None = None,
) -> tuple[tuple[int, ...], tuple[Board, ...], bool, bool]:
    """Count the boards at each distance up to `max_depth`, for boards of any size.

    Returns the counts; if the search was complete, the first `max_antipodes` boards at the largest distance; whether
    it was complete; and whether it stopped at the memory limit. The limit is on the arrays of boards. The result does
    not depend on `n_threads`, except for the depth at which memory ends.
    """
    counts: list[int] = []
    farthest: Layer = {}
    try:
        for layer in layers(size, goal, n_threads=n_threads, memory_limit_bytes=memory_limit_bytes, progress=progress):
            counts.append(sum(map(len, layer.values())))
            farthest = layer
            if max_depth is not None and len(counts) > max_depth:
                return tuple(counts), (), False, False
    except (MemoryLimitError, MemoryError):
        return tuple(counts), (), False, True
    return tuple(counts), PackedOrders(size).first_boards(farthest, max_antipodes), True, False


def layers(
    size: BoardSize,
    goal: Board,
    *,
    n_threads: int = 1,
    memory_limit_bytes: int = 1 << 62,
    progress: Progress | None = None,
) -> Iterator[Layer]:
    """Yield the boards at distance 0, 1, 2, ... as long as there are any.

    Raises `MemoryLimitError` if two layers do not fit.
    """
    orders, budget = PackedOrders(size), _Budget(memory_limit_bytes)
    previous: Layer = {}
    layer = {goal.index(BLANK): orders.pack(goal)}
    depth = n_reached = 0

    def report() -> None:
        if progress is not None:
            progress(depth, n_reached, budget.n_found)

    with ThreadPoolExecutor(n_threads) as pool:
        while layer:
            n_reached += sum(map(len, layer.values()))
            yield layer
            following = _next_layer(orders, previous, layer, budget, pool, report)
            budget.give(sum(rows.nbytes for rows in previous.values()))
            previous, layer = layer, following
            depth += 1


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

    def pack(self, board: Board) -> Rows:
        """Return a board as one row."""
        row = [0] * self.n_words
        for (word, shift), tile in zip(self.place.tolist(), (tile for tile in board if tile != BLANK), strict=True):
            row[word] |= (tile - 1) << shift
        return np.array([row], dtype=np.uint64)

    def boards(self, cell: int, rows: Rows) -> Boards:
        """Return rows as boards with the blank on `cell`, uint8[m, n_cells]."""
        labels = rows[:, self.place[:, 0]] >> self.place[:, 1].astype(np.uint64) & np.uint64(self.mask)
        return np.insert(labels.astype(np.uint8) + np.uint8(1), cell, BLANK, axis=1)

    def first_boards(self, layer: Layer, n_boards: int) -> tuple[Board, ...]:
        """Return the first boards of a layer, by the cell of the blank."""
        boards: list[Board] = []
        for cell in sorted(layer):
            boards += map(tuple, self.boards(cell, layer[cell][: n_boards - len(boards)]).tolist())
        return tuple(boards)


class _Budget:
    """Memory left for boards, and the number of boards found. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        self._lock = Lock()
        self._left = limit_bytes
        self.n_found = 0
        self.is_over = False

    def take(self, n_bytes: int) -> None:
        """Count memory as used. Raises `MemoryLimitError` if none is left, or if the search stops."""
        with self._lock:
            self._left -= n_bytes
            if self._left < 0:
                self.is_over = True
            if self.is_over:
                raise MemoryLimitError

    def give(self, n_bytes: int) -> None:
        with self._lock:
            self._left += n_bytes

    def found(self, n_boards: int, n_bytes: int) -> None:
        self.take(n_bytes)
        with self._lock:
            self.n_found += n_boards


def _next_layer(
    orders: PackedOrders,
    previous: Layer,
    layer: Layer,
    budget: _Budget,
    pool: ThreadPoolExecutor,
    report: Callable[[], None],
) -> Layer:
    """Return the layer after `layer`; `previous` is the one before it."""
    budget.n_found = 0
    cells = {near for cell in layer for near in orders.size.neighbours[cell]}
    # The longest first, so that the threads end together.
    cells_by_work = sorted(cells, key=lambda cell: -sum(len(layer.get(n, ())) for n in orders.size.neighbours[cell]))
    tasks: dict[int, Future[Rows]] = {}
    try:
        for cell in cells_by_work:
            tasks[cell] = pool.submit(_merge_cell, orders, cell, layer, previous.get(cell, orders.none), budget)
        report()
        while True:
            at = wait(tasks.values(), timeout=_PROGRESS_S, return_when=FIRST_EXCEPTION)
            if not at.not_done or any(task.exception() for task in at.done):
                break
            report()
        found = {cell: task.result() for cell, task in tasks.items() if task in at.done}
    except BaseException:
        budget.is_over = True
        for task in tasks.values():
            task.cancel()
        raise
    return {cell: rows for cell, rows in found.items() if len(rows)}


def _merge_cell(orders: PackedOrders, cell: int, layer: Layer, before: Rows, budget: _Budget) -> Rows:
    """Return the orders of the next layer with the blank on `cell`; `before` has those of the layer before last."""
    width = orders.size.width
    near = orders.size.neighbours[cell]
    # The lists by kind, as in `merge_lists`: their rows, and the first row of each list.
    rows = [layer.get(other, orders.none) if other in near else orders.none for other in (cell - 1, cell + 1)]
    starts = [[0, len(side)] for side in rows]
    for other, source, target in ((cell - width, cell - 1, cell - width), (cell + width, cell, cell + width - 1)):
        given = layer.get(other, orders.none) if other in near else orders.none
        moved, first_rows = _move(orders, given, source, target, budget)
        rows.append(moved)
        starts.append(first_rows)
    lists = [
        (kind, start, end)
        for kind, first_rows in enumerate(starts)
        for start, end in pairwise(first_rows)
        if start < end
    ]
    merged = _merge(orders, np.array(lists, dtype=np.int64).reshape(-1, 3), rows, before, budget)
    budget.give(rows[2].nbytes + rows[3].nbytes)
    return merged


def _move(orders: PackedOrders, rows: Rows, source: int, target: int, budget: _Budget) -> tuple[Rows, list[int]]:
    """Apply a vertical move to sorted rows. Return a sorted list for each label that moves, and the start of each."""
    if len(rows) == 0:
        return orders.none, [0, 0]
    budget.take(rows.nbytes)
    counts = np.zeros(orders.n_tiles, dtype=np.int64)
    slices = [(start, min(start + _SLICE_ROWS, len(rows))) for start in range(0, len(rows), _SLICE_ROWS)]
    word, shift = orders.place[source].tolist()
    for start, stop in slices:
        count_labels(start, stop, rows, word, shift, orders.mask, counts)
        budget.take(0)
    first_rows = [0, *np.cumsum(counts).tolist()]
    next_row = np.array(first_rows[:-1], dtype=np.int64)
    moved = np.empty_like(rows)
    for start, stop in slices:
        move_rows(start, stop, rows, source, target, orders.place, orders.mask, next_row, moved)
        budget.take(0)
    return moved, first_rows


def _merge(orders: PackedOrders, lists: npt.NDArray[np.int64], rows: list[Rows], before: Rows, budget: _Budget) -> Rows:
    """Merge sorted lists, without duplicates and rows of `before`."""
    kinds, cursors, ends = (np.ascontiguousarray(column) for column in lists.T)
    heads = np.empty((len(lists), orders.n_words), dtype=np.uint64)
    heap = np.empty(len(lists), dtype=np.int64)
    last = np.empty((1, orders.n_words), dtype=np.uint64)
    state = np.zeros(HAS_LAST + 1, dtype=np.int64)
    # Large enough for all rows. Pages without a write take no memory, and `resize` frees them.
    merged = np.empty((int((ends - cursors).sum()), orders.n_words), dtype=np.uint64)
    left, right, above, below = rows
    start_merger(kinds, cursors, left, right, above, below, heads, heap, state)
    n_written = 0
    while state[N_LISTS] > 0:
        merge_lists(
            _SLICE_ROWS, kinds, cursors, ends, left, right, above, below, before, heads, heap, last, state, merged
        )
        n_new = int(state[N_WRITTEN]) - n_written
        n_written += n_new
        budget.found(n_new, n_new * merged.itemsize * orders.n_words)
    merged.resize((n_written, orders.n_words), refcheck=False)
    return merged
