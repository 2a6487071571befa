"""The sums of a search with databases. A *unit* is one pattern of a sum, looked up through one view of the board."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pdb_query.arrangement_rows import BitRows
from pdb_query.lookup import LookupTables, SumViews


class DatabaseSums(NamedTuple):
    """Sums of one database: its tables, and the views of boards through its symmetries.

    rows  returns the tables in rows, if boards of up to 16 cells are to be searched with those
    """

    tables: LookupTables
    views: SumViews
    rows: Callable[[], BitRows] | None = None

    def sums(self) -> list[tuple[int, tuple[int, ...]]]:
        """Return each sum of the search: a view, and the patterns of a partition, or one pattern if every move counts.

        Of sums with the same tiles only the first is kept: their distances are the same.
        """
        n_views, n_patterns = self.views.view_of_unit.shape
        partitions = [tuple(np.flatnonzero(is_in).tolist()) for is_in in self.views.is_in_sum]
        # Partition by partition: the best ones come first.
        sums = [(view, patterns) for patterns in partitions for view in range(n_views)]
        if self.tables.counts_every_move:
            sums = [(view, (pattern,)) for view in range(n_views) for pattern in range(n_patterns)]
        different: dict[frozenset[tuple[int, ...]], tuple[int, tuple[int, ...]]] = {}
        for view, patterns in sums:
            tiles = frozenset(self.tiles(view, pattern) for pattern in patterns)
            different.setdefault(tiles, (view, patterns))
        return list(different.values())

    def tiles(self, view: int, pattern: int) -> tuple[int, ...]:
        """Return the tiles of `pattern` in `view`, ascending. Both are indices."""
        return tuple(sorted(self.views.tiles(view, pattern)))


# Sum of a search: a database, a view of the board, and patterns.
Sum = tuple[DatabaseSums, int, tuple[int, ...]]


def sums_of(heuristics: Sequence[DatabaseSums]) -> list[Sum]:
    """Return the sums of a search in their order."""
    return [(heuristic, view, patterns) for heuristic in heuristics for view, patterns in heuristic.sums()]
