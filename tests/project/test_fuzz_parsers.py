"""Every parser accepts its input or rejects it with a one-line error, in bounded time and memory."""

import csv
import io
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pdb_core.board_size import parse_size
from pdb_core.errors import PdbError
from pdb_core.pattern import NAMED_PARTITIONS, Partition, parse_partition
from pdb_core.puzzle import NAMED_GOALS, Board, format_board
from pdb_query import Instance, read_instances
from solver.heuristics import HEURISTICS, parse_heuristic
from tests.fuzzing import SIZES, board_texts, boards, encoded, fuzz, little_memory, outcome, texts
from tests.solving import S3


@st.composite
def partition_texts(draw: st.DrawFn) -> str:
    n_cells = draw(SIZES | st.just(S3)).n_cells
    tiles = draw(st.permutations(range(1, n_cells)))
    n_each = draw(st.integers(1, 10))
    parts = [tiles[at : at + n_each] for at in range(0, len(tiles), n_each)]
    return "/".join(",".join(map(str, part)) for part in parts)


def is_board(board: Board) -> bool:
    return Board(format_board(board, board.size)) == Board(format_board(board), board.size) == board


def is_partition(found: Partition) -> bool:
    return parse_partition(str(found), found.size, cost=found.cost).patterns == found.patterns


def is_heuristic(names: tuple[str, ...]) -> bool:
    return parse_heuristic(f"max({', '.join(names)})", also=("db",)) == names


# Files of instances, in CSV or in plain text


@st.composite
def board_files(draw: st.DrawFn) -> str:
    drawn = draw(st.lists(boards(), min_size=1, max_size=3))
    if draw(st.booleans()):
        goals, lengths = st.sampled_from([*NAMED_GOALS, ""]), st.sampled_from(["", "0", "17"])
        return as_csv([(format_board(board, size), "b", draw(goals), draw(lengths)) for board, size in drawn])
    parts = []
    for board, size in drawn:
        rows = format_board(board, size).replace("/", draw(st.sampled_from(["\n", "\n", "/", " ", " \n\n"])))
        head = draw(st.sampled_from(["", f"{size.height} {size.width}\n", f"{size.width} {size.height}\n"]))
        parts.append(head + rows)
    return draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n# a comment\n\n"])).join(parts)


def as_csv(rows: list[tuple[object, ...]]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows([("board", "id", "goal", "optimal_length"), *rows])
    return file.getvalue()


def parse_instances(content: str | bytes) -> list[Instance]:
    with NamedTemporaryFile(suffix=".dat") as file:
        Path(file.name).write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read_instances(file.name))


def are_instances(found: list[Instance]) -> bool:
    rows = [(format_board(at.board, at.size), at.id, at.goal, at.optimal_length) for at in found]
    return parse_instances(as_csv(rows)) == found


# Long inputs take time and memory that grow with them, no faster.
LONG = 200 * fuzz.max_examples  # characters: 10,000, with --slow 600,000
# Of processor time, of which a busy machine takes some times more. What is quadratic takes hours of the longer ones.
LONG_PATIENCE_S = 2.0 + LONG * 2e-5
LONG_BYTES = 2_000_000 + 300 * LONG

PARTITIONS = partition_texts() | st.sampled_from([*NAMED_PARTITIONS, "auto"])
NAMES = st.sampled_from([*HEURISTICS, "db"])
MAXIMA = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: f"max({','.join(names)})")
LISTS = st.lists(st.integers() | st.floats() | st.text(max_size=3) | st.booleans(), max_size=12)
# Inputs, nearly valid ones among them; the parser; and whether what it returned is read back equal.
PARSERS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any], Callable[[Any], bool]]] = {
    "board": (texts(board_texts()), Board, is_board),
    "board of a size": (texts(board_texts(S3)) | LISTS, partial(Board, size=S3), is_board),
    "size": (texts(st.builds(str, SIZES)), parse_size, lambda size: parse_size(str(size)) == size),
    "partition": (texts(PARTITIONS), partial(parse_partition, size=None), is_partition),
    "heuristic": (texts(NAMES | MAXIMA), partial(parse_heuristic, also=("db",)), is_heuristic),
    "instances": (encoded(board_files()), parse_instances, are_instances),
}
LONG_TEXTS = (
    "9" * LONG,
    " ".join(map(str, range(LONG // 6))),
    ",".join(map(str, range(1, LONG // 6))),
    "1" + " , " * (LONG // 3) + "x",
    " " * LONG + "x",
    "1 2 3 0\n" * (LONG // 8),
    "[1," * (LONG // 3),
    "+-" * (LONG // 2) + "x",
    "max(" * (LONG // 4) + ")" * 100,
)


@pytest.mark.parametrize("parser", PARSERS)
@fuzz
@given(data=st.data())
def test_any_input_is_parsed_or_rejected(parser: str, data: st.DataObject) -> None:
    inputs, parse, is_read_back = PARSERS[parser]
    given_input = data.draw(inputs)
    value = outcome(lambda: parse(given_input))
    assert value is None or is_read_back(value)


@pytest.mark.parametrize("parser", PARSERS)
def test_long_inputs_take_little_time_and_memory(parser: str) -> None:
    _, parse, _ = PARSERS[parser]
    for text in LONG_TEXTS:
        outcome(lambda text=text: parse(text), LONG_PATIENCE_S)
        with little_memory(LONG_BYTES), suppress(PdbError):
            parse(text)
