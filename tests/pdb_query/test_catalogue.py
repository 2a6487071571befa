"""Commands with a catalogue: several partitions over shared tables, in one file. Lookups: test_lookup.py; searches:
tests/solver/test_engine.py.
"""

from tests.command_line import BOARD, pdb, records
from tests.tables import table_file


def test_commands_describe_and_use_a_catalogue() -> None:
    path = str(table_file("1,2,3,4/5,6,7,8+1,2,3,4/5,6/7,8", "3x3", encoding="bits"))
    assert "  partitions AB ACD" in pdb("info", path).stdout
    assert records("info", path)[0]["partitions"] == [[0, 1], [0, 2, 3]]
    assert records("solve", "--db", path, BOARD)[0]["length"] == 31
