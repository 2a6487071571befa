"""`pdb info`: description of table files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.options import FormatOption
from pdb_cli.output import Format, Record, command, count, write_records

if TYPE_CHECKING:
    from pdb_core.schema import Header

_COLUMNS = ("file", "size", "goal", "partition", "encoding", "bytes", "sha256")


@command
def info(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Table files.")],
    output: FormatOption = Format.text,
) -> None:
    """Describe table files: partition and goal drawn on the board, entries, maximum and mean of each pattern."""
    from pdb_query import read_table_header

    write_records((_record(path, read_table_header(path)) for path in files), output, columns=_COLUMNS, text=_text)


def _record(path: Path, header: "Header") -> dict[str, Any]:
    from pdb_core.pattern import partition_source

    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "size": str(header.spec.size),
        "goal": list(header.spec.goal),
        "partition": header.spec.partition.name,
        "partition_source": partition_source(header.spec.partition.name),
        "encoding": header.spec.encoding,
        "cost": header.spec.cost,
        "drawing": header.spec.partition.draw(header.spec.goal).splitlines(),
        "partitions": header.spec.partition.sums,
        "sha256": header.digest(),
        "patterns": [
            {
                "tiles": list(entry.pattern.tiles),
                "same_as": None if entry.use is None else entry.use.index,
                "symmetry": None if entry.use is None else entry.use.symmetry(header.spec.size),
                "entries": entry.n_entries,
                "unreached": entry.n_unreached,
                "maximum": entry.maximum,
                "mean": entry.mean,
                "sha256": entry.sha256,
            }
            for entry in header.patterns
        ],
    }


def _text(records: Iterable[Record]) -> Iterator[str]:
    from pdb_core.puzzle import draw_board, goal_name, parse_size

    for record in records:
        goal, size = tuple(record["goal"]), parse_size(record["size"])
        cost = "" if record["cost"] == "additive" else ", every move counts"
        source = f" ({record['partition_source']})" if record["partition_source"] else ""
        yield (
            f"{record['file']}: partition {record['partition']}{source} of a {size} board, "
            f"goal {goal_name(goal, size)}, {record['encoding']}{cost}"
        )
        goal_rows = draw_board(goal, size).splitlines()
        yield from (f"    {row}    {goal_row}" for row, goal_row in zip(record["drawing"], goal_rows, strict=True))
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        for letter, entry in zip(letters, record["patterns"], strict=False):
            if entry["same_as"] is not None:
                yield (
                    f"  {letter}  the table of {letters[entry['same_as']]}, by the symmetry {entry['symmetry']}"
                    f"  tiles {','.join(map(str, entry['tiles']))}"
                )
                continue
            unreached = f", {count(entry['unreached'])} unreached" if entry["unreached"] else ""
            yield (
                f"  {letter}  {count(entry['entries']):>13} entries{unreached}, mean {entry['mean']:.2f}, maximum "
                f"{entry['maximum']}"
                f"  tiles {','.join(map(str, entry['tiles']))}"
            )
        if len(record["partitions"]) > 1:
            yield "  partitions " + " ".join("".join(letters[i] for i in places) for places in record["partitions"])
        yield f"  {count(record['bytes'])} bytes, header sha256 {record['sha256']}"
