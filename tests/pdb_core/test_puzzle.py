"""Boards: parsing, formatting, solvability, goals, random boards."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pdb_core.errors import BoardError, InputError
from pdb_core.puzzle import (
    Board,
    BoardSize,
    blank_first,
    blank_last,
    draw_board,
    format_board,
    goal_name,
    is_solvable,
    parse_goal,
    parse_size,
    random_boards,
    snail,
    why_unsolvable,
)
from tests.naive import boards_and_tables as naive

SIZES = [BoardSize(width, height) for width in range(2, 7) for height in range(2, 7)]
S3 = BoardSize(3, 3)
sizes = st.sampled_from(SIZES)
pytestmark = pytest.mark.tiny


@st.composite
def boards(draw: st.DrawFn) -> tuple[BoardSize, tuple[int, ...]]:
    size = draw(sizes)
    return size, tuple(draw(st.permutations(range(size.n_cells))))


@pytest.mark.parametrize("text", ["4x4", "4X4", " 4 x 4 "])
def test_size_is_parsed(text: str) -> None:
    assert parse_size(text) == BoardSize(4, 4)


@pytest.mark.parametrize("text", ["", "4", "4x", "1x4", "33x2", "4x4x4", "-4x4", "٤x٤", "4" * 50 + "x4", "0x0"])
def test_bad_size_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_size(text)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_neighbours_equal_naive(size: BoardSize) -> None:
    for cell in range(size.n_cells):
        assert list(size.neighbours[cell]) == naive.naive_neighbours(cell, size)
        assert all(size.is_dark(near) != size.is_dark(cell) for near in size.neighbours[cell])


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3 4 5 6 7 8 0",
        "1,2,3,4,5,6,7,8,0",
        "1, 2, 3\n4, 5, 6\n7, 8, 0\n",
        "1 2 3/4 5 6/7 8 0",
        " 1 2 3 / 4 5 6 / 7 8 0 ",
        "1\t2 3\r\n4 5 6\r\n7 8 0",
        "01 2 3 4 5 6 7 8 00",
    ],
)
def test_board_is_parsed_in_every_form(text: str) -> None:
    assert Board(text) == Board(text, BoardSize(3, 3)) == blank_last(BoardSize(3, 3))
    assert Board(text).size == BoardSize(3, 3)


@pytest.mark.parametrize(
    ("text", "size", "match"),
    [
        ("", None, "a number is missing"),
        (" \t\n", None, "a number is missing"),
        (",", None, "a number is missing"),
        ("1 2 3/4 5 6/7 8 0/", None, "a number is missing"),
        ("1 2 3", None, "has 3 numbers, which is no square"),
        ("0", None, "has 1 numbers, which is no square"),
        (" ".join(map(str, range(48))), None, "has 48 numbers, which is no square"),
        ("1 2 3\n4 5 0", None, "has 6 numbers, which is no square"),
        ("1 2 3 4 5 6 7 8 9", None, "missing 0, twice or out of range 9"),
        ("1 1 3 4 5 6 7 8 0", None, "missing 2, twice or out of range 1"),
        ("1 2 3 4 5 6 7 8 -1", None, "'-1' is not a number"),
        ("1 2 3 4 5 6 7 8 x", None, "'x' is not a number"),
        ("1 2 3 4 5 6 7 8 99999", None, "'99999' is not a number"),
        ("1 2 3 4 5 6 7 8 " + "9" * 5000, None, r"'9{17}\.\.\.9{20}' is not a number"),
        ("1 2 3 4 5 6 7 8 1000", None, "missing 0, twice or out of range 1000"),
        ("\u0661 2 3 4 5 6 7 8 0", None, "'\u0661' is not a number"),
        ("\uff11 2 3 4 5 6 7 8 0", None, "'\uff11' is not a number"),
        ("1 \u00b2 3 4 5 6 7 8 0", None, "'\u00b2' is not a number"),
        ("+1 2 3 4 5 6 7 8 0", None, r"'\+1' is not a number"),
        ("1 2 3 4 5 6 7 0x8 0", None, "'0x8' is not a number"),
        ("1 2 3 4 5 6 7 1_0 0", None, "'1_0' is not a number"),
        ("1;2;3;0", None, "'1;2;3;0' is not a number"),
        ("1 2 3/4 5/6 7 8 0", None, "different lengths"),
        ("1 2 3//4 5 6", None, "a number is missing"),
        ("/".join(f"{2 * row} {2 * row + 1}" for row in range(33)), None, "board size 2x33 is not supported"),
        ("1 2 3 4 5 6 7 8 0", BoardSize(4, 4), "9 numbers where a 4x4 board has 16"),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0", BoardSize(3, 3), "16 numbers where a 3x3 board has 9"),
        ("1 2 3/4 5 0", BoardSize(2, 3), r"rows of \[3, 3\] numbers where a 2x3 board is expected"),
        ("1/2/3/0", None, "board size 1x4 is not supported"),
        ("1 2 3 4 5 6 7 8 0.5", None, "is not a number"),
    ],
)
def test_bad_board_is_refused(text: str, size: BoardSize | None, match: str) -> None:
    with pytest.raises(BoardError, match=match) as caught:
        Board(text, size)
    assert "\n" not in str(caught.value)


@given(boards())
def test_formatted_boards_are_read_back(given_board: tuple[BoardSize, tuple[int, ...]]) -> None:
    size, board = given_board
    for read in (
        Board(format_board(board, size)),
        Board(format_board(board), size),
        Board(np.array(board), size),
        Board(np.array(board).reshape(size.height, size.width)),
        Board([list(row) for row in np.array(board).reshape(size.height, size.width)], str(size)),
        pickle.loads(pickle.dumps(Board(board, size))),
        eval(repr(Board(board, size))),
    ):
        assert type(read) is Board
        assert (read, read.size) == (board, size)


def test_board_is_drawn_in_columns() -> None:
    assert (
        draw_board((10, 2, 0, 1, 3, 4, 5, 6, 7, 8, 9, 11), BoardSize(4, 3)) == "10  2  .  1\n 3  4  5  6\n 7  8  9 11"
    )


@pytest.mark.parametrize(
    ("size", "board"),
    [
        (BoardSize(4, 4), (1, 2, 3, 4, 12, 13, 14, 5, 11, 0, 15, 6, 10, 9, 8, 7)),
        (BoardSize(3, 3), (1, 2, 3, 8, 0, 4, 7, 6, 5)),
        (BoardSize(3, 5), (1, 2, 3, 12, 13, 4, 11, 14, 5, 10, 0, 6, 9, 8, 7)),
        (BoardSize(5, 3), (1, 2, 3, 4, 5, 12, 13, 14, 0, 6, 11, 10, 9, 8, 7)),
        (BoardSize(2, 2), (1, 2, 0, 3)),
        (BoardSize(3, 2), (1, 2, 3, 0, 5, 4)),
        (BoardSize(2, 3), (1, 2, 0, 3, 5, 4)),
    ],
)
def test_snail_winds_inwards(size: BoardSize, board: tuple[int, ...]) -> None:
    assert snail(size) == board


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_named_goals_are_boards_and_keep_their_names(size: BoardSize) -> None:
    for name in ("blank-last", "blank-first", "snail"):
        goal = parse_goal(name, size)
        assert Board(goal, size) == goal
        assert parse_goal(goal_name(goal, size), size) == goal
    unnamed = (*range(2, size.n_cells), 0, 1)
    assert goal_name(unnamed, size) == format_board(unnamed, size)


@pytest.mark.parametrize("size", [BoardSize(2, 2), BoardSize(3, 2), BoardSize(2, 3)], ids=str)
def test_solvable_is_what_breadth_first_search_reaches(size: BoardSize) -> None:
    for goal in (blank_last(size), blank_first(size), snail(size), (2, 1, *range(3, size.n_cells), 0)):
        reached = naive.naive_distances(size, goal)
        for board in itertools.permutations(range(size.n_cells)):
            assert is_solvable(board, goal, size) == (board in reached)


def test_reason_for_swapped_14_and_15_names_both_parities() -> None:
    size = BoardSize(4, 4)
    reason = why_unsolvable((*range(1, 14), 15, 14, 0), blank_last(size), size)
    assert "the 16 pieces need an odd permutation" in reason
    assert "takes an even number of moves" in reason


def test_random_boards_are_uniform_over_the_solvable_ones() -> None:
    size = BoardSize(2, 2)
    goal = blank_last(size)
    sample = random_boards(size, goal, 12_000, seed=1)
    counts = {board: int((sample == board).all(axis=1).sum()) for board in naive.naive_distances(size, goal)}
    assert sum(counts.values()) == 12_000
    # 12 boards, 1000 each, with a standard deviation of 30.
    assert all(abs(n - 1000) < 150 for n in counts.values())
