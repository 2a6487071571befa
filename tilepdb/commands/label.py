"""`pdb label`: datasets of boards with exact distances and optimal moves."""

import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from pdb_core.errors import BoardError, GoalError, InputError, UnsolvableError
from tilepdb.commands.board_input import parse_shard, read_all_boards
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import (
    BoardOptions,
    FreshOption,
    RandomSeedOption,
    ShardOption,
    TableOptions,
    ThreadsOption,
    WalksOption,
    option_group,
    parse_lengths,
)
from tilepdb.commands.output import message, plural
from tilepdb.commands.progress import LabelDisplay

if TYPE_CHECKING:
    from pdb_study.labels import BoardSource


@option_group
class LabelBoardOptions(BoardOptions):
    """Boards."""

    random: Annotated[
        int | None,
        Option(min=1, help="Label N random boards: uniform ones, or ends of random walks with --walks."),
    ] = None
    walks: WalksOption = None
    seed: RandomSeedOption = None
    shard: ShardOption = None


@option_group
class DatasetOptions:
    """Dataset."""

    out: Annotated[
        Path,
        Option(
            help="File to write. Its suffix sets the format: .npz, .csv or .parquet.",
        ),
    ]
    distances_only: Annotated[
        bool,
        Option(
            "--distances-only", help="Write only distances, without optimal first moves and distances after each move."
        ),
    ] = False
    fresh: FreshOption = False


def label(
    boards: LabelBoardOptions, dataset: DatasetOptions, tables: TableOptions, threads: ThreadsOption = None
) -> None:
    """Write a dataset of boards and their exact distances.

    The dataset also has the optimal moves. It is for training and evaluation. Boards are random, or come from the
    command line, from files or from sets. All boards have one size and one goal. The same command
    continues after Ctrl-C or a crash. docs/how-to/numpy.md describes the columns.

    Examples:
      pdb label --random 1000 --size 3x3 --out labels.npz
      pdb label --random 1000 --walks 1-50 --db data/663.h5 --out walks.csv
    """
    from pdb_study.labels import write_labels
    from pdb_study.labels.formats import check_format
    from pdb_study.labels.sources import Shard

    content: Any = "distances" if dataset.distances_only else "moves"
    with ExitStack() as stack:
        opened = stack.enter_context(OpenDatabases(tables))
        source = _source(boards, opened)
        if boards.shard is not None:
            source = Shard(source, *parse_shard(boards.shard))
        # Before standard tables are built.
        check_format(dataset.out)
        databases = opened.databases_for(source.size, source.goal)
        display = stack.enter_context(LabelDisplay(dataset.out.name, source.n_boards))
        n_unsolvable = write_labels(
            dataset.out,
            source,
            databases,
            content=content,
            n_threads=threads,
            command=shlex.join(["pdb", *sys.argv[1:]]),
            fresh=dataset.fresh,
            progress=display.show_labels,
            report=display.show_threshold,
        )
    message(f"{plural(source.n_boards, 'board')} in {dataset.out}")
    if n_unsolvable:
        raise UnsolvableError(f"{plural(n_unsolvable, 'board')} cannot be solved; the distance in the file is -1")


def _source(options: LabelBoardOptions, databases: OpenDatabases) -> "BoardSource":
    """Return the boards of the options. Raises `InputError`, and what reading boards raises."""
    is_given = options.boards or options.instances
    if options.random is None:
        for option, value in (("--walks", options.walks), ("--seed", options.seed)):
            if value is not None:
                raise InputError(f"{option} is for random boards; give --random N, too, or leave out {option}")
        if not is_given:
            raise InputError("there are no boards to label; give --random N, boards, a file, or --instances")
        return _given_boards(options, databases)
    if is_given or options.n_boards:
        raise InputError("--random cannot be combined with other boards or --boards; leave those out")
    from pdb_core.board_size import BoardSize, parse_size
    from pdb_study.labels import RandomBoards, RandomWalks

    size = (databases.size or BoardSize(4, 4)) if options.size is None else parse_size(options.size)
    random = (size, databases.goal_of(size, options.goal), options.random, options.seed or 0)
    return RandomBoards(*random) if options.walks is None else RandomWalks(*random, parse_lengths(options.walks))


def _given_boards(options: LabelBoardOptions, databases: OpenDatabases) -> "BoardSource":
    """Return the boards of arguments, files and --instances."""
    from pdb_study.labels import GivenBoards

    instances = read_all_boards(options, databases)
    size, goal = instances[0].size, databases.goal_of(instances[0].size, instances[0].goal, options.goal)
    for instance in instances:
        if instance.size != size:
            raise BoardError(
                f"board {instance.id} is {instance.size}, boards before it are {size}; label each size separately"
            )
        if databases.goal_of(size, instance.goal, options.goal) != goal:
            raise GoalError(
                f"board {instance.id} has another goal than the boards before it; label each goal separately"
            )
    return GivenBoards(size, goal, [instance.board for instance in instances])
