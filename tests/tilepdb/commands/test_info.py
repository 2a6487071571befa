"""`pdb info`."""

import json

from tests.command_line import pdb
from tests.tables import table_file


def test_info_draws_the_partition_and_names_its_source() -> None:
    path = str(table_file("663", "4x4"))
    first, *lines = pdb("info", path).stdout.splitlines()
    assert " partition 663 (Felner, Korf and Hanan 2004) of a 4x4 board, goal blank-last, " in first
    assert lines[:4] == [
        "    A C C C     1  2  3  4",
        "    A A B B     5  6  7  8",
        "    A A B B     9 10 11 12",
        "    A B B .    13 14 15  .",
    ]
    assert "maximum 28" in lines[4]
    (record,) = json.loads(pdb("info", path, "--format", "json").stdout)
    assert record["partition_source"] == "Felner, Korf and Hanan 2004"
