"""Builds of partitions given as text, such as `663`."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pdb_core.arguments import FilePath, as_path, check_functions
from pdb_core.board_size import BoardSize, SizeLike, as_size
from pdb_core.encoding import DEFAULT_ENCODING, Cost, Encoding
from pdb_core.errors import OutputError, PartitionError
from pdb_core.pattern import Partition, default_cost, parse_partition
from pdb_core.puzzle import Board, BoardLike, as_goal, goal_name

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildProgress, BuildResult
    from pdb_query import Database

# Tables without a given file go here, below the current folder.
TABLE_FOLDER = Path("data")
# Longer names of partitions do not become names of files.
_LONGEST_STEM = 80
_DEFAULT_GOAL = "blank-last"


def named_plan(
    partition: str,
    out: FilePath | None = None,
    *,
    size: SizeLike | None = None,
    goal: BoardLike = _DEFAULT_GOAL,
    encoding: Encoding = DEFAULT_ENCODING,
    cost: Cost | None = None,
    n_threads: int | None = None,
) -> "BuildPlan":
    """Return the plan of a `build`. Raises `PartitionError`, `GoalError`, `InputError`."""
    from pdb_build import plan_build

    board_size = parse_partition(partition, None, cost=cost).size if size is None else as_size(size)
    checked_goal = as_goal(goal, board_size)
    parsed = parse_partition(partition, board_size, checked_goal, cost)
    path = TABLE_FOLDER / f"{_stem(parsed, checked_goal, encoding)}.h5" if out is None else as_path(out, "out")
    return plan_build(board_size, checked_goal, parsed, path, encoding=encoding, n_threads=n_threads)


def build_plan(
    plan: "BuildPlan",
    builder: "Callable[..., BuildResult]",
    *,
    log: Callable[[str], None] | None = None,
    progress: "Callable[[BuildProgress], None] | None" = None,
) -> "BuildResult":
    """Build a plan with `builder`: `build_database`, or `build_on_cluster` with its client, and their options.

    The folder `TABLE_FOLDER` is made if it is needed. Without `progress`, a `ProgressLine` with `log` is shown. Raises
    `OutputError` if the folder cannot be made, and the errors of the builder.
    """
    from tilepdb.progress import ProgressLine, show_build

    if plan.out.parent == TABLE_FOLDER:
        try:
            TABLE_FOLDER.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make the folder of {plan.out}: {error.strerror}; choose another file") from None
    with ProgressLine(log) as line:
        return builder(plan, progress=progress or partial(show_build, line, plan), say=line.say)


def _stem(partition: Partition, goal: Board, encoding: Encoding) -> str:
    """Return the name of a partition's file, with a digest instead of many tiles, and what is not the default."""
    name = partition.name.replace("/", "_").replace(",", "-")
    if len(name) > _LONGEST_STEM or " " in name:
        name = f"{'catalogue' if partition.is_catalogue else 'partition'}-{_digest(str(partition))}"
    if partition.size != _default_size(partition):
        name += f"-{partition.size}"
    if partition.cost != default_cost(partition.name):
        name += f"-{partition.cost}"
    goal_of_name = goal_name(goal, partition.size)
    if " " in goal_of_name:
        goal_of_name = f"goal-{_digest(goal_of_name)}"
    if goal_of_name != _DEFAULT_GOAL:
        name += f"-{goal_of_name}"
    return name if encoding == DEFAULT_ENCODING else f"{name}-{encoding}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _default_size(partition: Partition) -> BoardSize | None:
    try:
        return parse_partition(partition.name, None, cost=partition.cost).size
    except PartitionError:
        return None


def build(
    partition: str,
    out: FilePath | None = None,
    *,
    size: SizeLike | None = None,
    goal: BoardLike = _DEFAULT_GOAL,
    encoding: Encoding = DEFAULT_ENCODING,
    cost: Cost | None = None,
    n_threads: int | None = None,
    force: bool = False,
    progress: "Callable[[BuildProgress], None] | None" = None,
) -> "Database":
    """Build the table file of a partition, and open it.

    Parameters
    ----------
    partition
        Such as `663`, `78`, `auto` or `1,2,5/3,4,6/7,8`, see `parse_partition`.
    out
        The table file, by default `data/PARTITION.h5` below the current folder; another size, goal, cost or encoding
        than the default is in the name, too. An existing table file is replaced.
    size
        Such as "4x4", 4 or (4, 4); needed for `auto` and for boards that are not square.
    goal
        A board or a name, see `parse_goal`.
    encoding
        "bits", or "bytes" for an array of distances.
    cost
        "additive" or "every-move": the moves that distances count. The default depends on the partition's name.
    n_threads
        The default is one for each core.
    force
        Replace files that no build has written, too.
    progress
        Called after each level of the search. By default a progress bar is shown.

    Raises
    ------
    PartitionError, GoalError, InputError, OutputError
        If the parameters describe no build, or the folder cannot be made.
    PdbError
        The errors of `build_database` and `open_database`.

    Examples
    --------
    >>> with build("8") as database:
    ...     database.probe("8 6 7/2 5 4/3 0 1").h
    31
    """
    from pdb_build import build_database
    from pdb_query import open_database

    check_functions(progress=progress)
    plan = named_plan(partition, out, size=size, goal=goal, encoding=encoding, cost=cost, n_threads=n_threads)
    build_plan(plan, partial(build_database, force=force), progress=progress)
    return open_database(plan.out)
