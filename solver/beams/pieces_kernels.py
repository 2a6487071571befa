"""Kernels of boards of *pieces*: the number of a piece is its goal cell."""

from typing import NamedTuple

from pdb_core.jit import kernel
from pdb_core.types import Int32s


class Geometry(NamedTuple):
    """Cells of a board size.

    rows, columns  int32[n]     of each cell
    neighbours     int32[n, 4]  the cells above, left, right and below each cell, else -1
    """

    rows: Int32s
    columns: Int32s
    neighbours: Int32s


@kernel
def distance(geometry: Geometry, one: int, two: int) -> int:
    """Return the Manhattan distance of two cells."""
    rows, columns = geometry.rows, geometry.columns
    return int(abs(rows[one] - rows[two]) + abs(columns[one] - columns[two]))
