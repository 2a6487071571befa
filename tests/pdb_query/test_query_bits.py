"""Databases of bits: they give the blank-aware distances, which change by one with a move."""

import numpy as np
import pytest

from pdb_core.puzzle import BoardSize, blank_last, parse_size, random_boards
from pdb_core.symmetry import mappings_between
from pdb_query import open_database
from pdb_query.table_file import LOAD_MODES, LoadMode
from tests.naive import boards_and_tables as naive
from tests.tables import table_file

SIZE = BoardSize(3, 3)
GOAL = blank_last(SIZE)
PARTITION = "1,2,5/3,4,6/7,8"


@pytest.mark.tiny
@pytest.mark.parametrize("form", LOAD_MODES)
def test_bits_give_the_blank_aware_distances(form: LoadMode) -> None:
    reflection = mappings_between(GOAL, GOAL, SIZE)[1]
    distances = {tiles: naive.naive_pattern_distances(SIZE, GOAL, tiles) for tiles in ((1, 2, 5), (3, 4, 6), (7, 8))}

    def blank_aware(board: tuple[int, ...]) -> tuple[int, ...]:
        values = []
        for tiles, of in distances.items():
            cells = tuple(board.index(tile) for tile in tiles)
            values.append(of[cells, naive.naive_region(board.index(0), cells, SIZE)])
        return tuple(values)

    with open_database(table_file(PARTITION, "3x3", encoding="bits"), load=form) as database:
        for row in random_boards(SIZE, GOAL, 100, seed=3):
            board = tuple(row.tolist())
            expected = blank_aware(board), blank_aware(reflection.apply(board))
            assert database.probe(board).values == expected
            assert database.probe(board).maximum == max(map(sum, expected))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("partition", "size"), [("1,2,3,4,5", "2x3"), ("1,2/3,4,5", "3x2"), ("1,2,3,4/5,6,7", "4x2")], ids=str
)
def test_bits_of_every_small_board_change_by_one_with_a_move(partition: str, size: str) -> None:
    """Only the moved tile's pattern changes, by exactly 1; and the sum is never more than the distance."""
    assert_bits_are_consistent(partition, parse_size(size))


@pytest.mark.parametrize(
    ("partition", "size"),
    [
        ("1,2,5/3,4,6/7,8", "3x3"),
        ("1,2,3,4,5,6/7,8", "3x3"),
        pytest.param("1,2,3,6,7/4,5,8,9", "5x2", marks=pytest.mark.slow),
    ],
)
def test_bits_of_every_board_change_by_one_with_a_move(partition: str, size: str) -> None:
    assert_bits_are_consistent(partition, parse_size(size))


def assert_bits_are_consistent(partition: str, size: BoardSize) -> None:
    distances = naive.naive_distances(size, blank_last(size))
    boards = list(distances)
    with open_database(table_file(partition, str(size), encoding="bits")) as database:
        batch = database.probe_batch(np.array(boards, dtype=np.uint8))
        assert (batch.maximum <= np.array(list(distances.values()))).all()
        assert batch.sums[0].tolist() == [0] * batch.sums.shape[1]
        values = dict(zip(boards, batch.values[:, 0].astype(int), strict=True))
        pattern_of = {tile: i for i, entry in enumerate(database.header.patterns) for tile in entry.pattern.tiles}
        for board, before in values.items():
            for tile, near in naive.naive_moves(board, size):
                change = np.abs(values[near] - before)
                assert change[pattern_of[tile]] == 1
                assert change.sum() == 1


@pytest.mark.tiny
def test_bits_of_boards_that_cannot_be_solved_end() -> None:
    """Walking down from a state that the goal does not reach must come to an end."""
    with open_database(table_file("1,2,3,4,5", "2x3", encoding="bits")) as database:
        batch = database.probe_batch(np.array([(2, 1, 3, 4, 5, 0), (1, 2, 3, 4, 5, 0)], dtype=np.uint8))
        assert batch.maximum.tolist() == [-1, 0]
