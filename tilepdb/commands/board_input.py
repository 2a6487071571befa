"""Boards of a command: from its arguments, from files, from instance sets, and from standard input."""

import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import typer

from pdb_core.errors import InputError
from pdb_core.messages import as_typed
from tilepdb.commands.board_files import TileNames, boards_of_files
from tilepdb.commands.options import BoardOptions, SolveBoardOptions, parse_optional_size
from tilepdb.commands.output import message

if TYPE_CHECKING:
    from pdb_core.puzzle import BoardSize
    from pdb_query import Instance

Item = TypeVar("Item")

STDIN = "-"
_HARDEST_BOARDS = "hardest80"
_MOST_AHEAD = 4096
# Chunks per thread that the waiting items are divided into.
_CHUNKS_A_THREAD = 4


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
    """Return the boards of a command; boards of files come first. `db` are its table files.

    Raises a usage error, `InputError`; the iterator raises `BoardError`, `InstanceError`.
    """
    boards, goal = _boards_and_goal(options)
    files, boards = split_arguments(boards)
    names = None
    if options.tiles == "letters":
        if goal is None:
            raise typer.BadParameter("letters needs --goal, whose words are the tiles", param_hint="--tiles")
        if options.instances is not None or not (files or boards):
            raise typer.BadParameter("letters needs boards as arguments or in .dat files", param_hint="--tiles")
        names = TileNames(goal)
        boards, goal = [names.numbered(board) for board in boards], names.goal
    source = options.instances
    if not boards and not files and source is None:
        source = _default_instances(db)
    hint = size_hint(db, options.size)
    stdin = unbuffered_stdin() if source == STDIN else None
    instances = chain(boards_of_files(files, hint, names), read_boards(boards, source, hint, stdin=stdin))
    return BoardInput(shard_of(instances, options.shard), goal, names, source == STDIN)


def boards_to_look_up(options: BoardOptions, db: list[Path] | None) -> "Iterator[Instance]":
    """Return the boards of a command; those of standard input if it names none. Raises as `boards_to_solve`."""
    source = STDIN if not options.boards and options.instances is None else options.instances
    return read_boards(options.boards, source, size_hint(db, options.size))


def size_hint(db: "list[Path] | None", size: str | None) -> "BoardSize | None":
    """Return the size of --size, else that of the tables; None for square tables. Raises `TableFileError`.

    Square boards imply their size. Without a hint, the message about a board of another size is clearer.
    """
    given = parse_optional_size(size)
    if given is not None or not db:
        return given
    from pdb_query import read_table_header

    tables = read_table_header(db[0]).spec.size
    return None if tables.width == tables.height else tables


def read_boards(
    boards: list[str] | None, instances: str | None, size: "BoardSize | None", *, stdin: TextIO | None = None
) -> "Iterator[Instance]":
    """Yield the boards of the command line, then those of the instance set. Raises `BoardError`, `InstanceError`."""
    from pdb_core.puzzle import Board
    from pdb_query import Instance, read_instances

    texts = boards or []
    if len(texts) > 1 and all(text.isdigit() for text in texts):
        texts = [" ".join(texts)]  # a board typed without quotes
    parsed = [Board(text, size) for text in texts]
    for number, board in enumerate(parsed, start=1):
        yield Instance(str(number), board)
    if instances is not None:
        yield from read_instances(instances, size, stdin=stdin)


def split_arguments(arguments: list[str] | None) -> tuple[list[Path], list[str]]:
    """Return the arguments that name files, and those that are boards."""
    texts = arguments or []
    are_files = [
        text.endswith((".dat", ".pkl", ".pickle"))
        or _looks_like_a_file(text)
        or (not re.fullmatch(r"[\d\s,/]*", text) and is_file(text))
        for text in texts
    ]
    files = [Path(text) for text, is_one in zip(texts, are_files, strict=True) if is_one]
    return files, [text for text, is_one in zip(texts, are_files, strict=True) if not is_one]


def _looks_like_a_file(text: str) -> bool:
    """Return True for a word with a letter and a short ending: `boards.txt`. Takes linear time for any text."""
    name, _, ending = text.rpartition(".")
    return (
        re.fullmatch(r"\w{1,7}", ending) is not None
        and re.search(r"[A-Za-z]", name) is not None
        and re.search(r"\s", name) is None
    )


def is_file(name: str) -> bool:
    """Return True if a file has this name, which may be any text."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # such as a name that is too long
        return False


def shard_of(instances: "Iterator[Instance]", shard: str | None) -> "Iterator[Instance]":
    """Return every N-th board, beginning with the I-th, for the shard `I/N`. Raises `InputError`."""
    if shard is None:
        return instances
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", shard)
    if match is None:
        raise InputError(f"shard {as_typed(shard, 40)!r} is not of the form I/N; give one such as 2/8")
    number, n_shards = int(match[1]), int(match[2])
    if not 1 <= number <= n_shards:
        raise InputError(f"shard {shard} does not exist; give --shard I/N with I from 1 to N")
    return islice(instances, number - 1, None, n_shards)


def unbuffered_stdin() -> TextIO | None:
    """Return standard input for a thread that reads it.

    Python's own stream has a lock, which a waiting thread would still hold when the process ends.
    """
    try:
        raw = io.FileIO(sys.stdin.fileno(), closefd=False)
    except (AttributeError, OSError, ValueError):  # there is none, or it is no file
        return sys.stdin
    # A strict decoder fails a buffer ahead of the line; escaped bytes are refused in their own line.
    return io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape")


def _boards_and_goal(options: SolveBoardOptions) -> tuple[list[str] | None, str | None]:
    """Return the boards and the goal, also if --from and --to give them. Raises a usage error."""
    start, end = options.from_board, options.to_board
    if start is None and end is None:
        return options.boards, options.goal
    if start is None or end is None:
        raise typer.BadParameter("are only valid together; give both", param_hint="--from and --to")
    if options.boards or options.instances is not None or options.goal is not None:
        raise typer.BadParameter(
            "cannot be combined with other boards or --goal; leave those out", param_hint="--from and --to"
        )
    return [start], end


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
    message("pdb: no board given: solving the 17 boards of the 15-puzzle that take 80 moves, the maximum")
    return _HARDEST_BOARDS


@dataclass(frozen=True)
class _End:
    """End of the items, and the error that they ended with."""

    error: BaseException | None = None

    def raise_error(self) -> None:
        if self.error is not None:
            raise self.error


@contextmanager
def _read_ahead(items: Iterable[Any]) -> "Iterator[Queue[Any]]":
    """Read items in a thread, so that a slow source delays nothing else. The last item of the queue is an `_End`."""
    ready: Queue[Any] = Queue(_MOST_AHEAD)
    is_over = Event()

    def read() -> None:
        end = _End()
        try:
            for item in items:
                ready.put(item)
                if is_over.is_set():
                    return
        except BaseException as error:
            end = _End(error)
        ready.put(end)

    # A daemon: a thread that waits for input ends only with the process.
    Thread(target=read, name="read ahead", daemon=True).start()
    try:
        yield ready
    finally:
        is_over.set()
        with suppress(Empty):
            while True:
                ready.get_nowait()


def as_they_come(items: Iterable[Item]) -> Iterator[Item | None]:
    """Yield items that are read ahead, and None when the next item is not there yet.

    Raises the errors of `items`, after the items before.
    """
    with _read_ahead(items) as ready:
        item: Any = None
        while not isinstance(item, _End):
            yield item
            item = None if ready.empty() else ready.get()
        item.raise_error()


def in_chunks(items: Iterable[Item], n_most: int, *, n_threads: int) -> Iterator[list[Item]]:
    """Yield lists of 1 to `n_most` items that are read ahead, without waiting for more than the first.

    Lists are shorter when few items are left, so that each of `n_threads` gets some. Raises the errors of `items`,
    after the items before.
    """
    with _read_ahead(items) as ready:
        end: _End | None = None
        while end is None:
            chunk: list[Any] = [ready.get()]
            share = n_most if n_threads == 1 else ready.qsize() // (_CHUNKS_A_THREAD * n_threads)
            while len(chunk) < min(n_most, share) and not ready.empty() and not isinstance(chunk[-1], _End):
                chunk.append(ready.get())
            end = chunk.pop() if isinstance(chunk[-1], _End) else None
            if chunk:
                yield chunk
        end.raise_error()
