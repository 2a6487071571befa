"""Operator pruning FSM: its duplicates are the naive ones, and every board is found."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.moves import tiles_moved
from pdb_study.space import explore_space
from solver.board_arrays import neighbours_by_move
from solver.pruning.fsm import (
    LARGE_BOARD_LENGTH,
    PRUNED,
    START,
    PruningFsm,
    find_duplicates,
    pruning_fsm,
)
from solver.textbook import ida_star
from tests import marked_rows
from tests.naive import boards_and_tables as naive
from tests.solving import duplicates_up_to, goal_with_blank


@pytest.mark.tiny
def test_duplicates_equal_naive_ones() -> None:
    for keeps_equals in (False, True):
        found = duplicates_up_to(8, keeps_equals=keeps_equals)
        assert found == naive.naive_duplicates(8, keeps_equals=keeps_equals)


@pytest.mark.slow
def test_long_duplicates_are_those_that_an_earlier_sequence_replaces() -> None:
    """The textbook's IDA* finds the first sequence with an effect: the shortest, then in the order ULRD."""
    assert pruning_fsm(LARGE_BOARD_LENGTH).n_states == 694_656
    for duplicate in np.random.default_rng(1).choice(duplicates_up_to(LARGE_BOARD_LENGTH), 1000, replace=False):
        _effect, (top, bottom, left, right) = naive.naive_effect(duplicate)
        size = BoardSize(right - left + 1, bottom - top + 1)
        board = goal_with_blank(-top * size.width - left, size)
        tiles, goal = tiles_moved(board, list(map("ULRD".index, duplicate)), size)
        first = ida_star(board, lambda at, goal=goal, size=size: naive.naive_manhattan(at, goal, size), goal, size)
        assert first.moves != tuple(tiles), duplicate


@pytest.mark.parametrize(
    ("max_length", "n_states"), [(2, 5), (12, 9732), pytest.param(14, 65_612, marks=pytest.mark.slow)]
)
def test_fsm_prunes_exactly_its_duplicates_at_any_length(max_length: int, n_states: int) -> None:
    """It does so up to `max_length` moves, and its state depends on no more than the last `max_length - 1`.

    docs/design/pruning.md has the numbers of states.
    """
    fsm = pruning_fsm(max_length)
    assert fsm.n_states == n_states
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


def layer_lengths(fsm: PruningFsm, size: BoardSize, blank: int) -> Iterator[int]:
    """Yield the number of boards that the FSM lets a search find at each depth, with the start's blank on a cell.

    The search enters a board once, with the state at which it comes there first, and goes through its layers in the
    order ULRD. So it misses no board of which the FSM accepts the lexicographically first optimal path.
    """
    packed = sum(tile << 4 * cell for cell, tile in enumerate(goal_with_blank(blank, size)))
    boards, blanks, states = (np.array([at]) for at in (packed, blank, START))
    before = boards[:0]
    while len(boards) > 0:
        yield len(boards)
        cells, next_states = neighbours_by_move(size)[blanks], fsm.successors[states]
        parents, moves = np.nonzero((cells >= 0) & (next_states != PRUNED))
        from_cells, to_cells = blanks[parents], cells[parents, moves]
        tiles = boards[parents] >> 4 * to_cells & 15
        near = boards[parents] + (tiles << 4 * from_cells) - (tiles << 4 * to_cells)
        new, first = np.unique(near, return_index=True)
        first = np.sort(first[~np.isin(new, before)])
        before, boards = boards, near[first]
        blanks, states = to_cells[first], next_states[parents, moves][first]


# Size | every how many cells.
SIZES = """
3x2 | 1 |
2x2 | 1 |
2x3 | 1 |
2x4 | 1 |
4x2 | 1 |
3x3 | 1 |
2x5 | 5 | slow
5x2 | 5 | slow
3x4 | 1 | slow
4x3 | 1 | slow
2x6 | 1 | slow
6x2 | 1 | slow
"""


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "step"), marked_rows(SIZES))
@pytest.mark.parametrize("max_length", [12, 17])
def test_all_boards_are_found(size: str, step: str, max_length: int) -> None:
    """A search with the FSM finds as many boards at each depth as a search without, from each `step`th cell.

    On the largest boards, up to 22 moves.
    """
    board_size, fsm = parse_size(size), pruning_fsm(max_length)
    depth = None if board_size.n_cells <= 10 else 22
    for cell in range(0, board_size.n_cells, int(step)):
        goal = goal_with_blank(cell, board_size)
        counts = list(explore_space(board_size, goal).counts)[: None if depth is None else depth + 1]
        assert list(islice(layer_lengths(fsm, board_size, cell), 1 + (depth or len(counts)))) == counts, cell
