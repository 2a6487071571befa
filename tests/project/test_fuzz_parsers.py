"""Every parser accepts its input or rejects it with a one-line error, in bounded time and memory."""

import csv
import io
import re
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from pdb_core.errors import PdbError
from pdb_core.pattern import Partition, named_partitions, parse_partition
from pdb_core.puzzle import (
    NAMED_GOALS,
    Board,
    BoardSize,
    blank_last,
    format_board,
    goal_name,
    parse_goal,
    parse_size,
)
from pdb_query import read_instances
from solver import Iteration, Solution
from solver.answer_log import AnswerLog
from solver.heuristics import HEURISTICS, parse_heuristic
from solver.requests import Answer, Request
from tests.fuzzing import SIZES, board_texts, boards, encoded, fuzz, outcome, texts
from tilepdb.commands.board_input import read_boards, split_arguments
from tilepdb.commands.options import parse_bytes
from tilepdb.commands.tile_names import TileNames

S3 = BoardSize(3, 3)


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


PARTITIONS = partition_texts() | st.sampled_from([*named_partitions(), "auto"])
NAMES = st.sampled_from([*HEURISTICS, "db"])
MAXIMA = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: f"max({','.join(names)})")
# Valid texts, the parser, and whether a parsed value is read back equal.
PARSERS: dict[str, tuple[st.SearchStrategy[str], Callable[[str], Any], Callable[[Any], bool]]] = {
    "board": (board_texts(), Board, is_board),
    "board of a size": (board_texts(S3), lambda text: Board(text, S3), is_board),
    "goal": (board_texts(S3) | st.sampled_from(sorted(NAMED_GOALS)), lambda text: parse_goal(text, S3), is_goal),
    "size": (st.builds(str, SIZES), parse_size, lambda size: parse_size(str(size)) == size),
    "partition": (PARTITIONS, lambda text: parse_partition(text, None), is_partition),
    "partition of a size": (PARTITIONS, lambda text: parse_partition(text, S3, cost="every-move"), is_partition),
    "memory": (
        st.from_regex(re.compile(r"\d{1,6}(\.\d)? ?[kMGT]?B?", re.ASCII), fullmatch=True),
        parse_bytes,
        is_memory,
    ),
    "heuristic": (NAMES | MAXIMA, lambda text: parse_heuristic(text, also=("db",)), is_heuristic),
}


@pytest.mark.parametrize("parser", PARSERS)
@fuzz
@given(data=st.data())
def test_any_text_is_parsed_or_rejected(parser: str, data: st.DataObject) -> None:
    valid, parse, is_read_back = PARSERS[parser]
    text = data.draw(texts(valid))
    value = outcome(lambda: parse(text))
    assert value is None or is_read_back(value)


@fuzz
@given(st.lists(st.integers() | st.floats() | st.text(max_size=3) | st.booleans(), max_size=12), SIZES)
def test_any_list_is_a_board_or_rejected(tiles: list[Any], size: BoardSize) -> None:
    board = outcome(lambda: Board(tiles, size))
    assert board is None or sorted(board) == list(range(size.n_cells))


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


@fuzz
@given(encoded(csv_files()) | encoded(board_files()), st.none() | SIZES, texts(GOALS_OF_WORDS))
@example(b'id,board\n"a,1 2 3 0\n', None, "")
@example(b'board,id\n1 2 3 0,"\n"\n', None, "")
def test_any_bytes_are_instances_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: BoardSize | None, goal: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.dat"
    path.write_bytes(content)
    found = outcome(lambda: list(read_instances(path, size)))
    if found is not None:
        for at in found:
            assert Board(tuple(at.board), at.size) == at.board
            assert at.goal is None or parse_goal(at.goal, at.size)
        # Without a size a board of one row is a square one.
        rows = [
            (format_board(at.board, at.size if size in (None, at.size) else None), at.id, at.goal, at.optimal_length)
            for at in found
        ]
        path.write_text(as_csv(rows), encoding="utf-8")
        assert list(read_instances(path, size)) == found
    path.write_bytes(content + b"\n" + goal.encode("utf-8", "surrogatepass"))
    outcome(lambda: list(read_instances(path, tile_number=TileNames(goal).number)))


@fuzz
@given(texts(st.sampled_from(["korf100", "korf50-24puzzle", "none.csv", "/", ".", "/etc/none"]), max_size=30))
@example("x" * 5000)
def test_any_text_is_the_name_of_a_set_or_rejected(source: str) -> None:
    with suppress(StopIteration):
        outcome(lambda: next(read_instances(source, None, stdin=io.BytesIO())))


@fuzz
@given(st.lists(texts(board_texts() | st.sampled_from(["a.dat", "8", "\0"])), max_size=5))
def test_any_arguments_are_boards_or_rejected(arguments: list[str]) -> None:
    files, texts_of_boards = split_arguments(arguments)
    assert len(files) + len(texts_of_boards) == len(arguments)
    outcome(lambda: list(read_boards(texts_of_boards, None, None)))


@fuzz
@given(texts(GOALS_OF_WORDS), texts(GOALS_OF_WORDS), st.data())
def test_any_words_are_a_goal_and_a_board_or_rejected(goal: str, text: str, data: st.DataObject) -> None:
    names = outcome(lambda: TileNames(goal))
    if names is None:
        return
    outcome(lambda: names.numbered(text))
    assert names.goal.isascii()
    tiles = re.findall(r"\d+", names.goal)  # of a goal of one word the blank alone: commands refuse it for its size
    assert all(names.word(int(tile)).encode() for tile in tiles)  # that it can be written
    shuffled = data.draw(st.permutations(tiles))
    words = " ".join(names.word(int(tile)) for tile in shuffled)
    assert names.numbered(words).split() == shuffled


# The log of solved boards

METHOD: dict[str, Any] = {"search": "ida-star", "tables": ["ab" * 32]}
BOARD = Board((1, 2, 3, 4, 5, 6, 0, 7, 8), S3)
SOLUTION = Solution(
    BOARD, Board(blank_last(S3), S3), 2, (7, 8), True, 1.0, 2, 2, 4, 2, 0.5, iterations=(Iteration(2, 4, 2, 0.5),)
)
ANSWER = Answer(Request("a", BOARD, blank_last(S3)), SOLUTION)


def written_log() -> str:
    with tempfile.TemporaryDirectory() as folder:
        with AnswerLog(Path(folder, "log"), METHOD) as log:
            log.add(ANSWER)
        return Path(folder, "log").read_text(encoding="utf-8")


def is_in_log(path: Path) -> bool:
    with AnswerLog(path, METHOD) as log:
        return log.known(ANSWER.request) is not None


@fuzz
@given(encoded(st.just(written_log())))
@example(b"[" * 100_000 + b"\n")
def test_any_bytes_are_a_log_or_rejected(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.log"
    path.write_bytes(content)
    known = outcome(lambda: is_in_log(path))
    # What was read is read again, whatever was cut off.
    assert known is None or is_in_log(path) == known


# Long inputs: in time and memory that grow with them, no faster

LONG = 200 * fuzz.max_examples  # characters: 10,000, with --slow 600,000
# Of processor time, of which a busy machine takes some times more. What is quadratic takes hours of the longer ones.
LONG_PATIENCE_S = 2.0 + LONG * 2e-5
LONG_BYTES = 2_000_000 + 300 * LONG
LONG_TEXTS = {
    "digits": "9" * LONG,
    "numbers": " ".join(map(str, range(LONG // 6))),
    "patterns": "/".join(map(str, range(1, LONG // 6))),
    "pattern": ",".join(map(str, range(1, LONG // 6))),
    "a word": "w" * LONG,
    "words": " ".join(f"w{number}" for number in range(LONG // 7)) + " _",
    "commas in front": "1" + " , " * (LONG // 3) + "x",
    "whitespace and a word": " " * LONG + "x",
    "lines": "\n" * LONG,
    "boards": "1 2 3 0\n" * (LONG // 8),
    "sizes": "2 2\n1 2\n3 0\n" * (LONG // 12),
    "quotes": '"' * LONG,
    "brackets": "max(" * (LONG // 4) + ")" * 100,
}


def read_file(text: str, folder: Path, names: TileNames | None) -> object:
    path = folder / "long.dat"
    path.write_text(text, encoding="utf-8")
    return list(read_instances(path, tile_number=None if names is None else names.number))


LONG_PARSERS: dict[str, Callable[[str, Path], object]] = {
    **{name: lambda text, _, parse=parse: parse(text) for name, (_valid, parse, _check) in PARSERS.items()},
    "tile names": lambda text, _: TileNames(text),
    "words of a long goal": lambda text, _: TileNames(LONG_TEXTS["words"]).numbered(text + text),
    "instances": lambda text, _: list(read_instances("-", None, stdin=io.BytesIO(text.encode()))),
    "a set": lambda text, _: list(read_instances(text, None)),
    "board file": lambda text, folder: read_file(text, folder, None),
    "board file of words": lambda text, folder: read_file(text, folder, TileNames("1 2 3 _")),
    "arguments": lambda text, _: list(read_boards(split_arguments([text, text])[1], None, None)),
}


@pytest.mark.parametrize("parser", LONG_PARSERS)
def test_long_inputs_take_little_time_and_memory(parser: str, tmp_path: Path) -> None:
    for name, text in LONG_TEXTS.items():
        outcome(lambda text=text: LONG_PARSERS[parser](text, tmp_path), LONG_PATIENCE_S)
        tracemalloc.start()
        try:
            with suppress(PdbError):
                LONG_PARSERS[parser](text, tmp_path)
            assert tracemalloc.get_traced_memory()[1] < LONG_BYTES, name
        finally:
            tracemalloc.stop()
