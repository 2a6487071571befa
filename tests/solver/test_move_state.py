"""The kernel that moves the state of a pattern."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from pdb_core.puzzle import BoardSize
from pdb_core.ranking import PatternIndex, arrangement_ranks
from pdb_core.ranking_kernels import cells_mask, pack_labels
from pdb_query.lookup_kernels import move_state
from pdb_query.records import LABEL_BITS, MOVE_FIELDS, RECORD_FIELDS, move_numbers, move_records

Int64s = npt.NDArray[np.int64]


class MoveTables(NamedTuple):
    """Fields of `LookupTables` that `move_state` reads, without a table, so that patterns may be of any size."""

    records: Int64s
    moves: Int64s
    n_cells: int


def move_tables(size: BoardSize, n_tiles: int) -> MoveTables:
    """One pattern, the second of two."""
    records = np.zeros((2, RECORD_FIELDS), dtype=np.int64)
    records[:, LABEL_BITS] = -1, arrangement_ranks(n_tiles).label_bits
    return MoveTables(records.reshape(-1), move_records(size, "additive").reshape(-1), size.n_cells)


def word_of(cells: tuple[int, ...], size: BoardSize) -> int:
    """Return the state of a unit with its tiles on those cells, packed anew."""
    placement = np.array(cells, dtype=np.uint8)
    mask = int(cells_mask(placement))
    return mask | int(pack_labels(placement, mask, arrangement_ranks(len(cells)).label_bits)) << size.n_cells


def assert_moves_agree(tables: MoveTables, size: BoardSize, cells: tuple[int, ...]) -> None:
    before = word_of(cells, size)
    for (source, target), number in move_numbers(size).items():
        if source in cells and target not in cells:
            after = tuple(target if cell == source else cell for cell in cells)
            assert move_state(tables, RECORD_FIELDS, number * MOVE_FIELDS, before) == word_of(after, size)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("size", "n_tiles"),
    [
        (BoardSize(2, 2), 1), (BoardSize(2, 4), 3), (BoardSize(3, 3), 4), (BoardSize(4, 4), 8), (BoardSize(4, 4), 9),
        (BoardSize(4, 3), 10), (BoardSize(5, 5), 9), (BoardSize(6, 6), 8), (BoardSize(5, 6), 6),
    ],
    ids=str,
)  # fmt: skip
def test_moved_words_equal_those_packed_anew(size: BoardSize, n_tiles: int) -> None:
    tables = move_tables(size, n_tiles)
    index = PatternIndex(size, n_tiles)
    ranks = np.random.default_rng(2).integers(0, index.n_entries, 300)
    for cells in index.unrank(ranks if index.n_entries > 3000 else np.arange(index.n_entries)).tolist():
        assert_moves_agree(tables, size, tuple(cells))
