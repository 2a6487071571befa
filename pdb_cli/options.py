"""Options that several commands share, and what they mean."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from pdb_cli.output import Format
from pdb_core.errors import InputError

if TYPE_CHECKING:
    from pdb_core.cost import Cost
    from pdb_core.encoding import Encoding
    from pdb_core.puzzle import BoardSize
    from pdb_query import Instance

FormatOption = Annotated[Format, typer.Option("--format", help="How results are written to stdout.")]
SizeOption = Annotated[
    str | None,
    typer.Option("--size", metavar="WxH", help="Board size, such as 4x4, where it cannot be told otherwise."),
]
GoalOption = Annotated[
    str | None,
    typer.Option("--goal", help="blank-last (the default), blank-first, snail, or a board written out."),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, max=1024, help="Threads; all cores by default.", show_default=False)
]
DatabaseOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--db", metavar="FILE", help="A table file made by pdb build; several: the largest of their sums counts."
    ),
]
EncodingOption = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="bits|bytes",
        help="A bit for each state, blank-aware: stronger and smaller; or a byte for each placement, the additive "
        "minimum: read with one lookup.",
    ),
]
CostOption = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="additive|every-move",
        help="Which moves a distance counts: those of the pattern's tiles, so that patterns add up; or every move, the "
        "blank's among other tiles too, so that the largest counts. Additive, unless the name says otherwise.",
        show_default=False,
    ),
]
InstancesOption = Annotated[
    str | None,
    typer.Option(
        "--instances",
        metavar="SET|FILE|-",
        help="Boards of a named set, of a file, or of standard input (one a line, or CSV).",
    ),
]
BoardsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[BOARD]...", help='Boards, each in quotes: "1 2 3/4 5 6/7 0 8", 0 for the blank.', show_default=False
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        min=0.0,
        metavar="S",
        help="Give a board up after so many seconds; with --any, improve it so long.",
    ),
]
MaxNodesOption = Annotated[
    int | None,
    typer.Option("--max-nodes", min=1, metavar="N", help="Give a board up after so many generated nodes."),
]
LoadOption = Annotated[
    str,
    typer.Option(
        "--load",
        metavar="map|copy|huge",
        help="Map the tables (shared, opens at once), copy them to memory, or to memory of huge pages (fastest).",
    ),
]
VerifyOption = Annotated[
    bool,
    typer.Option(
        "--verify/--no-verify",
        help="Compare the tables with their digests before they are used; this reads all of them.",
    ),
]


def parse_optional_size(text: str | None) -> "BoardSize | None":
    """The board size given with --size, if any. Raises `InputError`."""
    from pdb_core.puzzle import parse_size

    return None if text is None else parse_size(text)


def size_hint(db: "list[Path] | None", size: str | None) -> "BoardSize | None":
    """The size of boards that do not tell theirs: that of --size, else that of the tables. Raises `TableFileError`."""
    given = parse_optional_size(size)
    if given is not None or not db:
        return given
    from pdb_query import read_table_header

    # Squares tell their size themselves, and a board of another size then gets a better message.
    tables = read_table_header(db[0]).size
    return None if tables.width == tables.height else tables


def boards_asked_for(
    boards: list[str] | None, instances: str | None, size: "BoardSize | None", *, stdin: TextIO | None = None
) -> "Iterator[Instance]":
    """The boards of the command line, then those of the instance set. Raises `BoardError`, `InstanceError`."""
    from pdb_core.puzzle import parse_board
    from pdb_query import Instance, read_instances

    texts = boards or []
    if len(texts) > 1 and all(text.isdigit() for text in texts):
        texts = [" ".join(texts)]  # a board typed without quotes
    parsed = [parse_board(text, size) for text in texts]
    for number, (board, board_size) in enumerate(parsed, start=1):
        yield Instance(str(number), board, board_size, None, None)
    if instances is not None:
        yield from read_instances(instances, size, stdin=stdin)


def parse_encoding(encoding: str) -> "Encoding":
    """The encoding of that name. Raises a usage error."""
    if encoding == "bits":
        return "bits"
    if encoding == "bytes":
        return "bytes"
    raise typer.BadParameter(f"{encoding!r} is neither bits nor bytes", param_hint="--encoding")


def parse_cost(cost: str | None) -> "Cost | None":
    """The cost of that name, if any. Raises a usage error."""
    if cost is None:
        return None
    if cost == "additive":
        return "additive"
    if cost == "every-move":
        return "every-move"
    raise typer.BadParameter(f"{cost!r} is neither additive nor every-move", param_hint="--cost")


def check_load(load: str) -> None:
    """Raise a usage error where --load is no way to load tables."""
    if load not in ("map", "copy", "huge"):
        raise typer.BadParameter(f"{load!r} is not map, copy or huge", param_hint="--load")


def parse_bytes(text: str) -> int:
    """Read an amount of memory: a number of bytes, or with K, M, G or T after it. Raises `InputError`."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,3})?)\s*([KMGT]?)B?\s*", text, re.ASCII | re.IGNORECASE)
    if match is None:
        raise InputError(f"memory limit {text[:40]!r} is not a number of bytes, such as 8G or 500M")
    return int(float(match[1]) * 1000 ** " KMGT".index(match[2].upper() or " "))
