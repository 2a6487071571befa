"""The ids of databases, and the database that serves a board."""

from typing import Any

import pytest

from pdb_core.errors import BoardError, GoalError, UnknownDatabaseError
from pdb_core.puzzle import blank_last, parse_goal, parse_size
from pdb_query import Database, open_database
from pdb_service.answers import LookupAnswer
from pdb_service.served_databases import ServedDatabases
from tests.tables import table_file

pytestmark = pytest.mark.tiny
S3 = parse_size("3x3")
# No symmetry moves its blank to a corner.
MIDDLE = "1 2 3/4 0 5/6 7 8"


def test_databases_with_equal_names_are_numbered(database: Database) -> None:
    served = ServedDatabases([database, database, database])
    stem = database.path.stem
    assert [name for name, _ in served] == [stem, f"{stem}-2", f"{stem}-3"]
    assert served.choose(None, None, f"{stem}-2").id == f"{stem}-2"


def test_board_is_placed_by_its_length_or_its_rows(database: Database) -> None:
    served = ServedDatabases([database])
    board = blank_last(S3)
    for given_board in (list(board), "1 2 3 4 5 6 7 8 0", "1 2 3/4 5 6/7 8 0"):
        assert served.place(given_board, None, None)[0] == board
    assert served.place(list(board), "blank-last", None)[1].goal == board


@pytest.mark.parametrize(
    ("board", "goal", "name", "error"),
    [
        ([1, 2, 3, 0], None, None, UnknownDatabaseError),
        ([0] * 9, None, None, BoardError),
        ([], None, None, BoardError),
        ([0, 1, 2, 3, 4], None, None, BoardError),
        ("", None, None, BoardError),
        ("1 2 3/4 5 6/7 8 0", "nowhere", None, GoalError),
        ("1 2 3/4 5 6/7 8 0", None, "../x", UnknownDatabaseError),
    ],
)
def test_unserved_board_is_refused(
    database: Database, board: Any, goal: str | None, name: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ServedDatabases([database]).place(board, goal, name)


def test_unserved_goal_is_refused_with_the_reason(database: Database) -> None:
    with pytest.raises(GoalError, match="pdb build"):
        ServedDatabases([database]).choose(S3, MIDDLE, None)


@pytest.mark.parametrize(("made_for", "expected"), [("blank-first", "blank-last"), (MIDDLE, MIDDLE)])
def test_default_goal_is_blank_last_if_served(made_for: str, expected: str) -> None:
    with open_database(table_file("1,2,3/4,5,6/7,8", "3x3", made_for)) as database:
        assert ServedDatabases([database]).default_goal(database) == parse_goal(expected, S3)


def test_lookup_in_a_catalogue_has_a_sum_for_each_symmetry_and_partition() -> None:
    with open_database(table_file("8+1,2,5/3,4,6/7,8", "3x3", encoding="bits")) as catalogue:
        board, served = ServedDatabases([catalogue]).place("8 6 7/2 5 4/3 0 1", None, None)
        sums = LookupAnswer.of(board, served).sums
        assert tuple(at.h for at in sums) == catalogue.probe(board).sums
    assert [len(at.values) for at in sums] == [1, 3, 1, 3]
    assert all(sum(at.values) == at.h for at in sums)
    assert [tuple(map(len, at.patterns)) for at in sums] == [(8,), (3, 3, 2)] * 2
