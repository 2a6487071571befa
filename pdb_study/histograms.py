"""Histograms of the tables of a database."""

from typing import Any

from pdb_core.arguments import FilePath
from pdb_query import Database
from pdb_query.database import as_databases
from pdb_study.plots import Plotted


class Histograms(Plotted):
    """Number of entries at each distance, for each table of a database, open or as a path.

    A notebook shows a plot.
    """

    def __init__(self, database: Database | FilePath) -> None:
        (self._database,) = as_databases((database,))

    def __repr__(self) -> str:
        return f"Histograms({self._database!r})"

    def draw(self, axes: Any) -> None:
        """Draw the share of the entries of each table by distance."""
        database = self._database
        for entry in database.header.tables.values():
            share = [100 * n / entry.n_entries for n in entry.histogram]
            tiles = " ".join(map(str, entry.pattern.tiles))
            axes.plot(range(len(share)), share, marker="o", markersize=3, label=f"{{{tiles}}}  mean {entry.mean:.1f}")
        of_tiles = " of the pattern's tiles" if database.cost == "additive" else ""
        axes.set(
            xlabel=f"distance of an entry (moves{of_tiles})",
            ylabel="share of the entries (%)",
            title=f"Pattern database {database.partition.name} of the {database.size} board",
            xlim=(0, None),
            ylim=(0, None),
        )
        axes.grid(alpha=0.3)
        axes.legend(title="pattern")
