"""Log of solved boards and checkpoints, from which the same command continues after a crash or Ctrl-C.

The first line holds the method and the tables. Each of the others has a checksum, and is a solved board or part of the
checkpoint of a board. Lines are only appended; an incomplete last line is removed. docs/cluster.md describes the file.
"""

import contextlib
import fcntl
import json
import os
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pdb_cli.output import message, plural
from pdb_core.errors import InputError, OutputError, WrongAnswerError, writing_error
from pdb_core.messages import as_typed

if TYPE_CHECKING:
    from pdb_cli.logged_checkpoint import LoggedCheckpoint
    from pdb_core.puzzle import Board, BoardSize
    from solver import Solution

    _Key = tuple[bytes, bytes]

_KIND, _VERSION = "tile-pdb solve log", 2
# Lines reach the system at once, the disk within this time while boards are solved: that takes some milliseconds.
_SYNC_S = 1.0
_SHOWN_DIFFERENCES = 4


class SolveLog:
    """Answers and checkpoints in a log file. Thread-safe; a context manager."""

    def __init__(self, path: Path, method: dict[str, Any]) -> None:
        """Open or create the log. `method` holds the settings that all its answers share.

        Raises `InputError` if the file is not a log or has another method, `OutputError` if it cannot be written or is
        in use.
        """
        self._path = path
        self._lock = threading.Lock()
        # Offset and length of the line of each solved board: all answers may not fit into memory.
        self._lines: dict[_Key, tuple[int, int]] = {}
        self._begun: set[_Key] = set()
        self._checkpoints: dict[_Key, LoggedCheckpoint] = {}
        self._synced_at = time.monotonic()
        self._file = self._open()
        try:
            with self._writing():
                self._read({"log": _KIND, "version": _VERSION} | json.loads(json.dumps(method)))
        except BaseException:
            self._close()
            raise

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

    def begin(self, board: "Board", goal: "Board") -> bool:
        """Return True the first time for a board that has no answer in the log: it is to be searched."""
        key = _key(board, goal)
        with self._lock:
            if key in self._lines or key in self._begun:
                return False
            self._begun.add(key)
            return True

    def answer(self, board: "Board", goal: "Board", size: "BoardSize") -> "Solution | None":
        """Return the solution of a board in the log, replayed, or None. Raises `InputError` if it is wrong."""
        from solver.solution import check_solution

        with self._lock:
            place = self._lines.get(_key(board, goal))
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
            raise InputError(f"the log {self._path} was changed while it is in use; start again") from None
        return solution

    def checkpoint(self, board: "Board", goal: "Board") -> "LoggedCheckpoint":
        """Return the checkpoint of a board. It appends finished subtrees and thresholds to the log.

        Its methods raise `DiskFullError`, `OutputError`.
        """
        with self._lock:
            return self._checkpoint(_key(board, goal))

    def _checkpoint(self, key: "_Key") -> "LoggedCheckpoint":
        from pdb_cli.logged_checkpoint import LoggedCheckpoint

        def write(values: dict[str, Any]) -> None:
            with self._lock:
                self._append({"board": list(key[0]), "goal": list(key[1])} | values)

        if key not in self._checkpoints:
            self._checkpoints[key] = LoggedCheckpoint(write)
        return self._checkpoints[key]

    def add(self, solution: "Solution") -> None:
        """Append a solved board. Of a board that was given up, only the checkpoint is kept.

        Raises `DiskFullError`, `OutputError`.
        """
        if solution.length is None:
            return
        key = _key(solution.board, solution.goal)
        with self._lock:
            self._checkpoints.pop(key, None)
            self._lines[key] = self._append(asdict(solution))

    def _append(self, values: dict[str, Any]) -> tuple[int, int]:
        """Write a line with its checksum. Return its offset and length."""
        # A replay proves a solution, but nothing proves that a subtree was searched.
        line = json.dumps(values | {"check": _checksum(values)}, separators=(",", ":")).encode() + b"\n"
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
                    f"the log {self._path} is in use by another command; wait for it, or name another with --log"
                ) from None
            except OSError:
                file.close()
                raise
        return file

    def _close(self) -> None:
        # The file tries once more to write what failed before; that error was reported.
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
        # Bytes after the last end of a line are an incomplete line.
        *lines, incomplete = self._file.read().split(b"\n")
        first = json.dumps(header).encode()
        if lines:
            self._check_header(lines[0], header)
        elif not first.startswith(incomplete):
            raise self._foreign()
        self._file.truncate(sum(len(line) + 1 for line in lines))
        if not lines:
            self._file.write(first + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            return
        offset = len(lines[0]) + 1
        for number, line in enumerate(lines[1:], start=2):
            try:
                self._read_line(_load(line), offset, len(line))
            except (ValueError, TypeError, KeyError):
                raise InputError(
                    f"line {number} of the log {self._path} is damaged; remove the line, or name another log"
                ) from None
            offset += len(line) + 1
        counts = {"finished": len(self._lines), "unfinished": len(self._checkpoints)}
        if any(counts.values()):
            found = " and ".join(plural(n, f"{kind} board") for kind, n in counts.items() if n)
            message(f"pdb: {found} in {self._path}")

    def _read_line(self, values: dict[str, Any], offset: int, length: int) -> None:
        """Add a line of the file. Raises `ValueError`, `TypeError`, `KeyError`."""
        key = _key(values["board"], values["goal"])
        if "tiles" in values:
            _solution(values)
            self._lines[key] = offset, length
            self._checkpoints.pop(key, None)
        elif key not in self._lines:
            self._checkpoint(key).read(values)

    def _check_header(self, line: bytes, header: dict[str, Any]) -> None:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
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


def _key(board: "Sequence[int]", goal: "Sequence[int]") -> "_Key":
    return bytes(board), bytes(goal)


def _shown(value: object) -> str:
    """Return a value of the header; of digests the first letters."""
    if isinstance(value, list):
        return as_typed(" ".join(str(item)[:12] for item in value))
    return "none" if value is None else as_typed(str(value), 40)


def _checksum(values: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(values).encode()):08x}"


def _load(line: bytes) -> dict[str, Any]:
    """Return the values of a line. Raises `ValueError`, `KeyError`, `TypeError` if its checksum is wrong."""
    try:
        values = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(values, dict) or values.pop("check") != _checksum(values):
        raise ValueError("wrong checksum")
    return values


def _solution(values: dict[str, Any]) -> "Solution":
    """Return the solution of a line. Raises `TypeError`, `KeyError`."""
    from solver import Iteration, Solution

    lists = {name: tuple(values[name]) for name in ("board", "goal", "tiles")}
    iterations = tuple(Iteration(**iteration) for iteration in values["iterations"])
    return Solution(**(values | lists | {"iterations": iterations}))
