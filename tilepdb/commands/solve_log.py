"""Log of solved boards and checkpoints, from which the same command continues after a crash or Ctrl-C.

The first line holds the method and the tables. Each of the others has a checksum, and is a solved board or part of the
checkpoint of a board. Lines are only appended; an incomplete last line is removed. docs/how-to/long-runs.md describes
the file.
"""

import contextlib
import json
import os
import threading
import time
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pdb_core import system
from pdb_core.errors import (
    InputError,
    MemoryLimitError,
    OutputError,
    UnsolvableError,
    WrongAnswerError,
    writing_error,
)
from pdb_core.messages import as_typed
from solver.checkpoint import Checkpoint, Subtrees
from solver.progress import Iteration
from tilepdb.commands.output import message, plural

if TYPE_CHECKING:
    from pdb_core.puzzle import BoardSize, Tiles
    from solver import Solution
    from tilepdb.commands.answers import Answer

    _Key = tuple[bytes, bytes]

_KIND, _VERSION = "tile-pdb solve log", 2
# Lines reach the system at once, the disk within this time while boards are solved: that takes some milliseconds.
_SYNC_S = 1.0
# Seconds between two lines about the subtrees of one board, so that the log of a long run stays small.
_WRITE_S = 5.0
_SHOWN_DIFFERENCES = 4
_MAX_HEADER = 1_000_000

Values = dict[str, Any]


class SolveLog:
    """Answers and checkpoints in a log file. Thread-safe; a context manager."""

    def __init__(self, path: Path, method: Values) -> None:
        """Open or create the log. `method` holds the settings that all its answers share.

        Raises `InputError` if the file is not a log or has another method, `OutputError` if it cannot be written or is
        in use.
        """
        self._path = path
        self._lock = threading.Lock()
        # Offset and length of the line of each solved board: all answers may not fit into memory.
        self._lines: dict[_Key, tuple[int, int]] = {}
        self._begun: set[_Key] = set()
        # Answers of this run that the log does not keep: of unsolvable boards, and of those that were given up.
        self._unlogged: dict[_Key, Answer] = {}
        self._checkpoints: dict[_Key, _LoggedCheckpoint] = {}
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

    def begin(self, board: "Tiles", goal: "Tiles") -> bool:
        """Return True the first time for a board that has no answer in the log: it is to be searched."""
        key = _key(board, goal)
        with self._lock:
            if key in self._lines or key in self._begun:
                return False
            self._begun.add(key)
            return True

    def answer(self, board: "Tiles", goal: "Tiles", size: "BoardSize") -> "Answer | None":
        """Return the answer for `board` in this run, or its solution in the log, replayed; None if both are missing.

        Raises `InputError` if it is wrong.
        """
        from solver.solution import check_solution

        key = _key(board, goal)
        with self._lock:
            if key not in self._lines:
                return self._unlogged.get(key)
            offset, length = self._lines[key]
            with self._writing():
                line = system.read_at(self._file.fileno(), length, offset)
        try:
            solution = _solution(_load(line))
            check_solution(board, solution.tiles or (), goal, size)
        except WrongAnswerError as error:
            raise InputError(f"the log {self._path} is damaged: {error}; name another with --log") from None
        except (ValueError, TypeError, KeyError):
            raise InputError(f"the log {self._path} was changed while it is in use; start again") from None
        return solution

    def checkpoint(self, board: "Tiles", goal: "Tiles") -> "_LoggedCheckpoint":
        """Return the checkpoint of `board`. Its methods raise `DiskFullError`, `OutputError`."""
        with self._lock:
            return self._checkpoint(_key(board, goal))

    def _checkpoint(self, key: "_Key") -> "_LoggedCheckpoint":
        def write(values: Values) -> None:
            with self._lock:
                self._append({"board": array("H", key[0]).tolist(), "goal": array("H", key[1]).tolist()} | values)

        if key not in self._checkpoints:
            self._checkpoints[key] = _LoggedCheckpoint(write)
        return self._checkpoints[key]

    def add(self, board: "Tiles", goal: "Tiles", answer: "Answer") -> None:
        """Append the answer for a solved board. For a board that was given up, the log keeps only the checkpoint.

        Raises `DiskFullError`, `OutputError`.
        """
        key = _key(board, goal)
        with self._lock:
            if isinstance(answer, UnsolvableError | MemoryLimitError) or answer.length is None:
                self._unlogged[key] = answer
            else:
                self._checkpoints.pop(key, None)
                self._lines[key] = self._append(asdict(answer))

    def _append(self, values: Values) -> tuple[int, int]:
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
                system.lock(file.fileno())
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

    def _read(self, header: Values) -> None:
        """Read the lines one by one, and remove an incomplete last line."""
        self._file.seek(0)
        line, first = self._file.readline(_MAX_HEADER), json.dumps(header).encode() + b"\n"
        if not line.endswith(b"\n"):
            if not first.startswith(line):
                raise self._foreign()
            self._file.truncate(0)
            self._file.write(first)
            self._file.flush()
            os.fsync(self._file.fileno())
            return
        self._check_header(line, header)
        offset = len(line)
        for number, line in enumerate(self._file, start=2):
            if not line.endswith(b"\n"):
                break
            try:
                self._read_line(_load(line), offset, len(line))
            except (ValueError, TypeError, KeyError, OverflowError):
                raise InputError(
                    f"line {number} of the log {self._path} is damaged; remove the line, or name another log"
                ) from None
            offset += len(line)
        self._file.truncate(offset)
        counts = {"finished": len(self._lines), "unfinished": len(self._checkpoints)}
        if any(counts.values()):
            found = " and ".join(plural(n, f"{kind} board") for kind, n in counts.items() if n)
            message(f"pdb: {found} in {self._path}")

    def _read_line(self, values: Values, offset: int, length: int) -> None:
        """Add a line of the file. Raises `ValueError`, `TypeError`, `KeyError`, `OverflowError`."""
        key = _key(values["board"], values["goal"])
        if "tiles" in values:
            _solution(values)
            self._lines[key] = offset, length
            self._checkpoints.pop(key, None)
        elif key not in self._lines:
            self._checkpoint(key).read(values)

    def _check_header(self, line: bytes, header: Values) -> None:
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
    # Boards of more than 16x16 have numbers above 255.
    return array("H", board).tobytes(), array("H", goal).tobytes()


def _shown(value: object) -> str:
    """Return a value of the header; of digests the first letters."""
    if isinstance(value, list):
        return as_typed(" ".join(str(item)[:12] for item in value))
    return "none" if value is None else as_typed(str(value), 40)


def _checksum(values: Values) -> str:
    return f"{zlib.crc32(json.dumps(values).encode()):08x}"


def _load(line: bytes) -> Values:
    """Return the values of a line. Raises `ValueError`, `KeyError`, `TypeError` if its checksum is wrong."""
    try:
        values = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(values, dict) or values.pop("check") != _checksum(values):
        raise ValueError("wrong checksum")
    return values


def _solution(values: Values) -> "Solution":
    """Return the solution of a line. Raises `TypeError`, `KeyError`."""
    from solver.solution import Solution

    lists = {name: tuple(values[name]) for name in ("board", "goal", "tiles")}
    iterations = tuple(Iteration(**iteration) for iteration in values["iterations"])
    return Solution(**(values | lists | {"iterations": iterations}))


class _LoggedCheckpoint(Checkpoint):
    """Checkpoint that appends finished thresholds and subtrees to a log. Thread-safe."""

    def __init__(self, write: Callable[[Values], None]) -> None:
        super().__init__()
        self._write = write
        self._unwritten: tuple[int, str, Subtrees] | None = None
        self._written_at = time.monotonic()

    def read(self, values: Values) -> None:
        """Add a line of the log. Raises `ValueError`, `TypeError`, `KeyError` if it is damaged."""
        if "thresholds" in values:
            super().finish_threshold(tuple(Iteration(*threshold) for threshold in values["thresholds"]))
            return
        threshold, division = values["threshold"], values["division"]
        more = Subtrees(_numbers(values["subtrees"]), values["generated"], values["expanded"], values["seconds"])
        if self.subtrees(threshold, division).numbers & more.numbers:
            raise ValueError("subtrees that are in an earlier line")
        super().finish_subtrees(threshold, division, more)

    def finish_subtrees(self, threshold: int, division: str, more: Subtrees) -> None:
        super().finish_subtrees(threshold, division, more)
        with self._lock:
            if self._unwritten is None:
                self._unwritten = threshold, division, Subtrees()
            self._unwritten[2].add(more)
            if time.monotonic() - self._written_at >= _WRITE_S:
                self._write_subtrees()

    def finish_threshold(self, finished: tuple[Iteration, ...]) -> None:
        super().finish_threshold(finished)
        with self._lock:
            self._unwritten = None
            if self.is_long:
                self._write({"thresholds": [astuple(iteration) for iteration in finished]})

    def flush(self) -> None:
        """Write what is not written yet."""
        with self._lock:
            self._write_subtrees()

    def _write_subtrees(self) -> None:
        if self._unwritten is None:
            return
        threshold, division, subtrees = self._unwritten
        self._unwritten = None
        self._written_at = time.monotonic()
        values = {"threshold": threshold, "division": division, "subtrees": _ranges(subtrees.numbers)}
        values |= {"generated": subtrees.generated, "expanded": subtrees.expanded, "seconds": subtrees.seconds}
        self._write(values)


def _ranges(numbers: Iterable[int]) -> str:
    """Return numbers as text: `0-57,60`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _numbers(text: str) -> set[int]:
    """Return the numbers of a text by `_ranges`."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers
