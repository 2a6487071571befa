"""Commands with a catalogue: several partitions over shared tables, in one file. Lookups: test_lookup.py; searches:
tests/solver/test_engine.py.
"""

import json

from tests.command_line import BOARD, pdb, refused
from tests.tables import table_file


def test_commands_describe_and_use_a_catalogue() -> None:
    path = str(table_file("1,2,3,4/5,6,7,8+1,2,3,4/5,6/7,8", "3x3", encoding="bits"))
    assert "  partitions AB ACD" in pdb("info", path).stdout
    assert json.loads(pdb("info", path, "--format", "json").stdout)[0]["partitions"] == [[0, 1], [0, 2, 3]]
    assert json.loads(pdb("solve", "--db", path, BOARD, "--format", "ndjson").stdout)["length"] == 31
    refused(pdb("build", "8+1,2/3,4,5,6,7,8", "--encoding", "bytes"), 2, "catalogue .*built in bits")
