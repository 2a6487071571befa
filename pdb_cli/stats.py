"""`pdb stats`: histograms of tables and mean lower bounds over random boards."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.databases import open_file
from pdb_cli.options import FormatOption, LoadOptions
from pdb_cli.output import Format, Record, command, count, prepare, write_records
from pdb_cli.plots import PlotOption, check_plot, drawn

if TYPE_CHECKING:
    from pdb_query import Database

_COLUMNS = (
    "file",
    "partition",
    "size",
    "mean_sum",
    "mean_sum_error",
    "mean_maximum",
    "mean_maximum_error",
    "boards",
    "seed",
)
_BAR = 50


@command
def stats(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table file.")],
    boards: Annotated[int, typer.Option("--boards", min=2, max=100_000_000, help="Random boards to sample.")] = 100_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the sample.")] = 1,
    tables: LoadOptions = LoadOptions(),
    plot: PlotOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Show the histogram, mean and maximum of each table, and the mean lower bound over random boards."""
    check_plot(plot)
    prepare()
    with open_file(file, tables.load, verify=tables.verify) as database:
        record = _record(database, boards, seed)
    write_records([record], output, columns=_COLUMNS, text=_text)
    if plot is not None:
        _draw(record, plot)


def _record(database: "Database", n_boards: int, seed: int) -> dict[str, Any]:
    from pdb_query import random_board_statistics

    sample = random_board_statistics(database, n_boards=n_boards, seed=seed)
    return {
        "file": str(database.path),
        "partition": database.header.spec.partition.name,
        "cost": database.cost,
        "size": str(database.size),
        "patterns": [
            {
                "tiles": list(entry.pattern.tiles),
                "same_as": None if entry.use is None else entry.use.index,
                "entries": entry.n_entries,
                "unreached": entry.n_unreached,
                "mean": entry.mean,
                "maximum": entry.maximum,
                "histogram": list(entry.histogram),
            }
            for entry in database.header.patterns
        ],
        "boards": n_boards,
        "seed": seed,
        "mean_sum": sample.sums[0][0],
        "mean_sum_error": sample.sums[0][1],
        "mean_maximum": sample.maximum[0],
        "mean_maximum_error": sample.maximum[1],
        "sums": len(sample.sums),
    }


def _text(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        for entry in record["patterns"]:
            if entry["same_as"] is not None:
                first = record["patterns"][entry["same_as"]]["tiles"]
                yield f"pattern {','.join(map(str, entry['tiles']))}: the table of {','.join(map(str, first))}"
                continue
            yield (
                f"pattern {','.join(map(str, entry['tiles']))}: {count(entry['entries'])} entries, mean "
                f"{entry['mean']:.3f}, "
                f"maximum {entry['maximum']}"
            )
            largest = max(entry["histogram"])
            for distance, n in enumerate(entry["histogram"]):
                yield f"  {distance:>3} {count(n):>13} {'#' * round(_BAR * n / largest)}".rstrip()
            if entry["unreached"]:
                yield f"   no {count(entry['unreached']):>13} (cannot be reached)"
        yield f"over {count(record['boards'])} random boards (seed {record['seed']}):"
        is_additive = record["cost"] == "additive"
        what = "mean sum     " if is_additive else "mean largest "
        yield f"  {what} {record['mean_sum']:.3f} +- {record['mean_sum_error']:.3f}"
        if record["sums"] > 1:
            yield (
                f"  mean maximum  {record['mean_maximum']:.3f} +- {record['mean_maximum_error']:.3f} of "
                f"{record['sums']} {'sums' if is_additive else 'of them'}, by reflection"
            )


def _draw(record: Record, path: Path) -> None:
    with drawn(path) as axes:
        for entry in record["patterns"]:
            if entry["same_as"] is not None:
                continue
            tiles = ",".join(map(str, entry["tiles"]))
            share = [100 * n / entry["entries"] for n in entry["histogram"]]
            axes.plot(
                range(len(share)), share, marker="o", markersize=3, label=f"{{{tiles}}}  mean {entry['mean']:.1f}"
            )
        of_tiles = " of the pattern's tiles" if record["cost"] == "additive" else ""
        axes.set_xlabel(f"distance of an entry (moves{of_tiles})")
        axes.set_ylabel("share of the entries (%)")
        axes.set_title(f"Pattern database {record['partition']} of the {record['size']} board")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(title="pattern")
