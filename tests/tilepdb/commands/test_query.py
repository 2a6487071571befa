"""`pdb query`."""

import csv
import io
import json
import re

from tests.command_line import BOARD, UNSOLVABLE, pdb
from tests.tables import table_file


def test_text_has_a_sum_for_each_partition_and_symmetry_and_their_maximum() -> None:
    shown = pdb("query", "--db", str(table_file("8+1,2,5/3,4,6/7,8", "3x3", encoding="bits")), BOARD).stdout
    rows = re.findall(r"^  (identity|reflection) +(\d+) = ([\d +]+)$", shown, re.MULTILINE)
    assert [name for name, _, _ in rows] == ["identity", "identity", "reflection", "reflection"]
    assert [values.count("+") for _, _, values in rows] == [0, 2, 0, 2]
    assert all(int(total) == sum(map(int, values.split("+"))) for _, total, values in rows)
    assert re.search(rf"^  h +{max(int(total) for _, total, _ in rows)}$", shown, re.MULTILINE)


def test_formats_agree_and_an_unsolvable_board_does_not_stop_the_others(small_table: str) -> None:
    def query(output: str) -> str:
        result = pdb(
            "query", "--db", small_table, "--format", output, stdin=f"{UNSOLVABLE}\n{BOARD}\n1 2 3/4 5 6/7 0 8"
        )
        assert result.returncode == 3
        return result.stdout

    records = json.loads(query("json"))
    assert [(record["id"], record["solvable"]) for record in records] == [("1", False), ("2", True), ("3", True)]
    assert records[2]["h"] == 1
    assert [json.loads(line) for line in query("ndjson").splitlines()] == records
    assert [row["h"] for row in csv.DictReader(io.StringIO(query("csv")))][1:] == [str(r["h"]) for r in records[1:]]


def test_instance_sets_go_by_name() -> None:
    result = pdb("query", "--db", str(table_file("663", "4x4")), "--instances", "hardest80", "--format", "csv")
    assert len(result.stdout.splitlines()) == 18


def test_maximum_of_several_databases_counts() -> None:
    first, second = (str(table_file(partition, "3x3")) for partition in ("1,2,5/3,4,6/7,8", "1,2,3,4/5,6,7,8"))
    one, both = (
        json.loads(pdb("query", *db, BOARD, "--format", "ndjson").stdout)
        for db in (["--db", first], ["--db", first, "--db", second])
    )
    assert len(both["sums"]) == 2 * len(one["sums"]) == 4
    assert both["h"] == max(both["sums"]) > one["h"]
