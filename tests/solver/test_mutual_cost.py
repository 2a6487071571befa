"""Pairs and triples: their distances, and the best choice of them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, BoardSize, blank_first, blank_last, random_boards, snail
from solver.heuristics import heuristic_tables
from solver.heuristics.evaluate_kernels import evaluate_many
from solver.heuristics.mutual_cost import MAX_CELLS_OF_TRIPLES, group_excesses
from solver.heuristics.mutual_cost_kernels import SCRATCH_WORDS, WORD_BITS, best_packing
from tests.naive.boards_and_tables import naive_manhattan
from tests.naive.mutual_cost import naive_best_packing, naive_group_distances, naive_pairs, naive_triples

CENTRE = (1, 2, 3, 8, 0, 4, 7, 6, 5)


def check_excesses(size: BoardSize, goal: Board, n_tiles: int, every: int = 1) -> None:
    groups = list(itertools.combinations(range(1, size.n_cells), n_tiles))
    found = group_excesses(size, goal, n_tiles).reshape(len(groups), -1)
    for group, row in list(zip(groups, found.tolist(), strict=True))[::every]:
        expected = [0] * len(row)
        for cells, distance in naive_group_distances(size, goal, group).items():
            excess = distance - alone(size, goal, group, cells)
            for pair in itertools.combinations(range(n_tiles), 2) if n_tiles == 3 else []:
                two, there = tuple(group[i] for i in pair), tuple(cells[i] for i in pair)
                if naive_group_distances(size, goal, two)[there] - alone(size, goal, two, there) >= excess:
                    excess = 0
            expected[sum(cell * size.n_cells**i for i, cell in enumerate(reversed(cells)))] = excess
        assert [2 * value for value in row] == expected


def alone(size: BoardSize, goal: Board, tiles: tuple[int, ...], cells: tuple[int, ...]) -> int:
    """Return the sum of the Manhattan distances of tiles on these cells."""
    board = [0] * size.n_cells
    for tile, cell in zip(tiles, cells, strict=True):
        board[cell] = tile
    return naive_manhattan(tuple(board), goal, size)


@pytest.mark.tiny
@pytest.mark.parametrize("n_tiles", [2, 3])
def test_excesses_of_tiny_boards_are_those_of_the_naive_search(n_tiles: int) -> None:
    check_excesses(BoardSize(2, 2), blank_last(BoardSize(2, 2)), n_tiles)
    check_excesses(BoardSize(3, 2), (1, 0, 2, 3, 4, 5), n_tiles)


@pytest.mark.parametrize("n_tiles", [2, 3])
def test_excesses_are_those_of_the_naive_search(n_tiles: int) -> None:
    check_excesses(BoardSize(3, 3), CENTRE, n_tiles, every=3)
    check_excesses(BoardSize(2, 4), blank_first(BoardSize(2, 4)), n_tiles, every=4)
    check_excesses(BoardSize(4, 4), snail(BoardSize(4, 4)), n_tiles, every=(20 if n_tiles == 2 else 150))


@pytest.mark.parametrize("size", [BoardSize(3, 3), BoardSize(4, 2)], ids=str)
def test_best_groups_are_those_of_all_groupings(size: BoardSize) -> None:
    goal = blank_last(size)
    for board in random_boards(size, goal, 10, 1).tolist():
        found = [h_of(name, size, goal, np.array([board], dtype=np.uint8))[0] for name in ("pairs", "triples")]
        assert found == [naive_pairs(tuple(board), goal, size), naive_triples(tuple(board), goal, size)]


def h_of(name: str, size: BoardSize, goal: Board, boards: object) -> list[int]:
    values = np.zeros((len(boards), 1), dtype=np.uint16)  # type: ignore[arg-type]
    evaluate_many(heuristic_tables((name,), size, goal), boards, values)
    return values[:, 0].tolist()


@pytest.mark.parametrize("size", [BoardSize(4, 4), BoardSize(4, 3)], ids=str)
def test_triples_are_at_least_pairs_and_pairs_at_least_manhattan(size: BoardSize) -> None:
    goal = blank_first(size)
    boards = random_boards(size, goal, 2000, 1)
    manhattan, pairs, triples = (h_of(name, size, goal, boards) for name in ("manhattan", "pairs", "triples"))
    assert all(a <= b <= c for a, b, c in zip(manhattan, pairs, triples, strict=True))
    assert sum(manhattan) < sum(pairs) < sum(triples)


@pytest.mark.tiny
@given(
    st.lists(
        st.tuples(st.frozensets(st.integers(0, 11), min_size=1, max_size=3), st.integers(1, 5)), min_size=0, max_size=12
    )
)
def test_best_packing_is_that_of_trying_all(groups: list[tuple[frozenset[int], int]]) -> None:
    masks = np.array([sum(1 << tile for tile in tiles) for tiles, _weight in groups], dtype=np.int64)
    weights = np.array([weight for _tiles, weight in groups], dtype=np.int64)
    found = best_packing(masks, weights, len(groups), np.empty(4 * 12, dtype=np.int64))
    assert found == naive_best_packing(groups)


def test_pairs_exist_for_the_largest_boards() -> None:
    size = BoardSize(6, 6)
    boards = random_boards(size, blank_last(size), 100, 1)
    manhattan, pairs = (h_of(name, size, blank_last(size), boards) for name in ("manhattan", "pairs"))
    assert all(a <= b for a, b in zip(manhattan, pairs, strict=True))
    assert sum(manhattan) < sum(pairs)


@pytest.mark.tiny
@pytest.mark.parametrize("size", [BoardSize(6, 5), BoardSize(6, 6)], ids=str)
def test_triples_of_large_boards_are_rejected(size: BoardSize) -> None:
    with pytest.raises(InputError, match=f"not for {size}"):
        heuristic_tables(("triples",), size, blank_last(size))


@pytest.mark.tiny
def test_scratch_is_large_enough_for_every_size() -> None:
    for size in (BoardSize(width, height) for width in range(2, 7) for height in range(2, 7)):
        n_tiles = size.n_cells - 1
        n_groups, n_words = math.comb(n_tiles, 2), 0
        if size.n_cells <= MAX_CELLS_OF_TRIPLES:
            n_groups += math.comb(n_tiles, 3)
            n_words = -(-(size.n_cells - 3) * size.n_cells // WORD_BITS)
        assert 5 * size.n_cells + n_words + 2 * n_groups <= SCRATCH_WORDS
