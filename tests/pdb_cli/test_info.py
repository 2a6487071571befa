"""`pdb info`."""

import json

from tests.command_line import pdb
from tests.tables import table_file


def test_info_draws_the_partition_and_the_goal() -> None:
    result = pdb("info", str(table_file("663", "4x4")))
    assert result.returncode == 0
    drawing = [
        "    A C C C     1  2  3  4",
        "    A A B B     5  6  7  8",
        "    A A B B     9 10 11 12",
        "    A B B .    13 14 15  .",
    ]
    assert result.stdout.splitlines()[1:5] == drawing
    assert "maximum 28" in result.stdout


def test_info_tells_where_a_named_partition_was_published() -> None:
    path = str(table_file("663", "4x4"))
    assert "partition 663 (Felner, Korf and Hanan 2004) of a 4x4 board, goal blank-last" in pdb("info", path).stdout
    (record,) = json.loads(pdb("info", path, "--format", "json").stdout)
    assert record["partition_source"] == "Felner, Korf and Hanan 2004"
