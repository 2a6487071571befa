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
# Fields of the state of a merger: rows written, rows of `before` passed, lists in the heap, 1 after the first row.
N_WRITTEN, N_PASSED, N_LISTS, HAS_LAST = 0, 1, 2, 3


@kernel
def count_labels(start: int, stop: int, rows: Any, word: int, shift: int, mask: int, counts: Any) -> None:
    """Add the counts of the labels at one position of rows `start` to `stop` - 1 (uint64[m, r]) to `counts` (int64)."""
    for i in range(start, stop):
        counts[_at((np.int64(rows[i, word]) >> shift) & mask)] += 1


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
def sift_down(heap: Any, n_lists: int, at: int, heads: Any) -> None:
    """Restore the order of a heap of lists (int64[l]) below `at`, by the first rows of the lists (uint64[l, r])."""
    number = heap[at]
    while 2 * at + 1 < n_lists:
        child = 2 * at + 1
        if child + 1 < n_lists and compare_rows(heads, heap[child + 1], heads, heap[child]) < 0:
            child += 1
        if compare_rows(heads, heap[child], heads, number) >= 0:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = number


@kernel
def read_head(number: int, kinds: Any, cursors: Any, left: Any, right: Any, above: Any, below: Any, heads: Any) -> None:
    """Copy the next row of a list into `heads`. `merge_lists` describes the arrays."""
    i = _at(cursors[number])
    kind = kinds[number]
    rows = left if kind == 0 else right if kind == 1 else above if kind == 2 else below
    for w in range(heads.shape[1]):
        heads[number, w] = rows[i, w]


@kernel
def start_merger(
    kinds: Any, cursors: Any, left: Any, right: Any, above: Any, below: Any, heads: Any, heap: Any, state: Any
) -> None:  # fmt: skip
    """Fill heads, heap and state for lists that are not empty. `merge_lists` describes the arrays."""
    n_lists = kinds.shape[0]
    for number in range(n_lists):
        read_head(number, kinds, cursors, left, right, above, below, heads)
        heap[number] = number
    for at in range(n_lists // 2 - 1, -1, -1):
        sift_down(heap, n_lists, at, heads)
    state[:] = 0
    state[N_LISTS] = n_lists


@kernel
def merge_lists(
    n_rows: int, kinds: Any, cursors: Any, ends: Any, left: Any, right: Any, above: Any, below: Any, before: Any,
    heads: Any, heap: Any, last: Any, state: Any, merged: Any,
) -> None:  # fmt: skip
    """Continue a merger for `n_rows` rows, or to its end, when `state` has no list left.

    Writes each row once, and no row of `before`.

    kinds, cursors, ends  int64[l]   list number i is rows `cursors[i]` to `ends[i]` - 1 of the array left (kind 0),
                                     right (1), above (2) or below (3); cursors are mutated
    left, ..., before     uint64[m, r]  the lists and `before` are sorted
    heads, heap, last     uint64[l, r], int64[l], uint64[1, r]  mutated
    state                 int64[4]      mutated: N_WRITTEN, N_PASSED, N_LISTS, HAS_LAST
    merged                uint64[m, r]  mutated from row N_WRITTEN on; as many rows as all lists have
    """
    n_written, n_passed, n_lists = state[N_WRITTEN], state[N_PASSED], state[N_LISTS]
    has_last = state[HAS_LAST] != 0
    for _ in range(n_rows):
        if n_lists == 0:
            break
        # Step 1. Write the smallest row, unless it is equal to the row before.
        number = heap[0]
        if not has_last or compare_rows(heads, number, last, 0) != 0:
            has_last = True
            for w in range(heads.shape[1]):
                last[0, w] = heads[number, w]
            while n_passed < before.shape[0] and compare_rows(before, n_passed, heads, number) < 0:
                n_passed += 1
            if n_passed == before.shape[0] or compare_rows(before, n_passed, heads, number) != 0:
                for w in range(heads.shape[1]):
                    merged[_at(n_written), w] = heads[number, w]
                n_written += 1
        # Step 2. Take the next row of its list.
        cursors[number] += 1
        if cursors[number] < ends[number]:
            read_head(number, kinds, cursors, left, right, above, below, heads)
        else:
            n_lists -= 1
            heap[0] = heap[n_lists]
        sift_down(heap, n_lists, 0, heads)
    state[N_WRITTEN], state[N_PASSED], state[N_LISTS], state[HAS_LAST] = n_written, n_passed, n_lists, has_last
