"""Boards of a command: from its arguments, from files, from instance sets, and from standard input."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from pdb_core.errors import InputError
from pdb_core.messages import as_typed
from tilepdb.commands.options import BoardOptions, SolveBoardOptions
from tilepdb.commands.output import message
from tilepdb.commands.tile_names import TileNames

if TYPE_CHECKING:
    from pdb_core.puzzle import BoardSize
    from pdb_query import Instance

STDIN = "-"
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


def boards_to_solve(options: SolveBoardOptions, db: list[Path] | None = None) -> BoardInput:
    """Return the boards of a command. `db` are its table files.

    Raises `InputError`; the iterator raises `BoardError`, `InstanceError`.
    """
    options = _with_from_and_to(options)
    goal, names = options.goal, None
    if options.tiles == "letters":
        if goal is None:
            raise InputError("--tiles letters needs --goal, whose words are the tiles")
        names = TileNames(goal)
        goal = names.goal
    if not options.boards and options.instances is None:
        options = replace(options, instances=_default_instances(db))
    instances = read_boards(options, db, names)
    if options.shard is not None:
        number, n_shards = parse_shard(options.shard)
        instances = islice(instances, number - 1, None, n_shards)
    return BoardInput(instances, goal, names, options.instances == STDIN)


def size_hint(db: "list[Path] | None", size: str | None) -> "BoardSize | None":
    """Return the size of --size, else that of the tables; None for square tables. Raises `TableFileError`.

    Square boards imply their size. Without a hint, the message about a board of another size is clearer.
    """
    from pdb_core.puzzle import parse_size

    if size is not None:
        return parse_size(size)
    if not db:
        return None
    from pdb_query import read_table_header

    tables = read_table_header(db[0]).spec.size
    return None if tables.width == tables.height else tables


def read_boards(
    options: BoardOptions, db: list[Path] | None = None, names: TileNames | None = None
) -> "Iterator[Instance]":
    """Return the boards of the files among the arguments, of the other arguments, then of --instances.

    `db` are the table files, which may give the size. Raises `TableFileError`, `InputError`; the iterator raises
    `BoardError`, `InstanceError`.
    """
    return islice(_all_boards(options, size_hint(db, options.size), names), options.n_boards)


def _all_boards(options: BoardOptions, size: "BoardSize | None", names: TileNames | None) -> "Iterator[Instance]":
    from pdb_core.puzzle import Board
    from pdb_query import Instance, read_instances

    files, texts = split_arguments(options.boards)
    # No board is one number: it is a board typed without quotes.
    if len(texts) > 1 and any(text.isdigit() for text in texts) and all(re.fullmatch(r"[\d,/]+", t) for t in texts):
        texts = [" ".join(texts)]
    boards = [Board(text if names is None else names.numbered(text), size) for text in texts]
    tile_number = None if names is None else names.number
    for path in files:
        yield from _with_file_name(path, read_instances(path, size, tile_number=tile_number))
    for number, board in enumerate(boards, start=1):
        yield Instance(str(number), board)
    if options.instances is not None:
        yield from read_instances(options.instances, size, tile_number=tile_number)


def _with_file_name(path: Path, instances: "Iterator[Instance]") -> "Iterator[Instance]":
    """Yield boards whose ids are the name of their file; if it has several boards, with their own id."""
    first, second = next(instances), next(instances, None)
    if second is None:
        yield replace(first, id=path.name)
        return
    for instance in chain((first, second), instances):
        yield replace(instance, id=f"{path.name}:{instance.id}")


def split_arguments(arguments: list[str] | None) -> tuple[list[Path], list[str]]:
    """Return the arguments that name files, and those that are boards."""
    files: list[Path] = []
    boards: list[str] = []
    for text in arguments or []:
        # A word with a letter and a short ending, such as boards.txt; or the name of a file that is not all digits.
        if (
            text.endswith((".dat", ".pkl", ".pickle"))
            or re.fullmatch(r"\S*[A-Za-z]\S*\.\w{1,7}", text[-300:])
            or (not re.fullmatch(r"[\d\s,/]*", text) and is_file(text))
        ):
            files.append(Path(text))
        else:
            boards.append(text)
    return files, boards


def is_file(name: str) -> bool:
    """Return True if a file has this name, which may be any text."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # such as a name that is too long
        return False


def parse_shard(shard: str) -> tuple[int, int]:
    """Return I and N of the shard `I/N`. Raises `InputError`."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", shard)
    if match is None:
        raise InputError(f"shard {as_typed(shard, 40)!r} is not of the form I/N; give one such as 2/8")
    number, n_shards = int(match[1]), int(match[2])
    if not 1 <= number <= n_shards:
        raise InputError(f"shard {shard} does not exist; give --shard I/N with I from 1 to N")
    return number, n_shards


def _with_from_and_to(options: SolveBoardOptions) -> SolveBoardOptions:
    """Return options whose board and goal are those of --from and --to, if given. Raises `InputError`."""
    start, end = options.from_board, options.to_board
    if start is None and end is None:
        return options
    if start is None or end is None:
        raise InputError("--from and --to are only valid together; give both")
    if options.boards or options.instances is not None or options.goal is not None:
        raise InputError("--from and --to cannot be combined with other boards or --goal; leave those out")
    return replace(options, boards=[start], goal=end)


def _default_instances(db: "list[Path] | None") -> str:
    """Return the instances of a command without boards: standard input, or on a terminal the hardest boards."""
    if sys.stdin is None or not sys.stdin.isatty():
        return STDIN
    if db:
        from pdb_query import read_table_header

        size = str(read_table_header(db[0]).spec.size)
        if size != "4x4":
            raise InputError(
                f"give a board: the hardest boards are known for 4x4, the tables in {db[0]} are for {size}"
            )
    message(
        "no board given: solving the 17 boards of the 15-puzzle that take 80 moves, the maximum; to solve your own, "
        'give a file, or a board such as "1 2 3 4/5 6 7 8/9 10 11 0/13 14 15 12"'
    )
    return _HARDEST_BOARDS
