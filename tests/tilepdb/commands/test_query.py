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
    rows = list(csv.DictReader(as_csv.splitlines()))
    assert [row["h"] for row in rows] == ["", *(str(at["h"]) for at in found[1:])]
    assert rows[1]["values"] == "/".join(" ".join(map(str, values)) for values in found[1]["values"])


def test_maximum_of_several_databases_and_partitions_counts(small_table: str) -> None:
    catalogue = str(table_file("8+1,2,5/3,4,6/7,8", "3x3", encoding="bits"))
    (found,) = records("query", "--db", small_table, "--db", catalogue, BOARD)
    assert [name[0] for name in found["symmetries"]] == list("iriirr")  # identity and reflection
    assert [len(values) for values in found["values"]] == [3, 3, 1, 3, 1, 3]
    assert found["sums"] == [sum(values) for values in found["values"]]
    assert found["h"] == max(found["sums"]) == 31 > found["sums"][0]
    shown = pdb("query", "--db", small_table, "--db", catalogue, BOARD).stdout.splitlines()
    named = [[file, symmetry] for file, symmetry in zip(found["files"], found["symmetries"], strict=True)]
    assert [line.split()[:2] for line in shown[1:-1]] == named
