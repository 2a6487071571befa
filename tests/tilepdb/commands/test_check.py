"""`pdb check`, and moves as directions in the output of the other commands."""

import csv
from io import StringIO

import pytest

from pdb_core.puzzle import format_board
from tests.command_line import BOARD, pdb, records, refused, start
from tests.solving import hard_board
from tests.tables import table_file

NEAR = "1 2 3/4 0 6/7 5 8"
SHEET = '"1 2 3\r\n4 0 6\r\n7 5 8"'
# A column of ids, then the board, the moves, a length, and the verdict.
ROWS = (
    ("optimal", NEAR, "5 8", "", "optimal"),
    ("long", NEAR, "5 5 5 8", "", "too long"),
    ("illegal", NEAR, "5 9", "", "illegal"),
    ("elsewhere", NEAR, "5", "", "goal not reached"),
    ("word", NEAR, "north", "", "invalid"),
    ("nothing", NEAR, "", "", "goal not reached"),
    ("unsolvable", "1 2 3/4 5 6/8 7 0", "8", "", "invalid"),
    ("wrong length", BOARD, "", "29", "too short"),
    ("length", BOARD, "", "33", "too long"),
    ("right length", BOARD, "", "31", "optimal"),
)


def test_file_of_solutions_is_checked(small_table: str) -> None:
    rows = [("id", "board", "moves", "published_length"), *(row[:4] for row in ROWS)]
    rows[2:2] = [("short",), ("not a board", "1 2 3/4 0 6/7 5 9", "5 8", "")]
    file = "".join(f"{','.join(row)}\n" for row in rows)
    command = ("check", "--db", small_table)
    found = records(*command, code=1, stdin=file)
    verdicts = [(row[0], row[-1]) for row in ROWS]
    verdicts[1:1] = [("2", "invalid"), ("not a board", "invalid")]
    assert [(record["id"], record["verdict"]) for record in found] == verdicts
    assert [record["problem"] is None for record in found] == [verdict != "invalid" for _, verdict in verdicts]
    long, illegal, length = found[3], found[4], found[10]
    assert (long["difference"], long["first_suboptimal_move"], long["first_illegal_move"]) == (2, 2, None)
    assert (illegal["optimal_length"], illegal["difference"], illegal["first_illegal_move"]) == (2, None, 2)
    assert (length["length"], length["optimal_length"], length["first_suboptimal_move"]) == (33, 31, None)
    text, as_csv = (pdb(*command, "--format", name, code=1, stdin=file) for name in ("text", "csv"))
    assert [row["verdict"] for row in csv.DictReader(as_csv.stdout.splitlines())] == [
        verdict for _, verdict in verdicts
    ]
    assert "long: too long, length 4, optimal length 2, difference 2, first suboptimal move 2\n" in text.stdout
    assert "board word: moves 'north'" in text.stderr
    assert "line 3 has 1 fields where" in text.stderr
    assert "12 solutions: 2 optimal, 4 invalid, 2 too long, 1 illegal, 2 goal not reached, 1 too short" in text.stderr


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_of_spreadsheets_is_checked_and_keeps_its_columns(small_table: str, separator: str) -> None:
    rows = (
        ('"My\r\nName"', "Board", "moves"),
        ("Ann",),
        ("Bob", SHEET, '"5\r\n\r\n8"'),
        ("Cy", NEAR, ""),
        ("", "", ""),
    )
    file = "\ufeff" + "".join(f"{separator.join(row)}\r\n" for row in rows)
    result = pdb("check", "--db", small_table, "--format", "csv", code=1, stdin=f"{file}Di\r\n")
    found = csv.DictReader(StringIO(result.stdout))
    assert [(row["My\nName"], row["verdict"]) for row in found] == [
        ("", "invalid"), ("Bob", "optimal"), ("Cy", "goal not reached"), ("", "invalid")
    ]  # fmt: skip
    assert "standard input line 11 has 1 fields where the header has 3" in result.stderr


def test_invalid_row_is_told_before_the_next_row_comes(small_table: str) -> None:
    with start("check", "--db", small_table) as process:
        process.stdin.write("board,moves\n1 2 3,5\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        assert process.stdout.readline() == "1: invalid\n"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "arguments",
    [
        (NEAR, "5 8"),
        ("--notation", "blank", NEAR, "Down, R"),
        ("--notation", "tile-directions", NEAR, "UL"),
        ("--goal", "blank-first", "1 0 2/3 4 5/6 7 8", "1"),
        (*NEAR.split(), "5 8"),
    ],
)
def test_board_and_moves_are_arguments(small_table: str, arguments: tuple[str, ...]) -> None:
    refused(pdb("check", "--db", small_table, *arguments), 0, "1 solution: 1 optimal")


def test_optimal_length_may_stay_unknown() -> None:
    table = str(table_file("663", "4x4"))
    file = f"board,published_length\n{format_board(hard_board())},80\n"
    refused(pdb("check", "--db", table, "--time-limit", "0", stdin=file), 5, "1 unknown")


@pytest.mark.parametrize("output", ["csv", "ndjson"])
def test_answers_are_files_of_solutions_without_the_boards_given_up(small_table: str, output: str) -> None:
    boards = f"{BOARD}\n{NEAR}\n"
    answers = pdb("search", "--heuristic", "misplaced", "--max-nodes", "9", "--format", output, code=5, stdin=boards)
    found = records("check", "--db", small_table, code=1, stdin=answers.stdout)
    assert [(record["verdict"], record["problem"]) for record in found] == [
        ("invalid", "moves are missing; write them into the column moves"), ("optimal", None)
    ]  # fmt: skip


def test_text_says_whether_the_blank_or_the_tile_moves() -> None:
    lines = {
        notation: pdb("solve", "--notation", notation, NEAR).stdout.splitlines()[1]
        for notation in ("tiles", "blank", "tile-directions")
    }
    assert lines == {"tiles": "  5 8", "blank": "  the blank moves DR", "tile-directions": "  the tile moves UL"}
    (record,) = records("solve", NEAR)
    assert (record["moves"], record["blank_directions"], record["tile_directions"]) == ([5, 8], "DR", "UL")
