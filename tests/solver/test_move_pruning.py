"""Operator pruning FSM: its duplicates are the naive ones, and every board is found."""

import itertools
import math
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from pdb_core.puzzle import BoardSize, Tiles, parse_size
from pdb_study.space import explore_space
from solver.move_pruning.move_pruning import (
    DEFAULT_LENGTH,
    LARGE_BOARD_LENGTH,
    LONGEST_SIDE,
    PRUNED,
    START,
    PruningFsm,
    find_duplicates,
    fsm_for,
    pruning_fsm,
)
from solver.move_pruning.move_pruning_kernels import mark_duplicates
from solver.solution import replay
from solver.textbook import ida_star
from tests.naive import boards_and_tables as naive
from tests.naive.pruned_breadth_first import fsm_depth_counts

LETTERS = "ULRD"


def words_of(duplicates: dict[int, np.ndarray]) -> list[str]:
    return [
        "".join(LETTERS[(code >> (2 * step)) & 3] for step in range(length - 1, -1, -1))
        for length, codes in duplicates.items()
        for code in codes.tolist()
    ]


def accepts(fsm: PruningFsm, word: str) -> bool:
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


def test_sequences_with_equal_hashes_are_compared() -> None:
    """With all hashes equal, each sequence is compared with all others."""
    words = ["".join(letters) for n in (0, 2, 4, 6) for letters in itertools.product(LETTERS, repeat=n)]
    words = [word for word in words if not any(undo in word for undo in ("UD", "DU", "LR", "RL"))]
    entries = np.array([1 << 2 * len(word) | code_of(word) for word in words])
    assert (np.diff(entries) > 0).all()
    mark_duplicates(entries, 6, False)
    assert (~entries[entries < 0] - (1 << 12) == find_duplicates(6)[6]).all()


@cache
def duplicates_of(max_length: int) -> list[str]:
    return words_of(find_duplicates(max_length))


def sample(words: list[str], n_words: int) -> list[str]:
    return [words[i] for i in np.random.default_rng(1).choice(len(words), min(n_words, len(words)), replace=False)]


def first_word(word: str) -> str:
    """Return the first of all sequences with the effect of `word` inside its rectangle: the shortest, then in the order
    ULRD. The textbook's IDA* tries moves in this order.
    """
    _effect, (top, bottom, left, right) = naive.naive_effect(word)
    size = BoardSize(right - left + 1, bottom - top + 1)
    blank = -top * size.width - left
    steps = dict(zip(LETTERS, (-size.width, -1, 1, size.width), strict=True))
    board = (*range(1, blank + 1), 0, *range(blank + 1, size.n_cells))

    def moved(at: Tiles, step: int) -> Tiles:
        cells, cell = list(at), at.index(0)
        cells[cell], cells[cell + step] = cells[cell + step], 0
        return tuple(cells)

    goal = board
    for letter in word:
        goal = moved(goal, steps[letter])
    found = ida_star(board, goal, size, lambda at: naive.naive_manhattan(at, goal, size)).tiles or ()
    boards = replay(board, found, goal, size)
    return "".join(naive.naive_letter(before, after) for before, after in pairwise(boards))


@pytest.mark.parametrize("n_words", [5, pytest.param(1_000, marks=pytest.mark.slow)])
def test_long_duplicates_are_those_that_an_earlier_sequence_replaces(n_words: int) -> None:
    """And sequences that begin as a duplicate does, but end with another move, are accepted if there is none."""
    fsm = pruning_fsm(LARGE_BOARD_LENGTH)
    n_accepted = 0
    for duplicate in sample(duplicates_of(LARGE_BOARD_LENGTH), n_words):
        first = first_word(duplicate)
        assert (len(first), code_of(first)) < (len(duplicate), code_of(duplicate)), duplicate
        assert naive.naive_effect(first)[0] == naive.naive_effect(duplicate)[0], duplicate
        for letter in LETTERS:
            word = duplicate[:-1] + letter
            _effect, (top, bottom, left, right) = naive.naive_effect(word)
            if accepts(fsm, word) and max(bottom - top, right - left) < LONGEST_SIDE:
                assert first_word(word) == word
                n_accepted += 1
    assert n_accepted > n_words // 2


def test_each_duplicate_is_pruned_at_its_last_move() -> None:
    fsm = pruning_fsm(LARGE_BOARD_LENGTH)
    for word in duplicates_of(LARGE_BOARD_LENGTH):
        assert accepts(fsm, word[:-1])
        assert not accepts(fsm, word)


def test_large_boards_have_longer_duplicates_unless_all_solutions_are_wanted() -> None:
    size, large = parse_size("4x4"), parse_size("5x5")
    assert fsm_for(size).max_length == fsm_for(large, keeps_equals=True).max_length == DEFAULT_LENGTH
    assert fsm_for(large).max_length == LARGE_BOARD_LENGTH
    assert fsm_for(large, plain=True).n_states == fsm_for(size, plain=True).n_states == 5


def test_number_of_states_is_known() -> None:
    assert pruning_fsm(LARGE_BOARD_LENGTH).n_states == 570_886


@pytest.mark.parametrize("max_length", [2, 7, 8, 12, pytest.param(14, marks=pytest.mark.slow)])
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


def check_counts(size: BoardSize, max_length: int, cells: Iterable[int]) -> None:
    """Check that a search with the FSM finds as many boards at each depth as a search without."""
    fsm = pruning_fsm(max_length)
    for cell in cells:
        goal = (*range(1, cell + 1), 0, *range(cell + 1, size.n_cells))
        counts = fsm_depth_counts(fsm, size, cell)
        assert counts == list(explore_space(size, goal, max_antipodes=0).counts), cell
        assert sum(counts) == math.factorial(size.n_cells) // 2


@pytest.mark.tiny
@pytest.mark.parametrize("size", ["2x2", "2x3", "3x2"])
@pytest.mark.parametrize("max_length", [2, 8, 12])
def test_all_boards_of_tiny_sizes_are_found_from_any_blank(size: str, max_length: int) -> None:
    check_counts(parse_size(size), max_length, range(parse_size(size).n_cells))


@pytest.mark.parametrize("max_length", [12, LARGE_BOARD_LENGTH])
@pytest.mark.parametrize("size", ["2x4", "4x2", "3x3", "2x5", "5x2"])
def test_all_boards_are_found(size: str, max_length: int) -> None:
    check_counts(parse_size(size), max_length, [0, 3] if "5" in size else range(parse_size(size).n_cells))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "n_starts", "max_length"),
    [("3x4", 12, 12), ("4x3", 12, 12), ("2x6", 1, 12), ("6x2", 1, 12), ("3x4", 2, 17), ("4x3", 2, 17)],
)
def test_all_239_500_800_boards_are_found(size: str, n_starts: int, max_length: int) -> None:
    check_counts(parse_size(size), max_length, range(n_starts))


@pytest.mark.tiny
@pytest.mark.parametrize("length", [-1, 0, 1, 19])
def test_other_lengths_of_duplicates_are_rejected(length: int) -> None:
    with pytest.raises(ValueError, match="2 to 18"):
        pruning_fsm(length)
