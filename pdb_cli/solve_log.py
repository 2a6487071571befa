"""A log of finished boards, one a line, from which the same command goes on after a crash or Ctrl-C.

The first line tells the method and the tables; each of the others is what is known of one board that was solved. Lines
are only ever added; a last line that was cut short is taken off. docs/cluster.md describes the file.
"""

import contextlib
import fcntl
import json
import math
import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar

import typer

from pdb_cli.output import message, plural
from pdb_core.errors import InputError, OutputError, WrongAnswerError
from pdb_core.messages import as_typed

if TYPE_CHECKING:
    from pdb_core.puzzle import Board, BoardSize
    from solver import Solution

LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="Add each solved board to this file, and take the answers of boards in it from there: the same command "
        "goes on where it was stopped.",
        show_default=False,
    ),
]

_Record = TypeVar("_Record")

_KIND, _VERSION = "tile-pdb solve log", 1
# Lines reach the system at once, the disk within this time while boards are solved: it takes some milliseconds.
_SYNC_S = 1.0
_SHOWN_DIFFERENCES = 4


class SolveLog:
    """The answers in a log, and adding to it. Thread-safe; a context manager."""

    def __init__(self, path: Path, method: dict[str, Any]) -> None:
        """Open it, or begin it. `method` is what all answers must have in common.

        Raises `InputError` where the file is no log or one of another method, `OutputError` where it cannot be written
        or is in use.
        """
        self._path = path
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # Where the line of each board begins, and its length: a log may have more boards than fit into memory.
        self._places: dict[tuple[bytes, bytes], tuple[int, int]] = {}
        self._held: set[tuple[bytes, bytes]] = set()
        self._file = self._open()
        try:
            with self._writing():
                self._read({"log": _KIND, "version": _VERSION} | json.loads(json.dumps(method)))
        except BaseException:
            self._close()
            raise
        self._synced_at = time.monotonic()

    def __enter__(self) -> "SolveLog":
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            try:
                with self._writing():
                    os.fsync(self._file.fileno())
            finally:
                self._close()

    def answer(self, board: "Board", goal: "Board", size: "BoardSize") -> "Solution | None":
        """What the log says of a board, replayed. Raises `InputError` where that is no solution."""
        from solver.solution import check_solution

        with self._lock:
            place = self._places.get(_key(board, goal))
            if place is None:
                return None
            with self._writing():
                line = os.pread(self._file.fileno(), place[1], place[0])
        try:
            solution = _solution(_load(line))
            check_solution(board, solution.tiles or (), goal, size)
        except WrongAnswerError as error:
            raise InputError(f"the log {self._path} is damaged: {error}; name another with --log") from None
        except (ValueError, TypeError, KeyError):
            raise InputError(f"the log {self._path} was changed meanwhile; leave it alone, and start again") from None
        return solution

    def try_hold(self, board: "Board", goal: "Board") -> bool:
        """Hold a board until `release` if it is neither in the log nor held. Returns whether it was."""
        with self._lock:
            return _key(board, goal) not in self._places and self._hold_free(board, goal)

    def hold(self, board: "Board", goal: "Board") -> None:
        """Hold a board until `release`. If another thread holds it, wait: its answer is then in the log."""
        with self._changed:
            self._changed.wait_for(lambda: self._hold_free(board, goal))

    def _hold_free(self, board: "Board", goal: "Board") -> bool:
        key = _key(board, goal)
        is_free = key not in self._held
        self._held.add(key)
        return is_free

    def release(self, boards: "Iterable[Board]", goal: "Board") -> None:
        """Let other threads hold boards."""
        with self._changed:
            self._held.difference_update(_key(board, goal) for board in boards)
            self._changed.notify_all()

    def add(self, solution: "Solution") -> None:
        """Add a board that is solved; one that was given up is not. Raises `OutputError`, where the disk is full."""
        if solution.length is None:
            return
        line = json.dumps(asdict(solution), separators=(",", ":")).encode() + b"\n"
        with self._lock, self._writing():
            self._file.write(line)
            self._file.flush()
            self._places[_key(solution.board, solution.goal)] = self._file.tell() - len(line), len(line)
            if time.monotonic() - self._synced_at >= _SYNC_S:
                os.fsync(self._file.fileno())
                self._synced_at = time.monotonic()

    def _open(self) -> BinaryIO:
        # A device or a pipe neither keeps what is written nor ends when it is read.
        if self._path.exists() and not (self._path.is_file() or self._path.is_dir()):
            raise self._foreign()
        with self._writing():
            file = self._path.open("a+b")
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                raise OutputError(
                    f"the log {self._path} is in use by another pdb solve; wait for it, or name another with --log"
                ) from None
            except OSError:
                file.close()
                raise
        return file

    def _close(self) -> None:
        # What could not be written is tried once more by the file, and was told before.
        with contextlib.suppress(OSError):
            self._file.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"cannot write the log {self._path}: {error.strerror}; name another with --log") from None

    def _read(self, header: dict[str, Any]) -> None:
        self._file.seek(0)
        # What comes after the last end of a line was cut short.
        *lines, cut_short = self._file.read().split(b"\n")
        first = json.dumps(header).encode()
        if lines:
            self._check_header(lines[0], header)
        elif not first.startswith(cut_short):
            raise self._foreign()
        self._file.truncate(sum(len(line) + 1 for line in lines))
        if not lines:
            self._file.write(first + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            return
        at = len(lines[0]) + 1
        for number, line in enumerate(lines[1:], start=2):
            try:
                solution = _solution(_load(line))
                key = _key(solution.board, solution.goal)
            except (ValueError, TypeError, KeyError) as error:
                why = f": {error}" if isinstance(error, _ContradictionError) else ""
                raise InputError(
                    f"line {number} of the log {self._path} is damaged{why}; take the line out, or name another log"
                ) from None
            self._places[key] = at, len(line)
            at += len(line) + 1
        if self._places:
            message(f"pdb: {plural(len(self._places), 'finished board')} in {self._path}")

    def _check_header(self, line: bytes, header: dict[str, Any]) -> None:
        try:
            found = _load(line)
        except ValueError:
            raise self._foreign() from None
        if not isinstance(found, dict) or found.get("log") != _KIND:
            raise self._foreign()
        other = sorted(name for name in header.keys() | found.keys() if header.get(name) != found.get(name))
        if other:
            what = ", ".join(
                f"{as_typed(name, 40)} {_shown(found.get(name))}, not {_shown(header.get(name))}"
                for name in other[:_SHOWN_DIFFERENCES]
            )
            raise InputError(f"the log {self._path} is of another search ({what}); name another with --log")

    def _foreign(self) -> InputError:
        return InputError(f"{self._path} is not a log of pdb solve; name another file with --log")


def _shown(value: object) -> str:
    """A value of the header; of digests the first letters."""
    if isinstance(value, list):
        return as_typed(" ".join(str(item)[:12] for item in value))
    return "none" if value is None else as_typed(str(value), 40)


class _ContradictionError(ValueError):
    """A line says two things."""


def _key(board: "Board", goal: "Board") -> tuple[bytes, bytes]:
    return bytes(board), bytes(goal)


def _load(line: bytes) -> Any:
    """What a line of JSON says. Raises `ValueError`."""
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("brackets in brackets") from None


def _solution(values: dict[str, Any]) -> "Solution":
    """A solution as it was written. Raises `ValueError`, `TypeError`, `KeyError`."""
    from solver import Iteration, Solution

    lists = {name: _numbers(values[name]) for name in ("board", "goal", "tiles")}
    iterations = tuple(_of_kinds(Iteration(**iteration)) for iteration in values["iterations"])
    solution = _of_kinds(Solution(**(values | lists | {"iterations": iterations})))
    n_cells, tiles = len(solution.board), solution.tiles or ()
    if sorted(solution.board) != list(range(n_cells)) or sorted(solution.goal) != list(range(n_cells)):
        raise ValueError
    if not all(0 < tile < n_cells for tile in tiles):
        raise _ContradictionError(f"its moves are not of tiles from 1 to {n_cells - 1}")
    if solution.length != len(tiles):
        raise _ContradictionError(f"its length is {solution.length}, and it has {plural(len(tiles), 'move')}")
    if solution.lower_bound > solution.length:
        raise _ContradictionError(f"its length is {solution.length}, its lower bound {solution.lower_bound}")
    return solution


def _numbers(given: list[Any]) -> tuple[int, ...]:
    """A list of whole numbers as it was written. Raises `TypeError`."""
    if not isinstance(given, list) or not all(type(number) is int for number in given):
        raise TypeError
    return tuple(given)


# JSON has one kind of number; True is one too.
_KINDS: dict[object, Any] = {
    bool: bool, str: str, int: int, int | None: (int, NoneType), float: (float, int),
    float | None: (float, int, NoneType),
}  # fmt: skip


def _of_kinds(record: _Record) -> _Record:
    """A record whose fields are of the kinds that it declares. Raises `TypeError`."""
    for field in fields(record):  # type: ignore[arg-type]
        value, kinds = getattr(record, field.name), _KINDS.get(field.type, object)
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds not in (bool, object)):
            raise TypeError
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError
    return record
