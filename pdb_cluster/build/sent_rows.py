"""Rows of a frontier on their way from one shard to another, without empty rows and without words that are 0."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_cluster.build.exchange_kernels import compress_rows, decompress_rows
from pdb_core.types import Int32s, Int64s, UInt64s


class SentRows(NamedTuple):
    """Rows that shard `source` sends to another. Dask knows the size of a tuple of arrays.

    n_active      int32[m]           bits in each row
    masks, words  of the nonempty rows, see `exchange_kernels`
    """

    source: int
    n_active: Int32s
    masks: UInt64s
    words: npt.NDArray[Any]

    @property
    def n_bytes(self) -> int:
        return self.n_active.nbytes + self.masks.nbytes + self.words.nbytes

    def write_to(self, frontier_words: npt.NDArray[Any], first_row: int) -> None:
        """Write the nonempty rows into a frontier, from `first_row` on."""
        decompress_rows(self.masks, self.words, first_row + np.flatnonzero(self.n_active), frontier_words)


def sent_rows(source: int, rows: Int64s, n_active: Int32s, frontier_words: npt.NDArray[Any]) -> SentRows:
    """Return rows of the frontier of shard `source`, whose bits are counted in `n_active`."""
    nonempty, n_words = rows[n_active[rows] > 0], frontier_words.shape[1]
    masks = np.empty((len(nonempty), -(-n_words // 64)), dtype=np.uint64)
    words = np.empty(int(np.minimum(n_active[nonempty], n_words).sum()) + 1, dtype=frontier_words.dtype)
    n_kept = compress_rows(nonempty, frontier_words, masks, words)
    # With one more, which `decompress_rows` reads.
    return SentRows(source, n_active[rows], masks, words[: n_kept + 1])
