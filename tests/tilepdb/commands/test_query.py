"""`pdb query`."""

import csv
import io
import json
import re

from tests.command_line import BOARD, UNSOLVABLE, pdb, refused
from tests.tables import table_file


def test_query_prints_values_sums_and_maximum(small_table: str) -> None:
    result = pdb("query", "--db", small_table, BOARD)
    assert result.returncode == 0
    sums = re.findall(r"(\d+) = ([\d +]+)$", result.stdout, re.MULTILINE)
    assert len(sums) == 2
    for total, values in sums:
        assert int(total) == sum(map(int, values.split("+")))
    assert re.search(rf"maximum +{max(int(total) for total, _ in sums)}$", result.stdout, re.MULTILINE)


def test_catalogue_has_a_sum_for_each_partition_and_symmetry() -> None:
    result = pdb("query", "--db", str(table_file("8+1,2,5/3,4,6/7,8", "3x3", encoding="bits")), BOARD)
    assert result.returncode == 0
    rows = re.findall(r"^  (identity|reflection) +(\d+) = ([\d +]+)$", result.stdout, re.MULTILINE)
    assert [name for name, _, _ in rows] == ["identity", "identity", "reflection", "reflection"]
    assert [values.count("+") for _, _, values in rows] == [0, 2, 0, 2]
    assert all(int(total) == sum(map(int, values.split("+"))) for _, total, values in rows)


def test_formats_agree(small_table: str) -> None:
    def query(output: str) -> str:
        return pdb("query", "--db", small_table, BOARD, "1 2 3/4 5 6/7 0 8", "--format", output).stdout

    records = json.loads(query("json"))
    assert [record["h"] for record in records][1] == 1
    assert [json.loads(line) for line in query("ndjson").splitlines()] == records
    assert [int(row["h"]) for row in csv.DictReader(io.StringIO(query("csv")))] == [r["h"] for r in records]


def test_query_reads_standard_input_and_continues_after_an_unsolvable_board(small_table: str) -> None:
    result = pdb("query", "--db", small_table, "--format", "ndjson", stdin=f"{UNSOLVABLE}\n{BOARD}\n")
    assert result.returncode == 3
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record["id"], record["solvable"]) for record in records] == [("1", False), ("2", True)]


def test_instance_sets_go_by_name_and_unknown_ones_get_a_hint() -> None:
    result = pdb("query", "--db", str(table_file("663", "4x4")), "--instances", "hardest80", "--format", "csv")
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 18
    refused(pdb("query", "--db", str(table_file("663", "4x4")), "--instances", "hardest8"), 2, "did you mean hardest80")


def test_maximum_of_several_databases_counts() -> None:
    first, second = (str(table_file(partition, "3x3")) for partition in ("1,2,5/3,4,6/7,8", "1,2,3,4/5,6,7,8"))
    one, both = (
        json.loads(pdb("query", *db, BOARD, "--format", "ndjson").stdout)
        for db in (["--db", first], ["--db", first, "--db", second])
    )
    assert len(both["sums"]) == 2 * len(one["sums"]) == 4
    assert both["h"] == max(both["sums"]) >= one["h"]
    refused(pdb("query", "--db", first, "--db", str(table_file("1,2,3", "2x2")), BOARD), 4, "2x2")
