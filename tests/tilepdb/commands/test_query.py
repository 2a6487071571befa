"""`pdb query`."""

import csv
import json

from tests.command_line import BOARD, UNSOLVABLE, pdb, records
from tests.tables import table_file


def test_formats_agree_and_an_unsolvable_board_does_not_stop_the_others(small_table: str) -> None:
    command, boards = ("query", "--db", small_table), f"{UNSOLVABLE}\n{BOARD}\n1 2 3/4 5 6/7 0 8"
    found = records(*command, code=3, stdin=boards)
    assert [(record["id"], record["solvable"]) for record in found] == [("1", False), ("2", True), ("3", True)]
    assert found[2]["h"] == 1
    as_json, as_csv = (pdb(*command, "--format", name, code=3, stdin=boards).stdout for name in ("json", "csv"))
    assert json.loads(as_json) == found
    assert [row["h"] for row in csv.DictReader(as_csv.splitlines())] == ["", *(str(at["h"]) for at in found[1:])]


def test_maximum_of_several_databases_counts() -> None:
    first, second = (str(table_file(partition, "3x3")) for partition in ("1,2,5/3,4,6/7,8", "1,2,3,4/5,6,7,8"))
    one, both = (records("query", *db, BOARD)[0] for db in (["--db", first], ["--db", first, "--db", second]))
    assert len(both["sums"]) == 2 * len(one["sums"]) == 4
    assert both["h"] == max(both["sums"]) > one["h"]
