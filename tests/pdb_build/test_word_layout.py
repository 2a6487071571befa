"""The words of the search: what a jump does to whole words is what it does to each arrangement."""

import numpy as np
import pytest

from pdb_build.search_kernels import push_dense_row, push_sparse_row
from pdb_build.word_layout import WordLayout, word_layout
from pdb_core.layout import jump_permutation, jump_positions


def naive_push(words: WordLayout, source: np.ndarray, permutation: np.ndarray) -> np.ndarray:
    """Every bit of a row, one at a time, taken where its arrangement goes."""
    received, bits = np.zeros_like(source), 8 * source.itemsize
    for rank, slot in enumerate(words.slot_of_rank.tolist()):
        if source[slot // bits] >> (slot % bits) & 1:
            target = int(words.slot_of_rank[permutation[rank]])
            received[target // bits] |= 1 << (target % bits)
    return received


def random_row(words: WordLayout, density: float, seed: int) -> np.ndarray:
    bits = 8 * np.dtype(words.dtype).itemsize
    row = np.zeros(8 * words.row_bytes // bits, dtype=words.dtype)
    chosen = np.flatnonzero(np.random.default_rng(seed).random(len(words.slot_of_rank)) < density)
    for slot in words.slot_of_rank[chosen].tolist():
        row[slot // bits] |= words.dtype(1 << (slot % bits))
    return row


@pytest.mark.tiny
@pytest.mark.parametrize("n_tiles", [1, 2, 3, 4, 5, 6, 7])
def test_slots_are_distinct_and_inverse_to_ranks(n_tiles: int) -> None:
    words = word_layout(n_tiles, 4)
    n_orders = len(words.slot_of_rank)
    assert len(set(words.slot_of_rank.tolist())) == n_orders
    assert words.rank_of_slot[words.slot_of_rank].tolist() == list(range(n_orders))
    assert words.slot_of_rank.max() < len(words.rank_of_slot)
    assert words.row_bytes % 8 == 0
    assert words.row_bytes * 8 >= len(words.rank_of_slot)


@pytest.mark.tiny
@pytest.mark.parametrize("width", [2, 3, 4, 6])
@pytest.mark.parametrize("n_tiles", [2, 3, 4, 5])
@pytest.mark.parametrize("density", [0.03, 0.6])
def test_pushed_rows_equal_naive_bits(n_tiles: int, width: int, density: float) -> None:
    words = word_layout(n_tiles, width)
    for jump, (before, after) in enumerate(jump_positions(n_tiles, width)):
        source = random_row(words, density, jump)
        expected = naive_push(words, source, jump_permutation(n_tiles, before, after))
        for name, received in pushed(words, source, jump).items():
            assert received.tolist() == expected.tolist(), (name, before, after)


@pytest.mark.parametrize("n_tiles", [6, 7, 8, 9])
def test_pushed_rows_of_large_patterns_equal_naive_bits(n_tiles: int) -> None:
    words = word_layout(n_tiles, 4)
    jumps = range(len(jump_positions(n_tiles, 4))) if n_tiles < 8 else (0, 7, 20)
    for jump in jumps:
        source = random_row(words, 0.2, jump)
        expected = naive_push(words, source, jump_permutation(n_tiles, *jump_positions(n_tiles, 4)[jump]))
        for name, received in pushed(words, source, jump).items():
            assert (received == expected).all(), (name, jump)


def pushed(words: WordLayout, source: np.ndarray, jump: int) -> dict[str, np.ndarray]:
    dense, sparse = np.zeros_like(source), np.zeros_like(source)
    push_dense_row(source, words.jumps.by_digit[jump], words.jumps.first[jump], dense)
    push_sparse_row(source.view(np.uint64), source, words.jumps.by_source[jump], sparse)
    return {"dense": dense, "sparse": sparse}
