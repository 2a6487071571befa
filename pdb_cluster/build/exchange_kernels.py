"""Kernels that compress rows of a frontier for another shard, and decompress them there.

A compressed row leaves out words that are 0. It has a mask, with a bit for each word: whether it is kept. So a full row
takes 1/16 or 1/8 more than its words.
"""

from typing import Any

import numpy as np

from pdb_core.jit import kernel

_at = np.uint64
_ONE = np.uint64(1)


@kernel
def compress_rows(rows: Any, frontier_words: Any, masks: Any, words: Any) -> Any:
    """Compress some rows, one after another. Return the number of words that are kept.

    rows            int64[m]              indices of the rows
    frontier_words  uint8|uint16[n, w]    the rows of the frontier
    masks           uint64[m, w / 64]     written
    words           uint8|uint16[...]     written: the words that are kept, and one more
    """
    n_kept = np.int64(0)
    n_words = frontier_words.shape[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        for group in range(masks.shape[1]):
            mask = np.uint64(0)
            for w in range(group * 64, min(group * 64 + 64, n_words)):
                # A word that is 0 is written too, and overwritten by the next: no branch that is mispredicted.
                word = frontier_words[row, _at(w)]
                words[_at(n_kept)] = word
                is_kept = np.uint64(word != 0)
                n_kept += np.int64(is_kept)
                mask |= is_kept << np.uint64(w & 63)
            masks[i, group] = mask
    return n_kept


@kernel
def decompress_rows(masks: Any, words: Any, rows: Any, frontier_words: Any) -> None:
    """Decompress rows: the reverse of `compress_rows`. `frontier_words` is written."""
    n_read = np.int64(0)
    for i in range(rows.shape[0]):
        row = rows[i]
        for w in range(frontier_words.shape[1]):
            is_kept = (masks[i, w >> 6] >> np.uint64(w & 63)) & _ONE
            frontier_words[row, _at(w)] = words[_at(n_read)] * is_kept
            n_read += np.int64(is_kept)
