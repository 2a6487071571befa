"""Options of the commands, in the groups that --help shows, and their meaning."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from pdb_cli.databases import OpenDatabases
from pdb_cli.output import Format
from pdb_core.errors import InputError
from solver.algorithms import ALGORITHMS, IDA_STAR

if TYPE_CHECKING:
    from pdb_core.puzzle import BoardSize

FormatOption = Annotated[Format, typer.Option("--format", help="Format of the results on stdout.")]
SizeOption = Annotated[
    str | None,
    typer.Option("--size", metavar="WxH", help="Board size, such as 4x4, if boards and tables do not imply it."),
]
GoalOption = Annotated[
    str | None,
    typer.Option("--goal", metavar="GOAL", help="Goal: blank-last (the default), blank-first, snail, or a board."),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", min=1, max=1024, metavar="N", help="Threads; all cores by default.", show_default=False),
]
DatabaseOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="Table file made by pdb build. Repeat the option to use the maximum of several databases.",
    ),
]
Encoding = Literal["bits", "bytes"]
EncodingOption = Annotated[
    Encoding,
    typer.Option(
        "--encoding",
        help="bits: one bit per state, zero-aware; the heuristic is stronger and the file smaller. bytes: one byte per "
        "placement, the additive minimum; read with one lookup.",
    ),
]
Cost = Literal["additive", "every-move"]
CostOption = Annotated[
    Cost | None,
    typer.Option(
        "--cost",
        help="Moves that a distance counts. additive: moves of the pattern's tiles; patterns add up. every-move: all "
        "moves (a standard PDB); patterns combine by maximum. The partition's name sets the default.",
        show_default=False,
    ),
]
InstancesOption = Annotated[
    str | None,
    typer.Option(
        "--instances",
        metavar="SET|FILE|-",
        help="Boards of a named set, of a file, or of standard input: one per line, or CSV.",
    ),
]
BoardsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[BOARD]...", help='Boards in quotes: "1 2 3/4 5 6/7 0 8"; 0 is the blank.', show_default=False
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option("--time-limit", min=0.0, metavar="S", help="Seconds to search for one board before giving it up."),
]
MaxNodesOption = Annotated[
    int | None,
    typer.Option("--max-nodes", min=1, metavar="N", help="Nodes to generate for one board before giving it up."),
]
Load = Literal["map", "copy", "huge"]
LoadOption = Annotated[
    Load,
    typer.Option(
        "--load",
        help="map: map the tables (opens at once, memory is shared). copy: copy them to memory. huge: copy them to "
        "huge pages, which is fastest.",
    ),
]
VerifyOption = Annotated[
    bool,
    typer.Option("--verify/--no-verify", help="Compare all tables with their digests before they are used."),
]
WeightOption = Annotated[
    float | None,
    typer.Option(
        "--weight",
        metavar="W",
        help="Suboptimality bound of weighted-a-star: solutions have at most W times the optimal length (1.5).",
        show_default=False,
    ),
]
MemoryLimitOption = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="Memory for the stored nodes, such as 8G; three quarters of the free memory by default. Not for ida-star.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class BoardOptions:
    """Boards to look up."""

    title: ClassVar[str] = "Boards"
    boards: BoardsArgument = None
    instances: InstancesOption = None
    goal: GoalOption = None
    size: SizeOption = None


@dataclass(frozen=True)
class SolveBoardOptions(BoardOptions):
    """Boards to solve."""

    from_board: Annotated[
        str | None, typer.Option("--from", metavar="BOARD", help="With --to: solve from this board to another one.")
    ] = None
    to_board: Annotated[str | None, typer.Option("--to", metavar="BOARD", help="The goal of --from.")] = None
    tiles: Annotated[
        Literal["numbers", "letters"],
        typer.Option("--tiles", help="letters: the tiles are the words of --goal, and _ is the blank."),
    ] = "numbers"
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Solve every N-th board only, beginning with the I-th: the share of machine I of N.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class LoadOptions:
    """Ways to open table files."""

    title: ClassVar[str] = "Tables"
    load: LoadOption = "map"
    verify: VerifyOption = False


@dataclass(frozen=True)
class TableOptions:
    """Table files, and ways to open them."""

    title: ClassVar[str] = "Tables"
    db: DatabaseOption = None
    load: LoadOption = "map"
    verify: VerifyOption = False

    def open(self) -> OpenDatabases:
        """Return the databases, to be used as a context manager."""
        return OpenDatabases(self.db, self.load, verify=self.verify)


@dataclass(frozen=True)
class LimitOptions:
    """Threads, and limits of the search of one board."""

    title: ClassVar[str] = "Limits"
    threads: ThreadsOption = None
    time_limit: TimeLimitOption = None
    max_nodes: MaxNodesOption = None


@dataclass(frozen=True)
class IdaStarOptions:
    """Options of IDA*."""

    title: ClassVar[str] = "IDA*"
    all_solutions: Annotated[
        bool, typer.Option("--all", help="Count all optimal solutions: search the last threshold to its end.")
    ] = False
    list_solutions: Annotated[
        bool, typer.Option("--list", help="With --all: write each solution when it is found, as text or ndjson.")
    ] = False
    frontier_memory: Annotated[
        str | None,
        typer.Option(
            "--frontier-memory",
            metavar="SIZE",
            help="Search hard boards breadth first near the root, in this much memory, such as 8G.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class AlgorithmOptions:
    """Search algorithm and heuristic."""

    title: ClassVar[str] = "Algorithm"
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            metavar="NAME",
            help=f"{', '.join(ALGORITHMS)}.",
        ),
    ] = IDA_STAR
    heuristic: Annotated[
        str | None,
        typer.Option(
            "--heuristic",
            metavar="NAME",
            help="misplaced, manhattan, corner-tiles, last-move, linear-conflict, korf-taylor, walking-distance, "
            "pairs, triples, db (the tables), or the maximum of several: max(a,b). By default db with --db, else "
            "manhattan.",
            show_default=False,
        ),
    ] = None
    weight: WeightOption = None
    memory_limit: MemoryLimitOption = None
    plain: Annotated[
        bool, typer.Option("--plain", help="Textbook IDA*: do not prune duplicate moves, to compare node counts.")
    ] = False


@dataclass(frozen=True)
class AnswerOptions:
    """Output of solutions."""

    title: ClassVar[str] = "Output"
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the solutions to a file, position by position."),
    ] = None
    output: FormatOption = Format.text


@dataclass(frozen=True)
class LoggedAnswerOptions(AnswerOptions):
    """Output of solutions, and a log to continue from."""

    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            metavar="FILE",
            help="Keep solved boards and the progress of long searches in this file. The same command continues from "
            "it.",
            show_default=False,
        ),
    ] = None


def parse_optional_size(text: str | None) -> "BoardSize | None":
    """Return the board size of --size, if given. Raises `InputError`."""
    from pdb_core.puzzle import parse_size

    return None if text is None else parse_size(text)


def parse_bytes(text: str) -> int:
    """Return an amount of memory: a number of bytes, or one with the suffix K, M, G or T. Raises `InputError`."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,3})?)\s*([KMGT]?)B?\s*", text, re.ASCII | re.IGNORECASE)
    if match is None:
        raise InputError(f"memory limit {text[:40]!r} is not a number of bytes, such as 8G or 500M")
    return int(float(match[1]) * 1000 ** " KMGT".index(match[2].upper() or " "))
