"""Kernels of the search by sorted layers.

A board with the blank on a known cell is its *order*: the labels of the tiles read row by row, packed into a row of
words, uint64[r], the first label in the highest bits. Rows compare as numbers, the first word first, so a sorted layer
is in lexicographic order of the labels. `place`, int64[k, 2], has the word of each label and the shift within it.

A vertical move of the blank takes one label over the `width` - 1 labels before or after it. Orders in which the same
label moves keep their sequence. So a sorted layer gives one sorted list for each label (`move_rows`). The next layer is
the merger of these lists and of the layers sideways, which do not change (`merge_lists`). No step sorts.
"""

from typing import Any

import numpy as np

from pdb_core.jit import kernel

_at = np.uint64
# Fields of the state of a merger: rows written, rows of `before` passed, lists in the heap, the row taken last or -1.
N_WRITTEN, N_PASSED, N_LISTS, LAST = 0, 1, 2, 3


@kernel
def move_rows(
    start: int, stop: int, rows: Any, source: int, target: int, place: Any, mask: int, next_row: Any, moved: Any
) -> None:  # fmt: skip
    """Move the label at position `source` of rows `start` to `stop` - 1 to position `target`, into one list per label.

    next_row  int64[k]          mutated: the index of the next row of each label
    moved     uint64[m, r]      mutated: the lists, one after the other
    """
    step = 1 if target > source else -1
    for i in range(start, stop):
        label = (np.int64(rows[i, place[source, 0]]) >> place[source, 1]) & mask
        into = _at(next_row[_at(label)])
        next_row[_at(label)] += 1
        for w in range(rows.shape[1]):
            moved[into, w] = rows[i, w]
        position = source
        while position != target:
            passed = (np.int64(rows[i, place[position + step, 0]]) >> place[position + step, 1]) & mask
            _set_label(moved, into, place, position, mask, passed)
            position += step
        _set_label(moved, into, place, target, mask, label)


@kernel
def _set_label(rows: Any, i: Any, place: Any, position: int, mask: int, label: int) -> None:
    word, shift = place[position, 0], place[position, 1]
    old = (np.int64(rows[i, word]) >> shift) & mask
    rows[i, word] ^= np.uint64((old ^ label) << shift)


@kernel
def compare_rows(rows: Any, i: int, others: Any, j: int) -> int:
    """Return -1, 0 or 1: row i of `rows` is before row j of `others`, equal to it, or after it."""
    for w in range(rows.shape[1]):
        if rows[_at(i), w] != others[_at(j), w]:
            return -1 if rows[_at(i), w] < others[_at(j), w] else 1
    return 0


@kernel
def sift_down(rows: Any, cursors: Any, heap: Any, n_lists: int) -> None:
    """Restore the order of a heap of lists (int64[l]) below its first entry, by the rows at their cursors."""
    at, number = 0, heap[0]
    while 2 * at + 1 < n_lists:
        child = 2 * at + 1
        if child + 1 < n_lists and compare_rows(rows, cursors[heap[child + 1]], rows, cursors[heap[child]]) < 0:
            child += 1
        if compare_rows(rows, cursors[heap[child]], rows, cursors[number]) >= 0:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = number


@kernel
def merge_lists(
    n_rows: int, rows: Any, cursors: Any, ends: Any, heap: Any, before: Any, state: Any, merged: Any
) -> None:
    """Continue a merger for `n_rows` rows, or to its end, when `state` has no list left.

    Writes each row once, and no row of `before`.

    rows, before   uint64[m, r]  the lists; `before` is sorted as they are
    cursors, ends  int64[l]      list number i is rows `cursors[i]` to `ends[i]` - 1; cursors are mutated
    heap           int64[l]      mutated: the lists, as a heap by their next rows
    state          int64[4]      mutated: N_WRITTEN, N_PASSED, N_LISTS, LAST
    merged         uint64[m, r]  mutated from row N_WRITTEN on; as many rows as all lists have
    """
    n_written, n_passed, n_lists, last = state[N_WRITTEN], state[N_PASSED], state[N_LISTS], state[LAST]
    for _ in range(n_rows):
        if n_lists == 0:
            break
        # Step 1. Write the smallest row, unless it is equal to the row before.
        number = heap[0]
        row = cursors[number]
        if last < 0 or compare_rows(rows, row, rows, last) != 0:
            last = row
            while n_passed < before.shape[0] and compare_rows(before, n_passed, rows, row) < 0:
                n_passed += 1
            if n_passed == before.shape[0] or compare_rows(before, n_passed, rows, row) != 0:
                for w in range(rows.shape[1]):
                    merged[_at(n_written), w] = rows[_at(row), w]
                n_written += 1
        # Step 2. Take the next row of its list.
        cursors[number] += 1
        if cursors[number] == ends[number]:
            n_lists -= 1
            heap[0] = heap[n_lists]
        sift_down(rows, cursors, heap, n_lists)
    state[N_WRITTEN], state[N_PASSED], state[N_LISTS], state[LAST] = n_written, n_passed, n_lists, last
