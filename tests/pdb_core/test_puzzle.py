"""Boards: parsing, formatting, moves, pictures, solvability, goals, random boards."""

import copy
import itertools
import pickle
import xml.etree.ElementTree as ET
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.errors import BoardError, GoalError, InputError
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import (
    NAMED_GOALS,
    Board,
    as_goal,
    blank_first,
    blank_last,
    goal_name,
    is_solvable,
    parse_goal,
    random_boards,
    snail,
)
from tests import rows
from tests.naive import boards_and_tables as naive

S22, S23, S32, S44 = (BoardSize(*sides) for sides in ((2, 2), (2, 3), (3, 2), (4, 4)))
pytestmark = pytest.mark.tiny


def test_size_is_parsed_or_refused() -> None:
    assert parse_size(" 4 X 4 ") == S44
    for text in ("4", "1x4", "33x2", "4x4x4", "٤x٤", "4" * 50 + "x4"):
        with pytest.raises(InputError):
            parse_size(text)


# What users give for a board

NO_SEQUENCES = ({0, 1, 2, 3}, {0: 1, 1: 2, 2: 3, 3: 0}, iter([1, 2, 3, 0]), [{0, 1}, {2, 3}])


@pytest.mark.parametrize(
    "given",
    [
        "1 2 3/4 0 5",
        [[1, 2, 3], [4, 0, 5]],
        [np.array([1, 2, 3]), (4, 0, 5)],
        np.array([[1, 2, 3], [4, 0, 5]], "u1"),
        [[1, 2, 3], (4, None, 5)],
        np.array([[1, 2, 3], [4, -1, 5]]),
    ],
)
def test_rows_give_the_size(given: Any) -> None:
    board = Board(given)
    assert (board, board.size) == ((1, 2, 3, 4, 0, 5), S32)
    assert Board(board) is board
    assert Board(given, "3x2") == board
    with pytest.raises(BoardError, match="2x3 board is expected"):
        Board(given, "2x3")


# A text | a size that is expected | a part of the message.
BAD_TEXTS = r"""
1 2 3//4 5 6/7 8 0 | | '' is not a number
1 2 3 | | is not square: it has 3 numbers, and a square board has 4, 9, 16, ... numbers; give it in rows
1 1 3 4 5 6 7 8 0 | | 1 appears twice, missing 2
1 2 3 4 5 6 7 8 9 | | 9 is out of range, missing 0; if 9 is the blank, write 0 for it
1 2 3 4 5 6 7 x -1 | | 0 appears twice, missing 8
812043766 | | '812043766' is not a number up to 1023, and does not hold each digit once
1 2 3 4 5 6 7 8 1000 | | 1000 is out of range, missing 0
1 2 3 4 5 6 7 1_0 0 | | '1_0' is not a number
1 2 3 4 5 6 7 8 99999999999999999999999999999999999999999999999999 | | '9{17}\.\.\.9{20}' is not a number
\u0661 2 3 4 5 6 7 8 0 | | '\u0661' is not a number
1 2 3/4 5/6 7 8 0 | | different lengths: \[3, 2, 4\]; write the blank as 0$
1 2 3/4 5 6/7 8 | | different lengths: \[3, 3, 2\]; write the blank as 0$
1 2 3 4 5 6 7 8 0 | 4x4 | 9 numbers where a 4x4 board has 16
1 2 3/4 5 0 | 2x3 | is 3x2 by its rows, and a 2x3 board is expected
1 2 3 -4 | | '-4' is not a number
"""


@pytest.mark.parametrize(("text", "size", "message"), rows(BAD_TEXTS.replace(r"\u0661", "\u0661")))
def test_text_that_is_no_board_is_refused_in_one_line(text: str, size: str, message: str) -> None:
    with pytest.raises(BoardError, match=message) as caught:
        Board(text, size or None)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [*NO_SEQUENCES, [[1, 2], [3]], [1.0, 2.0, 3.0, 0.0], 100, [[1, 2], ["", 3]]])
@pytest.mark.parametrize(("size", "message"), [(None, "integers"), (S22, "4 integers")])
def test_what_is_no_sequence_of_integers_is_refused(given: Any, size: BoardSize | None, message: str) -> None:
    with pytest.raises(BoardError, match=f"must be {message}, 0 or None for the blank, .* or in rows of one length"):
        Board(given, size)


def test_boards_are_copied_with_their_size() -> None:
    board = Board("1 2 3/4 0 5")
    for read in (pickle.loads(pickle.dumps(board)), copy.deepcopy(board), eval(repr(board))):
        assert type(read) is Board
        assert (read, read.size, hash(read)) == (tuple(board), S32, hash(tuple(board)))


# Moves and pictures


def test_moves_lead_to_neighbours_and_back() -> None:
    board = Board("1 2 3/4 0 5")
    assert board.moves() == (2, 4, 5)
    for tile in board.moves():
        after = board.move(tile)
        assert (after.size, after.index(0)) == (S32, board.index(tile))
        assert after.move(tile) == board
    with pytest.raises(BoardError, match="tile 1 is not next to the blank; tiles that can move: 2"):
        board.move(1)


def test_picture_has_a_colour_for_each_pattern() -> None:
    board = Board("1 2 3/4 0 5")
    assert str(board) == "1 2 3\n4 . 5"
    tables = SimpleNamespace(partition=parse_partition("1,2/3,4,5", S32))
    picture = ET.fromstring(board.draw(tables).svg)
    assert [element.text for element in picture if element.tag.endswith("text")] == ["1", "2", "3", "4", "5"]
    fills = [element.get("fill") for element in picture if element.tag.endswith("rect")][1:]
    assert fills[0] == fills[1] != fills[2] == fills[3] == fills[4]


# Goals and solvability


@pytest.mark.parametrize("text", ["1 2 3/12 13 4/11 14 5/10 0 6/9 8 7", "1 2/0 3/5 4"])
def test_snail_winds_inwards(text: str) -> None:
    assert snail(Board(text).size) == Board(text)


def test_goals_are_names_or_boards() -> None:
    for name, make in NAMED_GOALS.items():
        assert as_goal(name, S32) == parse_goal(name, S32) == make(S32)
        assert goal_name(make(S32), S32) == name
    assert as_goal([[0, 1, 2], [3, 4, 5]], S32) == blank_first(S32)
    with pytest.raises(GoalError, match=r"goal is neither .* nor a 3x2 board"):
        as_goal([1, 2, 3], S32)


@pytest.mark.parametrize("size", [S22, S32, S23], ids=str)
def test_solvable_is_what_breadth_first_search_reaches(size: BoardSize) -> None:
    for goal in (blank_last(size), blank_first(size), snail(size), (2, 1, *range(3, size.n_cells), 0)):
        reached = naive.naive_distances(size, goal)
        for board in itertools.permutations(range(size.n_cells)):
            assert is_solvable(board, goal, size) == (board in reached)


# Random boards


def test_random_boards_are_uniform_over_the_solvable_ones() -> None:
    goal = blank_last(S22)
    sample = random_boards(S22, goal, 12_000, seed=1)
    counts = [(sample == board).all(axis=1).sum() for board in naive.naive_distances(S22, goal)]
    assert sum(counts) == 12_000
    # 12 boards, 1000 each, with a standard deviation of 30.
    assert all(abs(n - 1000) < 150 for n in counts)


def test_random_boards_of_a_large_size_are_solvable_boards() -> None:
    assert all(Board(row, "32x32").is_solvable("snail") for row in random_boards("32x32", "snail", 3, seed=1))
