"""Every parser accepts its input or rejects it with a one-line error, in bounded time and memory."""

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pdb_core.board_size import parse_size
from pdb_core.moves import parse_moves
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import Board, format_board
from pdb_query import read_instances
from solver.heuristics import parse_heuristic
from tests.fuzzing import fuzz, little_memory, mutated, outcome
from tests.solving import S3


def parse_instances(content: str) -> list[Board]:
    file = io.BytesIO(content.encode("utf-8", "surrogatepass"))
    return [instance.board for instance in read_instances("-", stdin=file)]


def in_rows(board: Board) -> str:
    return format_board(board, board.size)


def in_words(moves: list[int | str]) -> str:
    return " ".join(map(str, moves))


# Valid texts; their parser; and what writes a text from which the same is read.
PARSERS: dict[str, tuple[list[str], Callable[[str], Any], Callable[[Any], str]]] = {
    "board": (["8 6 7/2 5 4/3 0 1", "1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 10, 11", "3\t1\n2\t0"], Board, in_rows),
    "board of a size": (["8 6 7 2 5 4 3 0 1", "1,2,3;4,5,6;7,8,0"], partial(Board, size=S3), format_board),
    "size": (["3x4", "5X2", "4"], parse_size, str),
    "partition": (["663", "1,2,5/3,4,6/7,8", "78+663", "auto"], lambda text: str(parse_partition(text, None)), str),
    "heuristic": (
        ["manhattan", "max(db, linear-conflict)"],
        partial(parse_heuristic, also=("db",)),
        lambda names: f"max({', '.join(names)})",
    ),
    "moves": (["12 11 15", "[12, 11];15/3 -> 4"], parse_moves, in_words),
    "directions": (["R3U2", "['Up', 'D'], left"], partial(parse_moves, notation="blank"), in_words),
    "instances": (
        [
            'board,id,goal,optimal_length\r\n1 2 3/4 5 6/7 0 8,a,blank-last,1\r\n"1,2,0,3",b,snail,17\r\n',
            "3 2\n1 2 3\n4 0 5\n\n# a comment\n2\n1 2\n3 0\n",
            '{"board": [[1, 2], [3, 0]], "id": "a"}\n',
        ],
        parse_instances,
        lambda boards: "\n".join(map(in_rows, boards)),
    ),
}
ANY_TEXT = st.text(st.characters() | st.sampled_from(["\ud800", "\udcff"]), max_size=300)

# Long inputs take time and memory that grow with them, no faster.
N_PIECES = 4500 + 20 * fuzz.max_examples  # of up to 8 characters: 5,500, with --slow 64,500
# Of processor time, of which a busy machine takes some times more. What is quadratic takes hours of the longer ones.
LONG_PATIENCE_S = 2.0 + N_PIECES * 3e-4
LONG_BYTES = 2_000_000 + 2400 * N_PIECES
LONG_TEXTS = [
    *(
        piece * N_PIECES + end
        for piece in ("9", "1,", " , ", " ", "1 2 3 0\n", "[1,", "+-", "max(")
        for end in ("", "x")
    ),
    *(between.join(map(str, range(N_PIECES))) for between in (" ", ",")),
]


@pytest.mark.parametrize("parser", PARSERS)
@fuzz
@given(data=st.data())
def test_any_input_is_parsed_or_rejected(parser: str, data: st.DataObject) -> None:
    """Nearly valid texts and any others, with lone surrogates as in arguments that are not UTF-8."""
    valid, parse, write = PARSERS[parser]
    nearly_valid = mutated(st.sampled_from(valid))
    text = data.draw(nearly_valid | nearly_valid | ANY_TEXT)
    value = outcome(lambda: parse(text))
    assert value is None or parse(write(value)) == value


@pytest.mark.parametrize("parser", PARSERS)
def test_long_inputs_take_little_time_and_memory(parser: str) -> None:
    _, parse, _ = PARSERS[parser]
    for text in LONG_TEXTS:
        with little_memory(LONG_BYTES):
            outcome(lambda text=text: parse(text), LONG_PATIENCE_S)
