"""Boards at each distance from the goal, layer by layer, for spaces too large for a bit a board.

Each move takes the blank to a cell of the other colour and can be undone, so a neighbour of layer d is in layer d - 1
or d + 1: of all that was reached, two layers are enough to tell what is new. A layer is, for each cell of the blank,
the sorted orders of the tiles; `layer_search_kernels` says why no step ever sorts.
"""

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from itertools import pairwise
from threading import Lock

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Board, BoardSize
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
# Called from the main thread with (depth, boards reached so far, boards found of the next layer), now and then.
Progress = Callable[[int, int, int], None]

# Rows a thread reads before it looks up: some hundredths of a second.
_SLICE_ROWS = 100_000
_PROGRESS_S = 0.2


class OutOfRoomError(Exception):
    """The memory limit; never leaves this room."""


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
    """The number of boards at each distance up to `max_depth`, for boards of any size.

    Returns the counts; the boards at the largest distance, or the first `max_antipodes`, where the search came to its
    end; whether it did; and whether it stopped for want of memory. The limit is on the arrays of boards. The result
    does not depend on `n_threads`, but for the point where memory ends.
    """
    orders = _PackedOrders(size)
    budget = _Budget(memory_limit_bytes)
    previous: dict[int, Rows] = {}
    layer = {goal.index(BLANK): orders.pack(goal)}
    counts = [1]
    with ThreadPoolExecutor(n_threads) as pool:
        while max_depth is None or len(counts) <= max_depth:

            def tell() -> None:
                if progress is not None:
                    progress(len(counts) - 1, sum(counts), budget.n_found)

            try:
                following = _next_layer(orders, previous, layer, budget, pool, tell)
            except (OutOfRoomError, MemoryError):
                return tuple(counts), (), False, True
            if not following:
                return tuple(counts), orders.first_boards(layer, max_antipodes), True, False
            budget.give(sum(rows.nbytes for rows in previous.values()))
            previous, layer = layer, following
            counts.append(sum(map(len, layer.values())))
    return tuple(counts), (), False, False


class _PackedOrders:
    """How orders are packed, and where they go."""

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
        """One row."""
        row = [0] * self.n_words
        for (word, shift), tile in zip(self.place.tolist(), (tile for tile in board if tile != BLANK), strict=True):
            row[word] |= (tile - 1) << shift
        return np.array([row], dtype=np.uint64)

    def unpack(self, cell: int, row: list[int]) -> Board:
        tiles = [(row[word] >> shift & self.mask) + 1 for word, shift in self.place.tolist()]
        return (*tiles[:cell], BLANK, *tiles[cell:])

    def first_boards(self, layer: dict[int, Rows], n_boards: int) -> tuple[Board, ...]:
        boards: list[Board] = []
        for cell in sorted(layer):
            boards += [self.unpack(cell, row) for row in layer[cell][: n_boards - len(boards)].tolist()]
        return tuple(boards)


class _Budget:
    """Counts the memory of boards. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        self._lock = Lock()
        self._left = limit_bytes
        self.n_found = 0
        self.is_over = False

    def take(self, n_bytes: int) -> None:
        """Count memory as used. Raises `OutOfRoomError` where there is no more, or where the search is to stop."""
        with self._lock:
            self._left -= n_bytes
            if self._left < 0:
                self.is_over = True
            if self.is_over:
                raise OutOfRoomError

    def give(self, n_bytes: int) -> None:
        with self._lock:
            self._left += n_bytes

    def found(self, n_boards: int, n_bytes: int) -> None:
        self.take(n_bytes)
        with self._lock:
            self.n_found += n_boards


def _next_layer(
    orders: _PackedOrders,
    previous: dict[int, Rows],
    layer: dict[int, Rows],
    budget: _Budget,
    pool: ThreadPoolExecutor,
    tell: Callable[[], None],
) -> dict[int, Rows]:
    """The layer after `layer`, which comes after `previous`."""
    budget.n_found = 0
    cells = {near for cell in layer for near in orders.size.neighbours[cell]}
    # The longest first, so that the threads end together.
    cells_by_work = sorted(cells, key=lambda cell: -sum(len(layer.get(n, ())) for n in orders.size.neighbours[cell]))
    tasks: dict[int, Future[Rows]] = {}
    try:
        for cell in cells_by_work:
            tasks[cell] = pool.submit(_merge_cell, orders, cell, layer, previous.get(cell, orders.none), budget)
        tell()
        while True:
            at = wait(tasks.values(), timeout=_PROGRESS_S, return_when=FIRST_EXCEPTION)
            if not at.not_done or any(task.exception() for task in at.done):
                break
            tell()
        found = {cell: task.result() for cell, task in tasks.items() if task in at.done}
    except BaseException:
        budget.is_over = True
        for task in tasks.values():
            task.cancel()
        raise
    return {cell: rows for cell, rows in found.items() if len(rows)}


def _merge_cell(orders: _PackedOrders, cell: int, layer: dict[int, Rows], before: Rows, budget: _Budget) -> Rows:
    """The boards of the next layer with the blank on `cell`; `before` are those of the layer before last."""
    width = orders.size.width
    near = orders.size.neighbours[cell]
    # The lists, by the kind that `merge_lists` knows them by: the rows they are in, and where each of them starts.
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


def _move(orders: _PackedOrders, rows: Rows, source: int, target: int, budget: _Budget) -> tuple[Rows, list[int]]:
    """What a vertical move makes of sorted rows: a sorted list for each label that moves, and where each starts."""
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


def _merge(
    orders: _PackedOrders, lists: npt.NDArray[np.int64], rows: list[Rows], before: Rows, budget: _Budget
) -> Rows:
    kinds, cursors, ends = (np.ascontiguousarray(column) for column in lists.T)
    heads = np.empty((len(lists), orders.n_words), dtype=np.uint64)
    heap = np.empty(len(lists), dtype=np.int64)
    last = np.empty((1, orders.n_words), dtype=np.uint64)
    state = np.zeros(HAS_LAST + 1, dtype=np.int64)
    # Room for all; pages that nobody writes to take no memory, and are given back below.
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
