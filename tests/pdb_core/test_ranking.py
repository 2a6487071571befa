"""The index function against lists of all placements."""

import math

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.ranking import PatternIndex
from tests.naive import boards_and_tables as naive
from tests.solving import SIZES

# One board of each number of cells there is, and all numbers of tiles with up to 20,000 placements.
SMALL = [
    (size, n_tiles)
    for size in {size.n_cells: size for size in SIZES}.values()
    for n_tiles in range(1, min(10, size.n_cells) + 1)
    if math.perm(size.n_cells, n_tiles) <= 20_000
]


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "n_tiles"), SMALL, ids=str)
def test_ranks_number_all_placements_in_naive_order(size: BoardSize, n_tiles: int) -> None:
    placements = np.array(naive.naive_placements(size.n_cells, n_tiles), dtype=np.uint8)
    index = PatternIndex(size, n_tiles)
    assert index.n_entries == len(placements)
    assert index.rank(placements).tolist() == list(range(len(placements)))
    assert index.unrank(np.arange(len(placements))).tolist() == placements.tolist()


@pytest.mark.parametrize(("size", "n_tiles"), [("4x4", 7), ("4x4", 9), ("5x5", 6), ("6x6", 5)])
def test_large_ranks_equal_naive(size: str, n_tiles: int) -> None:
    index = PatternIndex(parse_size(size), n_tiles)
    ranks = [0, index.n_entries - 1, *np.random.default_rng(3).integers(0, index.n_entries, 3).tolist()]
    placements = [naive.naive_unrank(rank, index.size.n_cells, n_tiles) for rank in ranks]
    assert index.unrank(ranks).tolist() == [list(cells) for cells in placements]
    assert index.rank(placements).tolist() == ranks


@pytest.mark.tiny
def test_what_is_no_placement_or_no_entry_is_refused() -> None:
    index = PatternIndex(BoardSize(3, 3), 3)
    for cells in ([[0, 1, 9]], [[0, 1, -1]], [[0, 1, 1]], [[0, 1]], [[0.2, 0.7, 2.0]]):
        with pytest.raises(ValueError, match="cell"):
            index.rank(cells)
    for ranks in ([-1], [504], [[0]], [10.7]):
        with pytest.raises(ValueError, match="entries"):
            index.unrank(ranks)
