"""Histograms of the tables of a database."""

from pdb_query import Database
from pdb_study import plots


class Histograms:
    """Number of entries at each distance, for each table of a database. A notebook shows a plot and a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def counts(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Number of entries at each distance from 0 on, by the tiles of the pattern.

        Patterns that use the table of another pattern are left out.
        """
        return {entry.pattern.tiles: tuple(entry.histogram) for entry in self._database.header.tables.values()}

    def __repr__(self) -> str:
        return f"Histograms({self._database!r})"

    def _repr_html_(self) -> str:
        counts = self.counts
        cells = [
            [str(distance), *(f"{of[distance]:,}" if distance < len(of) else "" for of in counts.values())]
            for distance in range(max(map(len, counts.values())))
        ]
        names = [f"entries of {','.join(map(str, tiles))}" for tiles in counts]
        return plots.html(lambda axes: plots.draw_histograms(self._database, axes), ["distance", *names], cells)
