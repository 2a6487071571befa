"""Instance sets: the published boards, the forms of files, and invalid files."""

import io
from pathlib import Path

import pytest

from pdb_core import errors
from pdb_core.board_size import BoardSize, parse_size
from pdb_core.errors import BoardError, InstanceError
from pdb_core.puzzle import Board, is_solvable, parse_goal
from pdb_query import Instance, read_instances
from tests import rows

pytestmark = pytest.mark.tiny


def read_text(text: str, size: BoardSize | None = None) -> list[Instance]:
    return list(read_instances("-", size, stdin=io.BytesIO(text.encode())))


# Set | number of boards | least and most optimal, or published, length.
SETS = """
hardest80 | 17 | 80 | 80
korf100 | 100 | 41 | 66
korf50-24puzzle | 50 | 75 | 114
classic | 13 | 31 | 70
random400-24puzzle | 400 | 74 | 123
worst-for-78 | 10 | 70 | 78
turned-24puzzle | 1 | 156 | 156
random1000 | 1000 | 34 | 67
deepcubea-15puzzle | 500 | 36 | 69
deepcubea-24puzzle | 496 | 64 | 110
deepcubea-35puzzle | 100 | 96 | 152
deepcubea-48puzzle | 100 | 164 | 321
"""


@pytest.mark.parametrize(("name", "n", "least", "most"), rows(SETS))
def test_sets_hold_the_published_boards(name: str, n: str, least: str, most: str) -> None:
    instances = list(read_instances(name))
    assert len(instances) == len({instance.id for instance in instances}) == int(n)
    assert all(is_solvable(each.board, parse_goal(each.goal, each.size), each.size) for each in instances)
    # Of random400-24puzzle, not all are known.
    lengths = [each.optimal_length or each.published_length for each in instances]
    assert all(lengths) or name == "random400-24puzzle"
    known = [length for length in lengths if length]
    assert int(least) <= min(known) <= max(known) <= int(most)


def test_boards_of_korf100_are_korfs() -> None:
    first, *_, last = read_instances("korf100")
    assert first == Instance("1", Board("14 13 15 7 11 12 9 5 6 0 2 1 4 8 10 3"), "blank-first", 57)
    assert last == Instance("100", Board("11 4 0 8 6 10 5 13 12 7 14 3 1 2 9 15"), "blank-first", 54)


def test_columns_may_have_any_order_and_number() -> None:
    found = read_text('note,board,ID\nx,"1,2,3,0",a\n,1 2 0 3,\n')
    assert [(instance.id, instance.board) for instance in found] == [("a", (1, 2, 3, 0)), ("2", (1, 2, 0, 3))]


def test_longest_line_is_read_with_any_line_end(tmp_path: Path) -> None:
    path = tmp_path / "boards.txt"
    for end in ("", "\n", "\r\n"):
        path.write_text("1 2 3 0".ljust(16_000_000) + end, newline="")
        assert len(list(read_instances(path))) == 1
        path.write_text("1 2 3 0".ljust(16_000_001) + end, newline="")
        with pytest.raises(InstanceError, match="longer than 16,000,000 bytes; write each board on its own line"):
            list(read_instances(path))


def test_files_may_have_a_byte_order_mark_comments_and_other_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "boards.csv"
    path.write_bytes(b"\xef\xbb\xbf# a comment\r\n\r\nid,board\r\n# another\r\n\xc3\xa4,1 2 0 3\r\n")
    assert [(instance.id, instance.board) for instance in read_instances(path)] == [("\u00e4", (1, 2, 0, 3))]


def test_standard_input_is_read_as_it_comes() -> None:
    taken = []

    class Slow(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            taken.append(1)
            return super().readline(size)

    next(read_instances("-", stdin=Slow(b"1 2 3 4 5 6 7 8 0\n" * 5)))
    assert len(taken) == 1


# A text that is refused, with `\n` for line ends | the class of the error | a part of the message.
REFUSED = r"""
1 2 3 0\n1 2 3\n | BoardError | standard input line 2: board '1 2 3'
id,board\na\n | InstanceError | line 2 has 1 fields where the header has 2
id,board\na,"1 2\n | InstanceError | not a row of CSV
board,optimal_length\n1 2 3 0,many\n | InstanceError | optimal_length 'many' is not a number
board,goal\n1 2 3 0,\n1 2 3 0,middle\n | GoalError | standard input line 3: goal is neither one of blank-last
board,goal\n1 2 3 0,1 2 3/4 0 5\n | GoalError | line 2: goal .* is 3x2 by its rows, and a 2x2 board is
id,goal\na,b\n | InstanceError | line 1: no column of 'id,goal' is named board; name that of the boards
id;puzzle;moves\na;1 2 3/4 0 6/7 5 8;5 8\n | InstanceError | line 1: no column of 'id;puzzle;moves' is named board
id;board\na;"1 2\n3 0"\nb;1 2 3 3 | BoardError | line 4: .* 3 appears twice
8 6 7 2 5 4 3 0 1 31 | BoardError | line 1: .* not square: it has 10 numbers, .* without other numbers in its line
17 8 6 7 2 5 4 3 0 1\n18 1 2 3 4 5 6 7 8 0 | BoardError | line 1: .* must hold each number from 0 to 19 once: 8 appears
{"start": [1, 2, 3, 0], "goal": 0} | InstanceError | line 1: none of start, goal is named board; name that of the board
{"board": [1, 2, 3, 0]}\n1 2 3 0 | InstanceError | line 2 is not an object in JSON with a board, as the lines before
{"board": [1, 2, 3, 0], "size": "3x3"} | BoardError | line 1: .* has 4 numbers where a 3x3 board has 9
{"board": [1, 2, 3, 0], "goal": [1, 2, 0]} | GoalError | line 1: goal is neither
hello there\n1 2 3 0 | BoardError | line 1: board size 'hello there' is not of the form WIDTHxHEIGHT
3\n1 2 3\n4 0 5\n7 8 | BoardError | line 2: .* has rows of different lengths: \[3, 3, 2\]; write the blank as 0
33 33\n1 2 3 | BoardError | line 1: board size 33x33 is not supported
1 2 3\n4 0\n7 8 6 | BoardError | line 1: .*different lengths
\n1 2 3\n4 a 5\n7 8 6 | BoardError | line 2: .*'a' is not a number
initial_state\n123406758 | InstanceError | line 1: no column of 'initial_state' is named board; name that of the boards
1 2 3\n4 5 6\n7 9 8 | BoardError | line 1: .* 9 is out of range, missing 0; if 9 is the blank, write 0 for it
3\n1 2 3 0\n0 1 2 3 | BoardError | line 1 was read as a number of boards, 3; missing at the end: 1; correct it
0\n1 2 3\n4 5 0 | BoardError | line 1: board size 0x0 is not supported
2 2\n1 2\n3 3 | BoardError | line 1 was read as size 2x2: .* 3 appears twice, missing 0
3 2 5\n1 0 4\n5 2 3\n4 0 1\n2 2 3 | BoardError | line 4 .*line 1 was read as width, height and 5 boards\): .* 2 appears
3 3\n1 2 3\n4 0 5\n7 8 | BoardError | line 1 was read as size 3x3: 8 numbers follow, and such a board has 9
"""


@pytest.mark.parametrize(("text", "error", "match"), rows(REFUSED))
def test_bad_text_is_refused_with_the_line(text: str, error: str, match: str) -> None:
    with pytest.raises(getattr(errors, error), match=match):
        read_text(text.replace(r"\n", "\n"))


NO_BOARDS = r"""
korf10 | did you mean korf100\?
no.csv | the sets are classic
. | Is a directory
binary.dat | not text
empty.dat | holds no board
/dev/zero | line 1 is longer than 16,000,000 bytes
"""


@pytest.mark.parametrize(("source", "match"), rows(NO_BOARDS))
def test_sources_without_boards_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, match: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("binary.dat").write_bytes(b"\x80\xff\x00\x01")
    Path("empty.dat").write_text("\n# nothing\n")
    with pytest.raises(InstanceError, match=match):
        list(read_instances(source))


# A text, with `\n` for line ends | the sizes of its boards. A line with each number from 0 on once is a board, or the
# first row of a board of 4 columns.
DECLARED = r"""
1 2/3 0\n1 2 3/4 5 0\n0 1/2 3\n | 2x2 3x2 2x2
1 2\n3 4\n5 0 | 2x3
3 1\n2 0\n3 0\n1 2 | 2x2 2x2
2 3\n0 1\n4 5\n3 2\n3\n0\n1\n2\n3\n4\n5\n6\n7\n8 | 2x3 3x3
2 3\n1 2 3\n4 5 0 | 3x2
3 3\n1 2 3 / 4 0 5 / 7 8 6\n | 3x3
\n\n 3 \n\n1 2 3\n\n4 0 5\n\n7 8 6\n\n\n | 3x3
3\n3\n1 2 3\n4 0 5\n7 8 6\n2 2\n0 1\n2 3\n1 2 3 0 | 3x3 2x2 2x2
3\n3 3\n1 2 3\n4 0 5\n7 8 6\n2 2\n0 1\n2 3\n1 2 3 0 | 3x3 2x2 2x2
2\n1 2\n3 0\n3\n1 2 3\n4 0 5\n7 8 6\n2 2\n0 1\n2 3 | 2x2 3x3 2x2
1 2 3 0\n0 1 2 3\n\n1 2 3 4 5 6 7 8 0\n0 1 2 3 4 5 6 7 8 | 2x2 2x2 3x3 3x3
0 1 2 3\n4 5 6 7\n# another\n4 5 6 7\n0 1 2 3\n | 4x2 4x2
2\n1 2 3 0\n3\n1 2 3 4 0 5 7 8 6\n3\n1\n2\n3\n4\n0\n5\n7\n8\n6\n2\n1\n2\n3\n0 | 2x2 3x3 3x3 2x2
2 3\n1 2 3 4 0 5\n1 2 3 4 5 0\n1 2 3 0\n1 2\n3 4\n5 0\n0 1 2 3 4 5 | 3x2 3x2 2x2 2x3 3x2
"""


@pytest.mark.parametrize(("text", "sizes"), rows(DECLARED))
def test_size_is_declared_or_that_of_the_rows(text: str, sizes: str) -> None:
    assert " ".join(str(instance.size) for instance in read_text(text.replace(r"\n", "\n"))) == sizes


# A text with one board, with `\n` for line ends | its size.
SIZES = r"""
0 2 3 4 5 6 7 8\n1 9 10 11 12 13 14 15 | 8x2
0 1 2 3 4 5 6 7\n8 9 10 11 12 13 14 15 | 8x2
0 1 2 3\n4 5 6 7\n8 9 10 11\n12 13 14 15 | 4x4
9 10 11 12 13 14 15 16 17\n0 1 2 3 4 5 6 7 8 | 9x2
3\n0\n3\n8\n4\n1\n7\n2\n6\n5 | 3x3
0\n3\n8\n4\n1\n7\n2\n6\n5\n | 3x3
2 3\n0\n3\n4\n1\n5\n2 | 3x2
# a comment\n\n1 2 3 # a row\n4 5 0\n\n | 3x2
00 12 09 13\n15 11 10 14\n03 07 02 05\n04 08 06 01 | 4x4
1 2 3/\n4 5 0 | 3x2
"""


@pytest.mark.parametrize(("text", "size"), rows(SIZES))
def test_text_has_the_same_size_in_a_file_and_in_python(tmp_path: Path, text: str, size: str) -> None:
    text = text.replace(r"\n", "\n")
    (tmp_path / "a.txt").write_text(text)
    boards = *read_instances(tmp_path / "a.txt"), *read_text(text)
    assert [repr(instance.board) for instance in boards] == [repr(Board(text))] * 2
    assert str(Board(text).size) == size


# A text, with `\n` for line ends | a size that is expected | what is wrong with it.
CONTRADICTIONS = r"""
0 2 3 4 5 6 7 8\n1 9 10 11 12 13 14 15 | 4x4 | is 8x2 by its rows, and a 4x4 board is expected
4\n0 2 3 4 5 6 7 8\n1 9 10 11 12 13 14 15 | | was read as size 4x4: .*is 8x2 by its rows, and a 4x4 board is expected
0 1 2 3\n4 5 6 7\n8 9 10 11\n12 13 14 15 | 4x2 | is 4x4 by its rows, and a 4x2 board is expected
1 2 3 4 5 6\n7 8 0 | 3x3 | has rows of different lengths: \[6, 3\] where a 3x3 board is expected
3 3\n1 2 3 4 5 6\n7 8 0 | | read as size 3x3: .*has rows of different lengths: \[6, 3\] where a 3x3 board is expected
1 2 3 4 5 6 7 0 | | not square: it has 8 numbers, .*; give it in rows, as in
1\n2\n3\n4\n5\n6\n7\n0 | | not square: it has 8 numbers
1\n2\n3\n4\n5\n6\n7\n8\n8 | | line 9 was read as a number of boards, 8; missing at the end: 44
3\n1 2 3\n4 0 5\n7 8 6\n | 4x4 | a 4x4 board is expected
4\n3\n3\n0\n1 | | line 4: board size 0x0 is not supported
"""


@pytest.mark.parametrize(("text", "size", "message"), rows(CONTRADICTIONS))
def test_text_with_two_readings_is_refused_with_both(text: str, size: str, message: str) -> None:
    text, expected = text.replace(r"\n", "\n"), parse_size(size) if size else None
    for read in (lambda: Board(text, expected), lambda: read_text(text, expected)):
        with pytest.raises(BoardError, match=message):
            read()


def test_several_boards_are_a_board_a_line_or_stacked() -> None:
    for text in ("1 2 3 4 5 6 7 0 8\n01 2 3 4 5 6 0 7 8", "1 2 3\n4 5 6\n7 0 8\n1 2 3\n4 5 6\n0 7 8"):
        assert [instance.board[-3:] for instance in read_text(text)] == [(7, 0, 8), (0, 7, 8)]
        with pytest.raises(BoardError, match="hold a 3x3 board and a 3x3 board; give the lines of one board"):
            Board(text)


def test_objects_in_json_are_boards_with_fields() -> None:
    text = (
        '[\n{"id": 7, "board": [["1", "2", ""], ["3", "4", "5"]], "goal": "snail", "moves": null},\n\n'
        '{"board": "1 2 3 0", "optimal_length": 0}, {"board": [1, null, 4, 2, 3, 5], "size": "2x3"}\n]'
    )
    found = read_text(text)
    assert [(one.id, one.board, one.size, one.goal, one.optimal_length) for one in found] == [
        ("7", (1, 2, 0, 3, 4, 5), BoardSize(3, 2), "snail", None),
        ("2", (1, 2, 3, 0), BoardSize(2, 2), None, 0),
        ("3", (1, 0, 4, 2, 3, 5), BoardSize(2, 3), None, None),
    ]
    with pytest.raises(BoardError, match="a 2x2 board is expected, this one is 3x2"):
        read_text('{"board": [1, 2, 3, 4, 5, 0], "size": "3x2"}', BoardSize(2, 2))


def test_size_of_one_row_may_be_given() -> None:
    assert read_text("1 2 3 4 5 0\n0 1 2 3 4 5\n", BoardSize(3, 2))[1].board == Board("0 1 2/3 4 5")
