"""Results of lookups."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_core.messages import ShortRepr


@dataclass(frozen=True)
class Probe:
    """Distances and lower bounds of one board, in moves.

    Attributes
    ----------
    values
        For each symmetry, in the order of `Database.mappings`, the distance of each pattern.
    sums
        For each symmetry, the sum over the patterns of each partition, in one flat tuple; if every move counts, the
        largest distance instead of the sum.
    h
        The largest sum: the lower bound on the length of a solution.
    """

    values: tuple[tuple[int, ...], ...]
    sums: tuple[int, ...]
    h: int


@dataclass(frozen=True, repr=False)
class BatchProbe(ShortRepr):
    """Distances and lower bounds of m boards, in moves.

    Attributes
    ----------
    values
        uint8[m, s, p]: the distance of each of the p patterns in each of the s symmetries of `Database.mappings`.
    sums
        int16[m, s * q]: the sums of the q partitions in the first symmetry, then in the others; if every move counts,
        the largest distances instead of the sums.
    h
        int16[m]: the largest sum, the lower bound on the length of a solution; -1 if the board cannot be solved, -2 if
        the row is not a board: then the other values are meaningless.
    """

    values: npt.NDArray[np.uint8]
    sums: npt.NDArray[np.int16]
    h: npt.NDArray[np.int16]
