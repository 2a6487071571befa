"""Every parser accepts its input or rejects it with a one-line error, in bounded time and memory."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable
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
from pdb_core.puzzle import NAMED_GOALS, Board, blank_last, format_board, goal_name, parse_goal
from pdb_query import Instance, read_instances
from solver.heuristics import HEURISTICS, parse_heuristic
from tests.fuzzing import SIZES, board_texts, boards, encoded, fuzz, little_memory, outcome, texts
from tests.solving import S3
from tilepdb.commands.board_input import read_boards
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import BoardOptions, TableOptions, file_or_board, parse_bytes
from tilepdb.commands.tile_names import TileNames


@st.composite
def partition_texts(draw: st.DrawFn) -> str:
    n_cells = draw(SIZES | st.just(S3)).n_cells
    tiles = draw(st.permutations(range(1, n_cells)))
    n_each = draw(st.integers(1, 10))
    parts = [tiles[at : at + n_each] for at in range(0, len(tiles), n_each)]
    return "/".join(",".join(map(str, part)) for part in parts)


def is_board(board: Board) -> bool:
    return Board(format_board(board, board.size)) == Board(format_board(board), board.size) == board


def is_goal(goal: Board) -> bool:
    return parse_goal(goal_name(goal, S3), S3) == Board(goal, S3) == goal


def is_partition(found: Partition) -> bool:
    return parse_partition(str(found), found.size, cost=found.cost).patterns == found.patterns


def is_memory(n_bytes: int) -> bool:
    return parse_bytes(str(min(n_bytes, 10**15 - 1))) == min(n_bytes, 10**15 - 1)


def is_heuristic(names: tuple[str, ...]) -> bool:
    return parse_heuristic(f"max({', '.join(names)})", also=("db",)) == names


# Files of instances, in CSV or in plain text

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"], exclude_characters=",/#"), min_size=1)
GOALS_OF_WORDS = st.lists(WORDS, min_size=3, max_size=11, unique=True).map(lambda words: " ".join([*words, "_"]))


@st.composite
def csv_files(draw: st.DrawFn) -> str:
    size = draw(SIZES)
    goals = st.sampled_from([*NAMED_GOALS, "", format_board(blank_last(size), size)])
    lengths = st.sampled_from(["", "0", "17"])
    lines = draw(st.lists(board_texts(size), min_size=1, max_size=4))
    return as_csv([(line, "b", draw(goals), draw(lengths)) for line in lines])


def as_csv(rows: Iterable[tuple[object, ...]]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows([("board", "id", "goal", "optimal_length"), *rows])
    return file.getvalue()


@st.composite
def board_files(draw: st.DrawFn) -> str:
    parts = []
    for board, size in draw(st.lists(boards(), min_size=1, max_size=3)):
        rows = format_board(board, size).replace("/", draw(st.sampled_from(["\n", "\n", "/", " ", " \n\n"])))
        head = draw(st.sampled_from(["", f"{size.height} {size.width}\n", f"{size.width} {size.height}\n"]))
        parts.append(head + rows)
    return draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n# a comment\n\n"])).join(parts)


def parse_instances(content: str | bytes) -> list[Instance]:
    with NamedTemporaryFile(suffix=".dat") as file:
        Path(file.name).write_bytes(content.encode() if isinstance(content, str) else content)
        outcome(lambda: list(read_instances(file.name, tile_number=TileNames("1 2 3 _").number)), math.inf)
        return list(read_instances(file.name))


def are_instances(found: list[Instance]) -> bool:
    rows = [(format_board(at.board, at.size), at.id, at.goal, at.optimal_length) for at in found]
    return parse_instances(as_csv(rows)) == found


def parse_arguments(text: str) -> list[Instance]:
    texts = [argument for argument in map(file_or_board, text.split("|")) if isinstance(argument, str)]
    return list(read_boards(BoardOptions(texts), OpenDatabases(TableOptions())))


# Words for tiles


def parse_words(text: str) -> TileNames:
    goal, _, board = text.partition("|")
    names = TileNames(goal)
    outcome(lambda: names.numbered(board), math.inf)
    return names


def are_words(names: TileNames) -> bool:
    tiles = re.findall(r"\d+", names.goal)  # of a goal of one word the blank alone: commands refuse it for its size
    words = " ".join(names.word(int(tile)) for tile in reversed(tiles))
    return bool(words.encode()) and names.numbered(words).split() == tiles[::-1] and "".join(tiles).isascii()


# All parsers

# Long inputs take time and memory that grow with them, no faster.
LONG = 200 * fuzz.max_examples  # characters: 10,000, with --slow 600,000
# Of processor time, of which a busy machine takes some times more. What is quadratic takes hours of the longer ones.
LONG_PATIENCE_S = 2.0 + LONG * 2e-5
LONG_BYTES = 2_000_000 + 300 * LONG

PARTITIONS = partition_texts() | st.sampled_from([*NAMED_PARTITIONS, "auto"])
NAMES = st.sampled_from([*HEURISTICS, "db"])
MAXIMA = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: f"max({','.join(names)})")
AMOUNTS = st.from_regex(re.compile(r"\d{1,6}(\.\d)? ?[kMGT]?B?", re.ASCII), fullmatch=True)
LISTS = st.lists(st.integers() | st.floats() | st.text(max_size=3) | st.booleans(), max_size=12)
WORD_PAIRS = GOALS_OF_WORDS.map(lambda goal: f"{goal}|{goal}")
ARGUMENTS = st.lists(board_texts() | st.sampled_from(["a.dat", "8", "\0"]), max_size=5).map("|".join)
SOURCES = st.sampled_from(["korf100", "korf50-24puzzle", "none.csv", "/", ".", "/etc/none"])
# Inputs, nearly valid ones among them; the parser; and whether what it returned is read back equal.
PARSERS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any], Callable[[Any], bool]]] = {
    "board": (texts(board_texts()), Board, is_board),
    "board of a size": (texts(board_texts(S3)) | LISTS, partial(Board, size=S3), is_board),
    "goal": (texts(board_texts(S3) | st.sampled_from([*NAMED_GOALS])), partial(parse_goal, size=S3), is_goal),
    "size": (texts(st.builds(str, SIZES)), parse_size, lambda size: parse_size(str(size)) == size),
    "partition": (texts(PARTITIONS), partial(parse_partition, size=None), is_partition),
    "partition of a size": (texts(PARTITIONS), partial(parse_partition, size=S3, cost="every-move"), is_partition),
    "memory": (texts(AMOUNTS), parse_bytes, is_memory),
    "heuristic": (texts(NAMES | MAXIMA), partial(parse_heuristic, also=("db",)), is_heuristic),
    "words": (texts(WORD_PAIRS), parse_words, are_words),
    "arguments": (texts(ARGUMENTS), parse_arguments, lambda found: all(is_board(at.board) for at in found)),
    "set": (texts(SOURCES, 30), lambda text: next(read_instances(text, stdin=io.BytesIO()), None), bool),
    "instances": (encoded(csv_files()) | encoded(board_files()), parse_instances, are_instances),
}
LONG_TEXTS = {
    "digits": "9" * LONG,
    "numbers": " ".join(map(str, range(LONG // 6))),
    "patterns": "/".join(map(str, range(1, LONG // 6))),
    "pattern": ",".join(map(str, range(1, LONG // 6))),
    "a word": "w" * LONG,
    "words": "|".join([" ".join(f"w{number}" for number in range(LONG // 7)) + " _"] * 2),
    "commas in front": "1" + " , " * (LONG // 3) + "x",
    "whitespace and a word": " " * LONG + "x",
    "lines": "\n" * LONG,
    "boards": "1 2 3 0\n" * (LONG // 8),
    "sizes": "2 2\n1 2\n3 0\n" * (LONG // 12),
    "quotes": '"' * LONG,
    "brackets": "[1," * (LONG // 3),
    "borders": "+-" * (LONG // 2) + "x",
    "rows that continue": "1 2/\n" * (LONG // 5),
    "nested": "max(" * (LONG // 4) + ")" * 100,
}


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
    for text in LONG_TEXTS.values():
        outcome(lambda text=text: parse(text), LONG_PATIENCE_S)
        with little_memory(LONG_BYTES), suppress(PdbError):
            parse(text)
