"""Tiles that are words: --tiles letters."""

from pathlib import Path

import pytest

from pdb_core.errors import BoardError
from pdb_core.puzzle import format_board
from pdb_query import read_instances
from tilepdb.commands.board_input import read_boards
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import BoardOptions, TableOptions
from tilepdb.commands.tile_names import TileNames

LETTERS = "a b c/d e f/g h _"


@pytest.mark.tiny
@pytest.mark.parametrize("blank", ["_", "0", "."])
def test_words_become_the_numbers_of_the_goal_and_words_again(blank: str) -> None:
    names = TileNames(f"one two/three {blank}")
    assert names.goal == "1 2/3 0"
    assert [names.numbered(f"two, one/{other} three") for other in ("_", "0", ".")] == ["2, 1/0 3"] * 3
    assert [names.word(tile) for tile in range(4)] == [blank, "one", "two", "three"]
    record = {"id": "1", "board": [2, 1, 0, 3], "goal": [1, 2, 3, 0], "moves": None}
    assert names.named(record) == {
        "id": "1", "board": ["two", "one", blank, "three"], "goal": ["one", "two", "three", blank], "moves": None
    }  # fmt: skip


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("goal", "text", "boards"),
    [
        (
            "a b c/d e f/g h _",
            "3\na b c\nd e f\ng _ h\n\nb a c\nd e f\n_ g h",
            ["1 2 3/4 5 6/7 0 8", "2 1 3/4 5 6/0 7 8"],
        ),
        ("a b/c _", "2 2\nb a\n. c\n\na b\nc 0\n", ["2 1/0 3", "1 2/3 0"]),
        # Digits as names: a row of two of them is no size.
        ("2 1/3 0", "1 2\n0 3\n", ["2 1/0 3"]),
        ("5 4/6 0", "2\n4 5\n0 6\n", ["2 1/0 3"]),
    ],
)
def test_files_of_words_are_read(goal: str, text: str, boards: list[str], tmp_path: Path) -> None:
    path = tmp_path / "in.dat"
    path.write_text(text)
    found = [format_board(i.board, i.size) for i in read_instances(path, tile_number=TileNames(goal).number)]
    assert found == boards


@pytest.mark.tiny
def test_lines_of_an_argument_are_its_rows() -> None:
    numbers = "0 2 3 4 5 6 7 8\n1 9 10 11 12 13 14 15"
    for text, names in ((numbers, None), (numbers.replace("1", "a"), TileNames(numbers.replace("1", "a")))):
        (found,) = read_boards(BoardOptions([text]), OpenDatabases(TableOptions()), names)
        assert str(found.size) == "8x2"
    with pytest.raises(BoardError, match="is 8x2 by its rows, and a 4x4 board is expected"):
        list(read_boards(BoardOptions([numbers], size="4x4"), OpenDatabases(TableOptions())))
