"""Operator pruning FSM: its duplicates are the naive ones, and every board is found."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pdb_core.puzzle import BoardSize, parse_size
from solver.engine.layout import FSM_STATE_MASK
from solver.move_pruning import move_pruning
from solver.move_pruning.move_pruning import (
    DEFAULT_LENGTH,
    LARGE_BOARD_LENGTH,
    LONGEST_SIDE,
    PRUNED,
    START,
    find_duplicates,
    fsm_for,
    pruning_fsm,
)
from solver.move_pruning.move_pruning_kernels import mark_duplicates
from tests.naive import boards_and_tables as naive
from tests.naive.pruned_breadth_first import fsm_depth_counts, plain_depth_counts

LETTERS = "ULRD"


def words_of(duplicates: dict[int, np.ndarray]) -> list[str]:
    return [
        "".join(LETTERS[(code >> (2 * step)) & 3] for step in range(length - 1, -1, -1))
        for length, codes in duplicates.items()
        for code in codes.tolist()
    ]


def accepts(fsm: move_pruning.PruningFsm, word: str) -> bool:
    state = START
    for letter in word:
        state = int(fsm.successors[state, LETTERS.index(letter)])
        if state == PRUNED:
            return False
    return True


def code_of(word: str) -> int:
    return sum(LETTERS.index(letter) << 2 * (len(word) - 1 - at) for at, letter in enumerate(word))


@pytest.mark.tiny
def test_duplicates_equal_naive_ones() -> None:
    for keeps_equals in (False, True):
        found = words_of(find_duplicates(8, keeps_equals=keeps_equals))
        assert found == naive.naive_duplicates(8, keeps_equals=keeps_equals)


@pytest.mark.tiny
@pytest.mark.parametrize("side", [2, 3, 4])
def test_duplicates_in_small_boxes_are_those_of_the_naive_ones(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def longest_side(word: str) -> int:
        top, bottom, left, right = naive.naive_effect(word)[1]
        return max(bottom - top, right - left) + 1

    monkeypatch.setattr(move_pruning, "LONGEST_SIDE", side)
    assert words_of(find_duplicates(8)) == [word for word in naive.naive_duplicates(8) if longest_side(word) <= side]


def test_sequences_with_equal_hashes_are_compared() -> None:
    """With all hashes equal, each sequence is compared with all others."""
    words = ["".join(letters) for n in (0, 2, 4, 6) for letters in itertools.product(LETTERS, repeat=n)]
    words = [word for word in words if not any(undo in word for undo in ("UD", "DU", "LR", "RL"))]
    codes = np.array([code_of(word) for word in words])
    is_duplicate = np.zeros(len(words), dtype=bool)
    lengths = np.array([len(word) for word in words])
    mark_duplicates(np.zeros(len(words), dtype=np.int64), codes, lengths, 6, False, is_duplicate)
    assert (codes[is_duplicate] == find_duplicates(6)[6]).all()


@cache
def duplicates_of(max_length: int) -> list[str]:
    return words_of(find_duplicates(max_length))


def sample(words: list[str], n_words: int) -> list[str]:
    return [words[i] for i in np.random.default_rng(1).choice(len(words), min(n_words, len(words)), replace=False)]


@pytest.mark.parametrize("n_words", [20, pytest.param(10_000, marks=pytest.mark.slow)])
def test_long_duplicates_have_an_earlier_sequence_inside_their_boxes(n_words: int) -> None:
    for word in sample(duplicates_of(LARGE_BOARD_LENGTH), n_words):
        first = naive.naive_first_word(word)
        assert (len(first), code_of(first)) < (len(word), code_of(word)), word
        assert naive.naive_effect(first)[0] == naive.naive_effect(word)[0], word


@pytest.mark.parametrize("n_words", [20, pytest.param(10_000, marks=pytest.mark.slow)])
def test_long_sequences_that_are_accepted_have_no_earlier_one(n_words: int) -> None:
    """They begin as a duplicate does, and end with another move."""
    fsm = pruning_fsm(LARGE_BOARD_LENGTH)
    n_tested = 0
    for duplicate in sample(duplicates_of(LARGE_BOARD_LENGTH), n_words):
        for letter in LETTERS:
            word = duplicate[:-1] + letter
            _effect, (top, bottom, left, right) = naive.naive_effect(word)
            if accepts(fsm, word) and max(bottom - top, right - left) < LONGEST_SIDE:
                assert naive.naive_first_word(word) == word
                n_tested += 1
    assert n_tested > n_words // 2


@pytest.mark.parametrize("max_length", [12, LARGE_BOARD_LENGTH])
def test_each_duplicate_is_pruned_at_its_last_move(max_length: int) -> None:
    fsm = pruning_fsm(max_length)
    for word in duplicates_of(max_length):
        assert accepts(fsm, word[:-1])
        assert not accepts(fsm, word)


def test_large_boards_have_longer_duplicates_unless_all_solutions_are_wanted() -> None:
    size, large = parse_size("4x4"), parse_size("5x5")
    assert fsm_for(size).max_length == fsm_for(large, keeps_equals=True).max_length == DEFAULT_LENGTH
    assert fsm_for(large).max_length == LARGE_BOARD_LENGTH
    assert fsm_for(large, plain=True).n_states == fsm_for(size, plain=True).n_states == 5


def test_numbers_of_states_fit_their_bits() -> None:
    # 18 moves have 1,794,200.
    assert pruning_fsm(LARGE_BOARD_LENGTH).n_states == 570_886
    assert FSM_STATE_MASK > 1_794_200


def is_inside(inner: tuple[int, int, int, int], outer: tuple[int, int, int, int]) -> bool:
    return inner[0] >= outer[0] and inner[1] <= outer[1] and inner[2] >= outer[2] and inner[3] <= outer[3]


@pytest.mark.parametrize("max_length", [10, pytest.param(12, marks=pytest.mark.slow)])
def test_every_duplicate_has_a_predecessor_with_the_same_effect_inside_its_box(max_length: int) -> None:
    """Exact, where the search for duplicates compares random keys: no two effects were taken for one."""

    def place(word: str) -> tuple[int, list[int]]:
        return len(word), [LETTERS.index(letter) for letter in word]

    fsm = pruning_fsm(max_length)
    duplicates = {word: naive.naive_effect(word) for word in words_of(find_duplicates(max_length))}
    effects = {effect for effect, _box in duplicates.values()}
    accepted: dict[naive.Effect, list[tuple[str, tuple[int, int, int, int]]]] = {(): [("", (0, 0, 0, 0))]}
    paths = [""]
    for _length in range(1, max_length + 1):
        paths = [path + letter for path in paths for letter in LETTERS if accepts(fsm, path + letter)]
        for path in paths:
            effect, box = naive.naive_effect(path)
            if effect in effects:
                accepted.setdefault(effect, []).append((path, box))
    for word, (effect, box) in duplicates.items():
        assert any(place(other) < place(word) and is_inside(inner, box) for other, inner in accepted[effect]), word


@pytest.mark.parametrize("max_length", [2, 6, 7, 8, 10, 12, pytest.param(14, marks=pytest.mark.slow)])
def test_fsm_prunes_exactly_its_duplicates_at_any_length(max_length: int) -> None:
    """It does so up to `max_length` moves, and its state depends on no more than the last `max_length - 1`."""
    fsm = pruning_fsm(max_length)
    duplicates = find_duplicates(max_length)
    codes, states = np.zeros(1, dtype=np.int64), np.array([START])
    for n_moves in range(1, max_length + 1):
        codes_before, states_before = codes, states
        codes, states = (codes[:, None] * 4 + np.arange(4)).reshape(-1), fsm.successors[states].reshape(-1)
        ends_in_duplicate = np.zeros(len(codes), dtype=bool)
        for length, words in duplicates.items():
            if length <= n_moves:
                ends_in_duplicate |= np.isin(codes & ((1 << 2 * length) - 1), words)
        assert ((states == PRUNED) == ends_in_duplicate).all()
        codes, states = codes[~ends_in_duplicate], states[~ends_in_duplicate]
    all_but_first = np.searchsorted(codes_before, codes & ((1 << 2 * (max_length - 1)) - 1))
    assert (states == states_before[all_but_first]).all()


@pytest.mark.parametrize(
    "max_length",
    [
        *(pytest.param(length, marks=pytest.mark.tiny) for length in (2, 6, 7, 8, 10, 12)),
        *(pytest.param(length, marks=pytest.mark.slow) for length in (14, LARGE_BOARD_LENGTH)),
    ],
)
def test_fsm_is_minimal(max_length: int) -> None:
    """Each state is reached, and no two refuse the same continuations, by naive refinement of what tells them apart."""
    rows = [tuple(row) for row in pruning_fsm(max_length).successors.tolist()]
    reached, to_do = {START}, [START]
    while to_do:
        new = set(rows[to_do.pop()]) - reached - {PRUNED}
        reached |= new
        to_do += new
    assert len(reached) == len(rows)

    # What tells states apart tells them apart within the length of a duplicate, at most.
    kinds = [0] * len(rows)
    for _length in range(max_length):
        looks = [tuple(PRUNED if state == PRUNED else kinds[state] for state in row) for row in rows]
        numbers = {look: number for number, look in enumerate(sorted(set(looks)))}
        kinds = [numbers[look] for look in looks]
    assert len(set(kinds)) == len(rows)


def starts(size: str) -> list[tuple[BoardSize, int]]:
    board_size = parse_size(size)
    return [(board_size, cell) for cell in range(board_size.n_cells)]


@pytest.mark.tiny
@pytest.mark.parametrize("size", ["2x2", "2x3", "3x2"])
@pytest.mark.parametrize("max_length", [2, 8, 12])
def test_all_boards_of_tiny_sizes_are_found_from_any_blank(size: str, max_length: int) -> None:
    fsm = pruning_fsm(max_length)
    for board_size, cell in starts(size):
        assert fsm_depth_counts(fsm, board_size, cell) == plain_depth_counts(board_size, cell), cell


@pytest.mark.parametrize("max_length", [12, LARGE_BOARD_LENGTH])
@pytest.mark.parametrize(("size", "longest"), [("2x4", 36), ("4x2", 36), ("3x3", 31), ("2x5", 55), ("5x2", 55)])
def test_all_boards_are_found_from_any_blank(size: str, longest: int, max_length: int) -> None:
    for board_size, cell in starts(size):
        counts = fsm_depth_counts(pruning_fsm(max_length), board_size, cell)
        assert counts == plain_depth_counts(board_size, cell), cell
        assert sum(counts) == math.factorial(board_size.n_cells) // 2
        if cell == 0:
            assert len(counts) - 1 == longest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "n_starts", "longest", "max_length"),
    [
        ("3x4", 12, 53, 12),
        ("4x3", 12, 53, 12),
        ("2x6", 1, 80, 12),
        ("6x2", 1, 80, 12),
        ("3x4", 2, 53, LARGE_BOARD_LENGTH),
        ("4x3", 2, 53, LARGE_BOARD_LENGTH),
    ],
)
def test_all_239_500_800_boards_are_found(size: str, n_starts: int, longest: int, max_length: int) -> None:
    def counts_of_both(start: tuple[BoardSize, int]) -> tuple[list[int], list[int]]:
        return fsm_depth_counts(pruning_fsm(max_length), *start), plain_depth_counts(*start)

    # The kernels release the GIL; each more thread would take another 0.5 GB.
    with ThreadPoolExecutor(2) as pool:
        for cell, (counts, plain_counts) in enumerate(pool.map(counts_of_both, starts(size)[:n_starts])):
            assert counts == plain_counts, cell
            assert sum(counts) == 239_500_800
            if cell == 0:
                assert len(counts) - 1 == longest


@pytest.mark.tiny
def test_boards_are_lost_if_both_paths_around_2x2_cells_are_pruned() -> None:
    """Six moves either way round 2x2 cells have the same effect: one is a duplicate, the other must stay."""
    duplicates = find_duplicates(8)
    effects = [naive.naive_effect(word)[0] for word in words_of({6: duplicates[6]})]
    words = ["".join(letters) for letters in itertools.product(LETTERS, repeat=6)]
    others = [word for word in words if accepts(pruning_fsm(8), word) and naive.naive_effect(word)[0] in effects]
    assert len(others) == len(effects) == 4
    for word in others:
        too_many = {**duplicates, 6: np.append(duplicates[6], code_of(word))}
        successors = move_pruning._minimised(move_pruning._automaton(too_many))
        fsm = move_pruning.PruningFsm(8, successors)
        for size in ("2x2", "2x3", "3x2"):
            assert any(fsm_depth_counts(fsm, *start) != plain_depth_counts(*start) for start in starts(size))


def test_cached_fsm_is_loaded_and_a_damaged_one_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    pruning_fsm.cache_clear()
    first = pruning_fsm(8)
    (kept,) = (tmp_path / "machines").iterdir()
    content = kept.read_bytes()
    kept.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    pruning_fsm.cache_clear()
    assert (pruning_fsm(8).successors == first.successors).all()
    assert kept.read_bytes() == content
    pruning_fsm.cache_clear()
    assert (pruning_fsm(8).successors == first.successors).all()
    pruning_fsm.cache_clear()


@pytest.mark.tiny
@pytest.mark.parametrize("length", [-1, 0, 1, 19])
def test_other_lengths_of_duplicates_are_rejected(length: int) -> None:
    with pytest.raises(ValueError, match="2 to 18"):
        pruning_fsm(length)
