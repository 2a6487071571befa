"""`pdb info` as its users meet it."""

from tests.command_line import pdb
from tests.tables import table_file


def test_info_draws_the_partition() -> None:
    result = pdb("info", str(table_file("663", "4x4")))
    assert result.returncode == 0
    assert "    A C C C\n    A A B B\n    A A B B\n    A B B .\n" in result.stdout
    assert "maximum 28" in result.stdout
