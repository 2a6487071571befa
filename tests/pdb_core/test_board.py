"""`Board`: conversion of what users give, moves, pictures."""

import copy
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from pdb_core.errors import BoardError, GoalError
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import Board, BoardSize, as_goal, as_size, blank_first

pytestmark = pytest.mark.tiny
S32 = BoardSize(3, 2)


@pytest.mark.parametrize(
    "given",
    [
        "1 2 3/4 0 5",
        "1,2,3/4,0,5",
        [[1, 2, 3], [4, 0, 5]],
        ((1, 2, 3), (4, 0, 5)),
        np.array([[1, 2, 3], [4, 0, 5]], dtype=np.uint8),
        [np.array([1, 2, 3]), np.array([4, 0, 5])],
    ],
)
def test_rows_give_the_size(given: Any) -> None:
    board = Board(given)
    assert (board, board.size) == ((1, 2, 3, 4, 0, 5), S32)
    assert Board(board) is board
    assert Board(given, "3x2") == board
    with pytest.raises(BoardError, match="2x3 board is expected"):
        Board(given, "2x3")


@pytest.mark.parametrize(
    ("given", "size", "message"),
    [
        ([1, 2, 3, 4, 0, 5], None, "6 numbers, which is no square"),
        ([[1, 2], [3]], None, "rows of different lengths"),
        ([[1, 2], 3, 0], None, "holds something else"),
        (["1", "2", "3", "0"], None, "holds something else"),
        ([1.0, 2.0, 3.0, 0.0], "2x2", "a 2x2 board is 4 integers"),
        (np.array([1.0, 2.0, 3.0, 0.0]), None, "holds something else"),
        (7, None, "holds something else"),
        (None, "2x2", "holds something else"),
        ([], None, "0 numbers, which is no square"),
        ([[], []], None, "board size 0x2 is not supported"),
        ([1, 1, 2, 3], None, "missing 0, twice or out of range 1"),
        ([1, 2, 3, -4], None, "out of range -4"),
        (np.zeros((2, 2, 2), dtype=int), None, "holds something else"),
    ],
)
def test_anything_else_is_refused(given: Any, size: str | None, message: str) -> None:
    with pytest.raises(BoardError) as caught:
        Board(given, size)
    assert message in str(caught.value)


def test_board_is_a_tuple_that_survives_copies() -> None:
    board = Board("1 2 3/4 0 5")
    assert hash(board) == hash((1, 2, 3, 4, 0, 5))
    assert copy.deepcopy(board).size == copy.copy(board).size == S32
    assert str(board) == "1 2 3\n4 . 5"


def test_moves_lead_to_neighbours_and_back() -> None:
    board = Board("1 2 3/4 0 5")
    assert board.moves() == (2, 4, 5)
    for tile in board.moves():
        after = board.move(tile)
        assert (after.size, after.index(0)) == (S32, board.index(tile))
        assert after.move(tile) == board
    with pytest.raises(BoardError, match="tile 1 is not next to the blank; tiles that can move: 2"):
        board.move(1)


def test_goals_are_names_or_boards() -> None:
    assert as_size("3x2") == as_size(S32) == S32
    assert as_goal("blank-first", S32) == as_goal([[0, 1, 2], [3, 4, 5]], S32) == blank_first(S32)
    assert Board("1 2 3/4 5 0").is_solvable()
    assert not Board("2 1 3/4 5 0").is_solvable("blank-last")
    with pytest.raises(GoalError, match="goal is not a 3x2 board"):
        as_goal([1, 2, 3], S32)


class Tables:
    """Stand-in for a database, with the one attribute that a picture needs."""

    partition = parse_partition("1,2/3,4,5", S32)


def test_picture_has_a_colour_for_each_pattern() -> None:
    board = Board("1 2 3/4 0 5")
    plain = ET.fromstring(board._repr_svg_())
    texts = [element.text for element in plain if element.tag.endswith("text")]
    assert texts == ["1", "2", "3", "4", "5"]
    coloured = ET.fromstring(board.draw(Tables()).svg)
    fills = [element.get("fill") for element in coloured if element.tag.endswith("rect")][1:]
    assert fills[0] == fills[1] != fills[2] == fills[3] == fills[4]
    assert "characters of SVG" in repr(board.draw())
