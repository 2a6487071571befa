"""Boards as people write them: the table of docs/files.md, and files in the formats of other programs."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Board, Tiles
from pdb_query import read_instances
from solver.heuristics.heuristic_solver import HeuristicSolver
from tests import rows, text_of
from tests.fuzzing import boards

# The table of the page


def table_of_page() -> list[list[str]]:
    """Return the cells of the table of spellings: a name, and texts in code."""
    section = text_of("docs/files.md").partition("## Spellings of a board\n")[2].partition("\n## ")[0]
    found = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in section.splitlines() if line.startswith("| ")]
    return found[1:]


def examples(cell: str) -> list[str]:
    """Return the texts in code of a cell. They are written as one line, with `\\n` for line ends."""
    return [text.strip().replace("\\|", "|").replace("\\n", "\n") for text in re.findall("`(.*?)`", cell)]


TABLE = table_of_page()


@pytest.mark.parametrize(("name", "cell", "read"), TABLE)
def test_examples_of_the_page_are_read_as_it_says(name: str, cell: str, read: str) -> None:
    wanted = [Board(text) for text in examples(read)]
    for text in examples(cell):
        found = read_instances("-", stdin=io.BytesIO(text.encode()))
        assert [repr(instance.board) for instance in found] == list(map(repr, wanted)), (name, text)
        if len(wanted) == 1:
            assert repr(Board(text)) == repr(wanted[0])


DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def spellings(board: Tiles, size: BoardSize) -> dict[str, list[str]]:
    """Return a board in each spelling of the page, in some variants."""
    rows: list[list[int]] = np.array(board).reshape(size.height, size.width).tolist()

    def joined(between: str, lines: str, blank: str = "0") -> str:
        return lines.join(between.join(str(tile or blank) for tile in row) for row in rows)

    lines, sides = joined(" ", "\n"), f"{size.height} {size.width}"
    digits = f"{size}:" + "".join(DIGITS[tile] for tile in board)
    border = "+" + "--+" * size.width
    cells = ["|" + "|".join(str(tile or "").rjust(2) for tile in row) + "|" for row in rows]
    blanks = ("x", "X", "_", ".", "-", "--", "-1", "None", "null")
    return {
        "rows": [joined(" ", end) for end in ("/", " / ", "\n", "\r\n", r"\n")],
        "a list": [f"{size}:{joined(between, between)}" for between in (" ", ",", ", ", "; ", "\t")],
        "a column": [joined("\n", "\n")] if size.width == size.height else [f"{sides}\n{joined(chr(10), chr(10))}"],
        "separators": [joined(*signs) for signs in ((",", ";"), (" ", ", "), (" ", " | "), (";", "\n"), (", ", ",\n"))],
        "leading zeros": [re.sub(r"\b(\d)\b", r"0\1", joined(" ", end)) for end in ("/", "\n")],
        "other blanks": [joined(" ", end, blank) for blank in blanks for end in ("/", "\n")],
        "digits": [digits, digits.lower(), digits.replace(":0", ":_").replace("0", "_", 1)],
        "a size in front": [f"{sides}\n{lines}", f"{size}\n{lines}", f"{size}: {joined(' ', '/')}"],
        "a number of boards in front": [f"1\n{lines}"],
        "sizes and a number in front": [f"{size.width} {size.height}{end}1\n{lines}" for end in (" ", "\n")],
        "a number and a length in front": [f" 12  45 : {joined(' ', ' ' if size.width == size.height else '/')}"],
        "a drawing": ["\n".join([border, *(f"{line}\n{border}" for line in cells)]), str(Board(board, size))],
        "Python and JSON": [
            json.dumps(rows),
            json.dumps({"id": "1", "board": rows}),
            f"{size}:\n{json.dumps(rows, indent=1)}",
            re.sub(r"\b0\b", "None", str(tuple(map(tuple, rows)))),
            str(np.array(rows)),
            repr(np.array(rows)),
            repr(Board(board, size)),
        ],
        "a solution behind": [f"{lines}\n2\nDR"],
    }


@given(boards())
def test_boards_are_read_back_from_every_spelling(given_board: tuple[Tiles, BoardSize]) -> None:
    board, size = given_board
    spelled = spellings(board, size)
    assert {name for name, *_ in TABLE} == set(spelled)
    for name, texts in spelled.items():
        for text in texts:
            (found,) = read_instances("-", stdin=io.BytesIO(text.encode()))
            assert (found.board, found.size) == (board, size), (name, text)
            assert repr(Board(text)) == repr(Board(text, size)) == repr(found.board)


# Files of other programs

# What is written, with `\n` for line ends | the goal | the optimal length of each board, None if it is unsolvable.
DRAWING = r"+--+--+\n|10| 2|11| 4|\n+--+--+\n| 5|12| 3| 7|\n+--+--+\n| 1| 6| 8|15|\n+--+--+\n| 9|13|  |14|\n+--+--+"
FILES = rows(r"""
1\n8 1 3\n4 0 2\n7 6 5 | blank-last | 14
3\n8 1 3\n4 0 2\n7 6 5\n1 2 3\n4 0 6\n7 5 8\n1 3 4\n8 2 0\n7 6 5 | blank-last | 14 2 None
812043765\n123804765 | snail | 5 0
812043765 | blank-last | None
3\n0\n3\n8\n4\n1\n7\n2\n6\n5 | blank-first | 20
1 2 3 x 4 6 7 5 8 | blank-last | 3
123456789ABCDFE0\n1853AC4F6B0D92E7 | blank-last | None 42
1 2 3 4 5 6 7 8 0\n01 02 03 04 05 06 07 00 08 | blank-last | 0 1
5,14,2,4;13,X,9,7;10,1,3,8;6,11,15,12 | blank-last | 32
2\n3 1\n2 0 | blank-last | 4
(2, 4, 3, 1, 5, 6, 7, 8, 0)\n(1, 0, 2, 7, 5, 4, 8, 6, 3) | blank-last | 8 11
3 3\n1 2 3\n4 0 6\n7 5 8\n2\nDR | blank-last | 2
3 3\n2\n1 2 3\n4 5 6\n7 0 8\n\n1 2 3\n4 0 6\n7 5 8\n\n0 1 3\n4 2 5\n7 8 6 | blank-last | 1 2
3 2 2\n\n1 2 3\n4 0 5\n\n1 2 3\n0 4 5 | blank-last | 1 2
  1  57 : 8 7 6 0 4 1 2 5 3\n 12  45 : 1 2 5 3 4 8 6 0 7 | blank-first | 31 5
 2  3\n 1 __ | blank-last | 4
2/8/3/1/6/4/7/0/5 | 1 2 3/8 0 4/7 6 5 | 5
2 3 4 0\n1 5 7 8\n9 6 10 12\n13 14 11 15\n13 1 2 4\n5 0 3 7\n9 6 10 12\n15 8 11 14 | blank-last | 9 None
2\n2 3 4 0\n1 5 7 8\n9 6 10 12\n13 14 11 15\n13 1 2 4\n5 0 3 7\n9 6 10 12\n15 8 11 14 | blank-last | 9 None
""")


@pytest.mark.parametrize(("text", "goal", "lengths"), [*FILES, (DRAWING, "blank-last", "33")])
def test_files_of_other_programs_have_the_right_answers(tmp_path: Path, text: str, goal: str, lengths: str) -> None:
    path, text = tmp_path / "boards.txt", text.replace(r"\n", "\n")
    path.write_text(text, "utf-16", newline="\r\n")
    found = [instance.board for instance in read_instances(path)]
    assert " ".join(str(length_of(board, goal)) for board in found) == lengths
    if len(found) == 1:
        assert repr(Board(text)) == repr(found[0])


def length_of(board: Board, goal: str) -> int | None:
    if not board.is_solvable(goal):
        return None
    return HeuristicSolver(board.size, goal, "linear-conflict").solve(board).length
