"""Moves as tiles and as directions: read, played and written, and read back."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pdb_core.board_size import BoardSize
from pdb_core.errors import InputError
from pdb_core.moves import NOTATIONS, Notation, directions, parse_moves, play
from pdb_core.puzzle import Board, Tiles
from tests import rows
from tests.fuzzing import SIZES, fuzz
from tests.naive.boards_and_tables import naive_moves
from tests.solving import S3

# Notation | moves, with `\n` for line ends | what is read.
READ = r"""
tiles | 12 11 15 | 12 11 15
tiles | [12, 11];15/3 -> 4 | 12 11 15 3 4
tiles | 05 | 5
tiles | |
blank | Right, up\nDOWN left | R U D L
blank | R3U2 down2 | R R R U U D D
blank | ['Up', 'D'] | U D
tile-directions | upright | D L
deepcubea | 0, 1, 2, 3 | D U R L
gym | 0 1 2 3 | U L R D
"""
# Notation | moves of the board 1 2 3/4 5 0/7 8 6 | a part of the message.
REFUSED = """
tiles | 6 7 | move 2, 7, is illegal on the board 1 2 3 4 5 6 7 8 0; only a tile next to the blank can move
blank | R | move 1, R, is illegal
blank | D R | move 2, R, is illegal
blank | L L L | move 3, L, is illegal
tiles | 12 R | 'R' is no move in the notation tiles; .* blank .R U: the blank moves., tile-d
tiles | 3 0 | 0 is the blank, not a tile; for actions from 0 to 3
gym | 0 4 | '4' is no move in the notation gym
tiles | 3 -1 | '-1' is no
blank | R 3 U | '3' is no move in the notation blank
blank | D' R' | moves \"D' R'\": \"D'\" is no move
blank | R100 | 'R100' is no move
letters | R | notation is 'letters'; give one of tiles, blank, tile-directions
"""


@pytest.mark.parametrize(("notation", "moves", "expected"), rows(READ))
def test_moves_are_read(notation: Notation, moves: str, expected: str) -> None:
    assert " ".join(map(str, parse_moves(moves.replace(r"\n", "\n"), notation))) == expected


@pytest.mark.parametrize(("notation", "moves", "match"), rows(REFUSED))
def test_other_moves_are_refused(notation: Notation, moves: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        Board("1 2 3/4 5 0/7 8 6").play(moves, notation)


def test_blank_and_tile_move_in_opposite_directions() -> None:
    board = Board("1 2 3/4 0 6/7 5 8")
    assert directions(board, (5, 8), "blank", S3) == "DR"
    assert directions(board, (5, 8), "tile", S3) == "UL"


def test_inverse_of_a_solution_is_a_scramble() -> None:
    goal = Board("1 2 3/4 5 6/7 8 0")
    assert goal.play("8 5").play([5, np.uint8(8)]) == goal
    assert goal.play("R D", "tile-directions").play("") == Board("1 2 3/4 0 6/7 5 8")


def written(board: Board, tiles: list[int], notation: Notation, *, runs: bool = False) -> str:
    """Return moves in a notation, directions perhaps as runs."""
    if notation == "tiles":
        return " ".join(map(str, tiles))
    letters = directions(board, tiles, "blank" if notation in ("blank", "gym") else "tile", board.size)
    if notation in ("deepcubea", "gym"):
        return " ".join(str(("UDLR" if notation == "deepcubea" else "ULRD").index(letter)) for letter in letters)
    return re.sub(r"((.)\2{1,98})", lambda run: f"{run[2]}{len(run[1])}", letters) if runs else letters


@fuzz
@given(SIZES, st.integers(0, 60), st.integers(0, 2**32))
def test_moves_are_read_back_from_each_notation(size: BoardSize, n_moves: int, seed: int) -> None:
    generator = random.Random(seed)
    board = Board(generator.sample(range(size.n_cells), size.n_cells), size)
    at, tiles, boards = tuple(board), list[int](), list[Tiles]()
    for _ in range(n_moves):
        tile, at = generator.choice(naive_moves(at, size))
        tiles.append(tile)
        boards.append(at)
    for notation in NOTATIONS:
        text = written(board, tiles, notation, runs=seed % 2 == 0)
        assert [tuple(cells) for _, cells in play(board, parse_moves(text, notation), size)] == boards
