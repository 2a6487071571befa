"""`pdb check`: files of solutions."""

import csv
from io import StringIO

import pytest

from tests.command_line import BOARD, pdb, records, start

NEAR = "1 2 3/4 0 6/7 5 8"
SHEET = '"1 2 3\r\n4 0 6\r\n7 5 8"'


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_of_spreadsheets_is_checked_and_keeps_its_columns(small_table: str, separator: str) -> None:
    rows = (
        ('"My Name"', "Board", "moves"),
        ("Ann",),
        ("Bob", SHEET, '"5\r\n\r\n8"'),
        ("Cy", NEAR, ""),
        ("", "", ""),
    )
    file = "\ufeff" + "".join(f"{separator.join(row)}\r\n" for row in rows)
    result = pdb("check", "--db", small_table, "--format", "csv", code=1, stdin=f"{file}Di\r\n")
    found = csv.DictReader(StringIO(result.stdout))
    assert [(row["My Name"], row["verdict"]) for row in found] == [
        ("", "invalid"), ("Bob", "optimal"), ("Cy", "goal not reached"), ("", "invalid")
    ]  # fmt: skip
    assert "standard input line 10 has 1 fields where the header has 3" in result.stderr


def test_invalid_row_is_told_before_the_next_row_comes(small_table: str) -> None:
    with start("check", "--db", small_table) as process:
        process.stdin.write("board,moves\n1 2 3,5\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        assert process.stdout.readline() == "1: invalid\n"  # type: ignore[union-attr]


@pytest.mark.parametrize("output", ["csv", "ndjson"])
def test_answers_are_files_of_solutions_without_the_boards_given_up(small_table: str, output: str) -> None:
    boards = f"{BOARD}\n{NEAR}\n"
    answers = pdb("search", "--heuristic", "misplaced", "--max-nodes", "9", "--format", output, code=5, stdin=boards)
    found = records("check", "--db", small_table, code=1, stdin=answers.stdout)
    assert [(record["verdict"], record["problem"]) for record in found] == [
        ("invalid", "moves are missing; write them into the column moves"), ("optimal", None)
    ]  # fmt: skip
