"""A log of finished boards and of checkpoints, from which the same command continues after a crash or Ctrl-C.

The first line holds the method and the tables. Each of the others is a solved board, or a checkpoint of a board: its
finished thresholds, or finished subtrees of a threshold. Lines are only ever added; a last line that was cut short is
taken off. docs/cluster.md describes the file.
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
from pdb_core.errors import InputError, OutputError, WrongAnswerError, writing_error
from pdb_core.messages import as_typed

if TYPE_CHECKING:
    from pdb_cli.solve_checkpoints import LoggedCheckpoint, Values
    from pdb_core.puzzle import Board, BoardSize
    from solver import Solution

LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="Add solved boards and the progress of long searches to this file, and take them from there: the same "
        "command continues where it was stopped.",
        show_default=False,
    ),
]

_Record = TypeVar("_Record")

_KIND, _VERSION = "tile-pdb solve log", 1
# Lines reach the system at once, the disk within this time while boards are solved: it takes some milliseconds.
_SYNC_S = 1.0
_SHOWN_DIFFERENCES = 4


class SolveLog:
    """The answers and checkpoints in a log, and adding to it. Thread-safe; a context manager."""

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
        # Of boards that are not solved.
        self._checkpoints: dict[tuple[bytes, bytes], LoggedCheckpoint] = {}
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
        try:
            for checkpoint in list(self._checkpoints.values()):
                checkpoint.flush()
        finally:
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
        with self._lock:
            self._changed.wait_for(lambda: self._hold_free(board, goal))

    def _hold_free(self, board: "Board", goal: "Board") -> bool:
        key = _key(board, goal)
        is_free = key not in self._held
        self._held.add(key)
        return is_free

    def release(self, boards: "Iterable[Board]", goal: "Board") -> None:
        """Let other threads hold boards."""
        keys = [_key(board, goal) for board in boards]
        with self._lock:
            for key in keys:
                if key in self._checkpoints and self._checkpoints[key].is_empty:
                    del self._checkpoints[key]
            self._held.difference_update(keys)
            self._changed.notify_all()

    def checkpoint(self, board: "Board", goal: "Board") -> "LoggedCheckpoint":
        """Return the checkpoint of a board that is held. It adds finished subtrees and thresholds to the log.

        Its methods raise `DiskFullError`, `OutputError`.
        """
        key = _key(board, goal)
        with self._lock:
            if key not in self._checkpoints:
                self._checkpoints[key] = self._new_checkpoint(board, goal)
            return self._checkpoints[key]

    def _new_checkpoint(self, board: "Board", goal: "Board") -> "LoggedCheckpoint":
        from pdb_cli.solve_checkpoints import LoggedCheckpoint, with_check

        of_board = {"board": list(board), "goal": list(goal)}

        def write(values: "Values") -> None:
            with self._lock:
                self._append(with_check(of_board | values))

        return LoggedCheckpoint(write)

    def add(self, solution: "Solution") -> None:
        """Add a board that is solved. Of one that was given up only the checkpoint stays.

        Raises `DiskFullError`, `OutputError`.
        """
        if solution.length is None:
            return
        key = _key(solution.board, solution.goal)
        with self._lock:
            self._checkpoints.pop(key, None)
            self._places[key] = self._append(asdict(solution))

    def _append(self, values: dict[str, Any]) -> tuple[int, int]:
        """Write a line. Return where it begins, and its length."""
        line = json.dumps(values, separators=(",", ":")).encode() + b"\n"
        with self._writing():
            self._file.write(line)
            self._file.flush()
            if time.monotonic() - self._synced_at >= _SYNC_S:
                os.fsync(self._file.fileno())
                self._synced_at = time.monotonic()
            return self._file.tell() - len(line), len(line)

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
            raise writing_error(error, f"the log {self._path}", "name another with --log") from None

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
                self._read_line(_load(line), at, len(line))
            except (ValueError, TypeError, KeyError) as error:
                why = f": {error}" if isinstance(error, _ContradictionError) else ""
                raise InputError(
                    f"line {number} of the log {self._path} is damaged{why}; take the line out, or name another log"
                ) from None
            at += len(line) + 1
        counts = {"finished": len(self._places), "unfinished": len(self._checkpoints)}
        if any(counts.values()):
            found = " and ".join(plural(n, f"{kind} board") for kind, n in counts.items() if n)
            message(f"pdb: {found} in {self._path}")

    def _read_line(self, values: Any, at: int, length: int) -> None:
        """Take over a line that begins `at`. Raises `ValueError`, `TypeError`, `KeyError`."""
        if not isinstance(values, dict):
            raise TypeError
        if "check" not in values:
            solution = _solution(values)
            key = _key(solution.board, solution.goal)
            self._places[key] = at, length
            self._checkpoints.pop(key, None)
            return
        from pdb_cli.solve_checkpoints import without_check

        values = without_check(values)
        board, goal = (_checked_board(values[name]) for name in ("board", "goal"))
        key = _key(board, goal)
        if key in self._places:
            return
        if key not in self._checkpoints:
            self._checkpoints[key] = self._new_checkpoint(board, goal)
        self._checkpoints[key].read(values)

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
    n_cells, tiles = len(_checked_board(solution.board)), solution.tiles or ()
    if len(_checked_board(solution.goal)) != n_cells:
        raise ValueError
    if not all(0 < tile < n_cells for tile in tiles):
        raise _ContradictionError(f"its moves are not of tiles from 1 to {n_cells - 1}")
    if solution.length != len(tiles):
        raise _ContradictionError(f"its length is {solution.length}, and it has {plural(len(tiles), 'move')}")
    if solution.lower_bound > solution.length:
        raise _ContradictionError(f"its length is {solution.length}, its lower bound {solution.lower_bound}")
    return solution


def _checked_board(given: "list[Any] | Board") -> "Board":
    """Return a board as it was written. Raises `TypeError`, `ValueError`."""
    board = _numbers(list(given))
    if sorted(board) != list(range(len(board))):
        raise ValueError
    return board


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
