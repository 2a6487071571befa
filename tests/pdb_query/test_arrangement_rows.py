"""Tables with a row for each arrangement hold the bits of the file."""

import math

import numpy as np
import pytest

from pdb_core.encoding import block_bytes
from pdb_core.errors import MemoryLimitError
from pdb_query import open_database
from solver.solve import Solver
from tests import rows
from tests.tables import table_file

# Tables | size. 4,7 uses the table of 2,3; on 2x5 there are more blocks than one group.
TABLES = """
1,2,3/4,5 | 2x3
1,2,3,4,5,6,7,8 | 3x3
1,2,3,4/5,6,7,8,9 | 2x5
2,3/4,7/1,5/6,8 | 3x3
"""


@pytest.mark.tiny
@pytest.mark.parametrize(("partition", "size"), rows(TABLES))
def test_rows_of_arrangements_hold_the_bits_of_the_file(partition: str, size: str) -> None:
    with open_database(table_file(partition, size, encoding="bits"), load="huge") as database:
        found = database.arrangement_rows()
        assert database.arrangement_rows().memory() is found.memory()
        bits = np.unpackbits(found.memory(), bitorder="little")
        for p, pattern in enumerate(database.partition.patterns):
            n_ranks = math.factorial(pattern.n_tiles)
            table = database.table(p).reshape(-1, block_bytes(pattern.n_tiles))
            expected = np.unpackbits(table, axis=1, bitorder="little")[:, :n_ranks]
            at = found.first_bits[p] + found.row_bits[p] * np.arange(n_ranks) + np.arange(len(table))[:, None]
            np.testing.assert_array_equal(bits[at], expected)


def test_copy_that_does_not_fit_names_the_load_mode_map(monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(table_file("1,2,3,4,5,6,7,8", "3x3", encoding="bits"), load="huge")
    # The copy takes 2.5 MB, the arrays of a solver less.
    monkeypatch.setattr("pdb_query.private_memory.available_memory", lambda: 2_000_000)
    with database, pytest.raises(MemoryLimitError, match="use the load mode map"):
        Solver(database).solve("8 6 7/2 5 4/3 0 1")
