"""Kernels that pack rows of a frontier for another shard, and unpack them there.

A packed row leaves out words that are 0. Words are in groups of 64. A nonempty group has a mark, an integer with a bit
for each nonzero word. A row begins with integers that have a bit for each nonempty group. So a full row takes 1/16 or
1/8 more than its words, and an almost empty row takes almost nothing.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import trailing_zeros
from pdb_core.jit import kernel

_at = np.uint64
_ONE = np.uint64(1)


@kernel
def pack_rows(
    rows: Any, n_active: Any, frontier: Any, frontier_words: Any, marks: Any, words: Any, n_written: Any
) -> None:
    """Pack the nonempty ones of some rows, one after another.

    rows            int64[m]              indices of the rows
    n_active, frontier, frontier_words    as in `advance_block`
    marks           uint64[...]           mutated: marks of all rows
    words           uint8|uint16[...]     mutated: nonzero words of all rows; with room for one more
    n_written       int64[2]              mutated: numbers of marks and words that are written
    """
    n_integers = frontier.shape[1]
    per_integer = 8 // frontier_words.itemsize
    per_group = 64 // per_integer
    n_groups = (n_integers + per_group - 1) // per_group
    n_heads = (n_groups + 63) // 64
    n_marks, n_words = n_written[0], n_written[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        if n_active[row] == 0:
            continue
        heads = n_marks
        n_marks += n_heads
        marks[heads:n_marks] = 0
        for group in range(n_groups):
            mark = np.uint64(0)
            first = group * per_group
            for j in range(first, min(first + per_group, n_integers)):
                if frontier[row, _at(j)] == 0:
                    continue
                for w in range(j * per_integer, (j + 1) * per_integer):
                    # A word that is 0 is written too, and overwritten by the next: no branch that is mispredicted.
                    word = frontier_words[row, _at(w)]
                    words[_at(n_words)] = word
                    is_kept = np.uint64(word != 0)
                    n_words += np.int64(is_kept)
                    mark |= is_kept << np.uint64(w & 63)
            if mark != 0:
                marks[heads + (group >> 6)] |= _ONE << np.uint64(group & 63)
                marks[n_marks] = mark
                n_marks += 1
    n_written[0], n_written[1] = n_marks, n_words


@kernel
def unpack_rows(
    n_packed: Any, marks: Any, words: Any, first_row: int, n_active: Any, frontier: Any, frontier_words: Any
) -> None:
    """Unpack rows, from `first_row` on: the reverse of `pack_rows`.

    n_packed        int32[m]              bits in each row, 0 for those that were not packed
    n_active        int32[...]            mutated; frontier and frontier_words too, except for empty rows
    """
    n_integers = frontier.shape[1]
    n_groups = (frontier_words.shape[1] + 63) // 64
    n_heads = (n_groups + 63) // 64
    at_mark, at_word = 0, 0
    for i in range(n_packed.shape[0]):
        row = first_row + i
        n_active[row] = n_packed[i]
        if n_packed[i] == 0:
            continue
        for j in range(n_integers):
            frontier[row, _at(j)] = 0
        heads = at_mark
        at_mark += n_heads
        for h in range(n_heads):
            head = marks[heads + h]
            while head != 0:
                first = ((h << 6) + trailing_zeros(head)) << 6
                head &= head - _ONE
                mark = marks[at_mark]
                at_mark += 1
                while mark != 0:
                    frontier_words[row, _at(first + trailing_zeros(mark))] = words[_at(at_word)]
                    at_word += 1
                    mark &= mark - _ONE
