"""Options of the commands, in groups that are passed on as they are."""

import contextlib
import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, dataclass_transform

from typer import Argument, Option

from pdb_core.errors import InputError
from pdb_core.messages import as_typed, how_to_install
from solver.algorithms import ALGORITHMS, HEURISTICS, IDA_STAR
from tilepdb.commands.output import message, plural

if TYPE_CHECKING:
    from distributed import Client

# Of `parse_lengths`.
_MOST_LENGTHS = 100_000
Group = TypeVar("Group")

FormatOption = Annotated[
    Literal["text", "json", "ndjson", "csv"], Option("--format", help="Format of the results on stdout.")
]
NotationOption = Annotated[
    Literal["tiles", "blank", "tile-directions"],
    Option(
        "--notation",
        help="How moves are written. tiles: the number of each tile that moves. blank: the directions in which the "
        "blank moves, U, D, L and R. tile-directions: the directions in which the tiles move, which are the opposite.",
    ),
]
_NOTATIONS_HELP = (
    "How moves are written. tiles: numbers of tiles. blank, tile-directions: directions, U, D, L, R. deepcubea, gym: "
    "actions from 0 to 3, in the order up, down, left, right of the tile, or up, left, right, down of the blank."
)
GivenNotationOption = Annotated[
    Literal["tiles", "blank", "tile-directions", "deepcubea", "gym"], Option("--notation", help=_NOTATIONS_HELP)
]
CheckedNotationOption = Annotated[
    Literal["tiles", "blank", "tile-directions", "deepcubea", "gym", "any"],
    Option(
        "--notation",
        help=f"{_NOTATIONS_HELP} any: tiles, or the directions that reach the goal.",
    ),
]
BoardSizeOption = Annotated[str, Option(metavar="WxH", help="Board size, width x height, such as 5x3.")]
SizeOption = Annotated[
    str | None,
    Option(
        metavar="WxH",
        help="Board size, width x height, such as 4x4; needed only if the boards, the tables or the partition do not "
        "imply it.",
    ),
]
GoalOption = Annotated[
    str,
    Option(
        metavar="GOAL",
        help="Goal: blank-last, blank-first, snail, or a board.",
    ),
]
# Of commands that read boards.
BoardGoalOption = Annotated[
    str | None,
    Option(
        metavar="GOAL",
        help="Goal of boards that have none in their file: blank-last, blank-first, snail, or a board. The default is "
        "the goal of --db, else blank-last.",
    ),
]
SizeArgument = Annotated[str, Argument(metavar="WxH", help="Board size, such as 3x4: 3 wide, 4 high.")]
FreshOption = Annotated[bool, Option("--fresh", help="Remove FILE.partial, and start from the beginning.")]
PlainOption = Annotated[
    bool,
    Option(
        "--plain",
        help="Textbook IDA*: do not prune operator sequences that lead to duplicates. For comparisons of node counts.",
    ),
]
SeedOption = Annotated[int, Option(min=0, help="Seed of the random boards.")]
# Of commands whose boards may be given instead.
RandomSeedOption = Annotated[int | None, Option(min=0, help="Seed of the random boards. The default is 0.")]
WalksOption = Annotated[
    str | None,
    Option(
        metavar="LENGTHS",
        help="Lengths of random walks from the goal, used in turn: 10,20,50 or 1-100. A walk never undoes its last "
        "move.",
    ),
]
ThreadsOption = Annotated[
    int | None,
    Option(min=1, max=1024, help="Number of threads. The default is all cores, for study compare one."),
]
EncodingOption = Annotated[
    Literal["bits", "bytes"],
    Option(
        help="bits: one bit per state, and the table also records the blank's region (zero-aware); the heuristic is "
        "stronger and the file is smaller. bytes: one byte per placement of the pattern's tiles."
    ),
]
ShardOption = Annotated[
    str | None,
    Option(
        metavar="I/N",
        help="Take only the share of machine I of N machines: every N-th board, beginning with the I-th.",
    ),
]
InstancesOption = Annotated[
    str | None,
    Option(
        metavar="SET|FILE|-",
        help="Boards of a named set, of a file, or of standard input (-).",
    ),
]
LoadOption = Annotated[
    Literal["map", "copy", "huge"],
    Option(
        help="map: map the file into memory (opens at once; processes share the memory). copy: copy the tables to "
        "memory. huge: copy them to huge pages, for the fastest lookups and searches; up to 4x4 the memory of two "
        "copies."
    ),
]
VerifyOption = Annotated[bool, Option(help="Compare all tables with their digests first, to find damage.")]
WeightOption = Annotated[
    float | None,
    Option(
        metavar="W",
        help="Suboptimality bound of weighted-a-star: solutions have at most W times the optimal length. The default "
        "is 1.5.",
    ),
]
PlotOption = Annotated[
    Path | None,
    Option(help="Also draw the result. The suffix sets the format: .svg, .png or .pdf."),
]
MemoryLimitOption = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Memory for the stored nodes, such as 8G; three quarters of the free memory by default. Not for ida-star.",
    ),
]
AllSolutionsOption = Annotated[
    bool, Option("--all", help="Count all optimal solutions. This searches the last threshold completely.")
]
TimeLimitOption = Annotated[
    float | None,
    Option(min=0.0, help="Time limit of the search for each board, in seconds. The default is none."),
]


def file_or_board(argument: str) -> Path | str:
    """Return an argument that names a file as its path, and one that is a board as it is."""
    # pathlib raises for a name that no file can have, such as one that is too long.
    is_there = os.path.exists(argument) and not os.path.isdir(argument)  # noqa: PTH110, PTH112
    # A word with a letter and a short ending, such as boards.txt; or the name of a file that is not all digits.
    names_file = (
        argument.endswith(".dat")
        or re.fullmatch(r"\S*[A-Za-z]\S*\.\w{1,7}", argument[-300:])
        or (is_there and not re.fullmatch(r"[\d\s,/]*", argument))
    )
    return Path(argument) if names_file else argument


@dataclass_transform(frozen_default=True)
def option_group(group: type[Group]) -> type[Group]:
    """Return a class as a frozen dataclass, quickly, because `pdb --help` makes all groups."""
    return dataclass(frozen=True, eq=False, repr=False)(group)


@option_group
class BoardOptions:
    """Boards."""

    boards: Annotated[
        list[Any] | None,
        Argument(
            metavar="BOARD",
            help='Boards, each in quotes, such as "1 2 3/4 5 6/7 0 8", or files of boards. 0 is the blank.',
            parser=file_or_board,
        ),
    ] = None
    instances: InstancesOption = None
    n_boards: Annotated[
        int | None,
        Option("--boards", min=1, help="Take only the first N boards. The default is all."),
    ] = None
    goal: BoardGoalOption = None
    size: SizeOption = None


@option_group
class SolveBoardOptions(BoardOptions):
    """Boards."""

    tiles: Annotated[
        Literal["numbers", "letters"],
        Option(
            help="numbers: tiles are 1, 2, 3, ..., and 0 is the blank. letters: tiles are the words of --goal, and _ "
            "is the blank."
        ),
    ] = "numbers"
    shard: ShardOption = None


@option_group
class TableOptions:
    """Tables."""

    db: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="Table file, made by pdb build. Repeat the option for several: searches use their maximum, and pdb "
            "serve serves each.",
        ),
    ] = None
    load: LoadOption = "map"
    verify: VerifyOption = False


@option_group
class LimitOptions:
    """Limits."""

    threads: ThreadsOption = None
    time_limit: TimeLimitOption = None
    max_nodes: Annotated[
        int | None,
        Option(min=1, help="Limit of generated nodes for each board. The default is none."),
    ] = None


@option_group
class AlgorithmOptions:
    """Algorithm."""

    algorithm: Annotated[
        str,
        Option(metavar="NAME", help=f"Search algorithm: {', '.join(ALGORITHMS)}."),
    ] = IDA_STAR
    heuristic: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help=f"Heuristic: {', '.join(HEURISTICS)}, db (the tables of --db), or the maximum of several, "
            "such as max(linear-conflict,last-move). The default is db with --db, else manhattan.",
        ),
    ] = None
    weight: WeightOption = None
    memory_limit: MemoryLimitOption = None
    plain: PlainOption = False


@option_group
class AnswerOptions:
    """Output."""

    out: Annotated[
        Path | None,
        Option(
            help="Write each solution to this file, with every position on its path. Nothing is then printed as text.",
        ),
    ] = None
    output: FormatOption = "text"
    notation: NotationOption = "tiles"


@option_group
class LoggedAnswerOptions(AnswerOptions):
    """Output."""

    log: Annotated[
        Path | None,
        Option(
            help="Keep solved boards and the progress of long searches in this file. The same command continues from "
            "there.",
        ),
    ] = None


@option_group
class ClusterOptions:
    """Cluster."""

    scheduler: Annotated[
        str | None,
        Option(
            metavar="ADDRESS", help="Address of the scheduler of a Dask cluster to work on, such as tcp://host:8786."
        ),
    ] = None

    def check(self, threads: int | None) -> None:
        """Raise `InputError` if a cluster is given, and `distributed` is missing or threads are given, too."""
        if self.scheduler is None:
            return
        if importlib.util.find_spec("distributed") is None:
            raise InputError(f"distributed is not installed; {how_to_install('dask')}")
        if threads is not None:
            raise InputError(
                "--threads is for this machine, not for the workers of a cluster; set it by dask worker --nthreads"
            )

    @contextlib.contextmanager
    def connect(self) -> "Iterator[Client]":
        """Connect to the cluster, and report its size and dashboard on stderr. Raises as `connected`."""
        from pdb_cluster.connect import connected

        assert self.scheduler is not None
        with connected(self.scheduler, message) as client:
            n_threads = sum(client.nthreads().values())
            message(f"{plural(n_threads, 'thread')} on {self.scheduler}; dashboard {client.dashboard_link}")
            yield client


@option_group
class SolveClusterOptions(ClusterOptions):
    """Cluster."""

    worker_db: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Folder of the --db files on the workers of --scheduler. The default is the same path as on this "
            "machine.",
        ),
    ] = None


def parse_bytes(text: str) -> int:
    """Return an amount of memory: a number of bytes, or one with the suffix K, M, G or T. Raises `InputError`."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,3})?)\s*([KMGT]?)B?\s*", text, re.ASCII | re.IGNORECASE)
    if match is None:
        raise InputError(f"memory limit {text[:40]!r} is not a number of bytes; give one such as 8G or 500M")
    return int(float(match[1]) * 1000 ** " KMGT".index(match[2].upper() or " "))


def parse_lengths(text: str) -> tuple[int, ...]:
    """Return lengths: numbers and ranges, separated by commas. Raises `InputError`.

    >>> parse_lengths("1-3,10")
    (1, 2, 3, 10)
    """
    lengths: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,7})(?:-([0-9]{1,7}))?\s*", part)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else ()
        if not numbers or len(lengths) + len(numbers) > _MOST_LENGTHS:
            raise InputError(
                f"lengths {as_typed(text, 40)!r} are not valid; give at most {_MOST_LENGTHS:,}, such as "
                "10,20,50 or 1-100"
            )
        lengths += numbers
    return tuple(lengths)
