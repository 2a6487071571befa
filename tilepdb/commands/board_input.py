"""Boards of a command: from its arguments, from files, from instance sets, and from standard input."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.errors import BoardError, InputError, InstanceError
from pdb_core.messages import as_typed
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import BoardOptions, SolveBoardOptions
from tilepdb.commands.output import message
from tilepdb.commands.tile_names import TileNames

if TYPE_CHECKING:
    from pdb_core.puzzle import Board
    from pdb_query import Instance
    from pdb_query.instances import InvalidRow

STDIN = "-"
# Only standard input can have none: an empty file is refused where it is read.
NO_BOARDS = "standard input has no boards; write boards to it, or name a file or a set of boards"
_HARDEST_BOARDS = "hardest80"


@dataclass(frozen=True)
class BoardInput:
    """Boards to solve, the goal of boards that have none of their own, and the names of tiles that are words.

    `is_stdin` is True if the boards come from standard input, whose writer may wait for answers.
    """

    instances: "Iterator[Instance]"
    goal: str | None
    names: TileNames | None
    is_stdin: bool


def boards_to_solve(options: SolveBoardOptions, databases: OpenDatabases) -> BoardInput:
    """Return the boards of a command with these databases.

    Raises `InputError`; the iterator raises `BoardError`, `InstanceError`.
    """
    goal, names = options.goal, None
    if options.tiles == "letters":
        if goal is None:
            raise InputError("--tiles letters needs --goal, whose words are the tiles")
        names = TileNames(goal)
        goal = names.goal
    if not options.boards and options.instances is None:
        options = replace(options, instances=_default_instances())
    instances = read_boards(options, databases, names)
    if options.shard is not None:
        number, n_shards = parse_shard(options.shard)
        instances = islice(instances, number - 1, None, n_shards)
    return BoardInput(instances, goal, names, STDIN in (options.instances, *(options.boards or ())))


def read_boards(
    options: BoardOptions, databases: OpenDatabases, names: TileNames | None = None
) -> "Iterator[Instance]":
    """Return the boards of the files among the arguments, of the other arguments, then of --instances.

    Without any, they are read from standard input.
    The size of boards is that of --size, else that of the databases. Raises `InputError`; the iterator raises
    `BoardError`, `InstanceError`. Among several files, ids begin with the name of the file.
    """
    from pdb_query.instances import valid

    return valid(read_rows(options, databases, names))


def read_rows(
    options: BoardOptions, databases: OpenDatabases, names: TileNames | None = None
) -> "Iterator[Instance | InvalidRow]":
    """Return boards as `read_boards`, and go on after an invalid row of CSV or JSON."""
    size = databases.size
    if options.boards == [STDIN] and options.instances is None:
        options = replace(options, boards=None, instances=STDIN)
    if options.size is not None:
        size = parse_size(options.size)
    elif size is not None and size.width == size.height:
        # Square boards imply their size. Without one, the message about a board of another size is clearer.
        size = None
    return islice(_all_boards(options, size, names), options.n_boards)


def read_all_boards(options: BoardOptions, databases: OpenDatabases) -> "list[Instance]":
    """Return the boards as `read_boards`, at least one. Raises `InstanceError` if there is none, and what it raises."""
    instances = list(read_boards(options, databases))
    if not instances:
        raise InstanceError(NO_BOARDS)
    return instances


def _all_boards(
    options: BoardOptions, size: BoardSize | None, names: TileNames | None
) -> "Iterator[Instance | InvalidRow]":
    from pdb_query import Instance
    from pdb_query.instances import read_rows

    arguments = options.boards or []
    texts = [text for text in arguments if isinstance(text, str)]
    # No board is one short number: it is a board typed without quotes.
    if any(re.fullmatch(r"\d{1,3}", text) for text in texts) and all(re.fullmatch(r"[\d,/;|xX_.-]+", t) for t in texts):
        texts = [" ".join(texts)]
    boards = [_board(text, size, names) for text in texts]
    tile_number = None if names is None else names.number
    for path in arguments:
        if isinstance(path, Path):
            # Like grep, with the name of the file if there are several.
            prefix = "" if len(arguments) == 1 and options.instances is None else f"{path.name}:"
            for row in read_rows(path, size, tile_number=tile_number):
                yield replace(row, id=prefix + row.id)
    for number, board in enumerate(boards, start=1):
        yield Instance(str(number), board)
    if options.instances is not None or not arguments:
        source = STDIN if options.instances is None else options.instances
        yield from read_rows(source, size, tile_number=tile_number)


def _board(text: str, size: BoardSize | None, names: TileNames | None) -> "Board":
    """Raises `BoardError`."""
    from pdb_core.puzzle import Board
    from pdb_query.instances import instance_sets

    try:
        return Board(text if names is None else names.numbered(text), size)
    except BoardError as error:
        # A word is rather the name of a file or of a set.
        if names is not None or not re.fullmatch(r"\S*[A-Za-z]{2}\S*", text[-300:]):
            raise
        hint = f"give --instances {text}" if text in instance_sets() else "there is no file of this name"
        raise BoardError(f"{error}; {hint}") from None


def parse_shard(shard: str) -> tuple[int, int]:
    """Return I and N of the shard `I/N`. Raises `InputError`."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"shard {as_typed(shard, 40)!r} is not I/N with I from 1 to N; give one such as 2/8")
    return int(match[1]), int(match[2])


def _default_instances() -> str:
    """Return the instances of a command without boards: standard input, or on a terminal the hardest boards."""
    if sys.stdin is None or not sys.stdin.isatty():
        return STDIN
    message(
        "no board given: solving the 17 boards of the 15-puzzle that take 80 moves, the maximum; to solve your own, "
        'give a file, or a board such as "1 2 3 4/5 6 7 8/9 10 11 0/13 14 15 12"'
    )
    return _HARDEST_BOARDS
