"""Patterns and goals that the tests of the deep check share."""

from typing import Any

from pdb_build.deep_check import Proof, prove_table
from pdb_build.deep_check_kernels import UNREACHED
from pdb_build.deep_check_space import Bytes
from pdb_core.encoding import Cost, Encoding
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Board, BoardSize
from pdb_core.table_spec import TableSpec

Cells = tuple[int, ...]

SIZE_23, SIZE_32, SIZE_33, SIZE_34, SIZE_42 = (BoardSize(*s) for s in ((2, 3), (3, 2), (3, 3), (3, 4), (4, 2)))
LAST_23 = (1, 2, 3, 4, 5, 0)
FIRST_32 = (0, 1, 2, 3, 4, 5)
LAST_33 = (1, 2, 3, 4, 5, 6, 7, 8, 0)
MIDDLE_33 = (1, 2, 3, 8, 0, 4, 7, 6, 5)
MIDDLE_34 = (1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 10, 11)
MIXED_42 = (7, 3, 0, 5, 1, 6, 2, 4)

CASES = [
    (SIZE_23, LAST_23, (2, 4)),
    (SIZE_23, LAST_23, (1, 2, 5)),
    (SIZE_23, LAST_23, (1, 2, 3, 4)),
    (SIZE_23, LAST_23, (1, 2, 3, 4, 5)),
    (SIZE_32, FIRST_32, (1, 3, 4, 5)),
    (SIZE_42, MIXED_42, (2, 5, 7)),
    (SIZE_33, LAST_33, (6,)),
    (SIZE_33, LAST_33, (1, 2)),
    (SIZE_33, LAST_33, (5, 6, 8)),
    (SIZE_33, MIDDLE_33, (2, 4, 8)),
    (SIZE_34, MIDDLE_34, (1, 5)),
    (SIZE_34, MIDDLE_34, (4, 5, 11)),
]


def prove(
    size: BoardSize, goal: Board, tiles: Cells, table: Bytes, encoding: Encoding = "bytes", cost: Cost = "additive",
    **options: Any,
) -> Proof:  # fmt: skip
    return prove_table(TableSpec(size, goal, Pattern(tiles), encoding, cost), table, **options)


def changed_values(value: int) -> set[int]:
    """Wrong values for an entry: those near the right one, and those with a meaning of their own."""
    return ({(value + change) % 256 for change in (1, 2, -1, -2)} | {0, UNREACHED}) - {value}
