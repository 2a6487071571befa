"""Log of solved boards and checkpoints, from which a run continues after a crash or Ctrl-C.

The log is a journal whose records are solved boards and parts of the checkpoints of boards. docs/how-to/long-runs.md
describes the file.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, Self

from pdb_core.errors import InputError, PdbError, WrongAnswerError
from solver.answers.journal import KIND, Journal, Place, Values, record_values
from solver.answers.requests import Answer, Log, Request, request_key
from solver.engine.checkpoint import Checkpoint, Subtrees
from solver.progress import Iteration
from solver.solution import Solution, check_replay

# Seconds of a finished threshold that is worth a record.
_LONG_S = 0.5


class AnswerLog(Log):
    """Answers and checkpoints in a log file. Thread-safe; a context manager."""

    def __init__(self, path: Path, method: Values, *, write_s: float = 5.0) -> None:
        """Open or create the log. `method` holds the settings that all its answers share.

        The subtrees of a board have a record every `write_s` seconds, so that the log of a long run stays small.

        Raises what `Journal` raises, and `InputError` if a record is damaged.
        """
        self._lock = threading.Lock()
        self._write_s = write_s
        self._finds_all = bool(method.get("all"))
        # Place of each solved board: all answers may not fit into memory.
        self._solved: dict[bytes, Place] = {}
        self._checkpoints: dict[bytes, _LoggedCheckpoint] = {}
        # Nodes that earlier runs generated for the answers of this one.
        self.generated_before = 0
        self._path = path
        try:
            self._journal = Journal(path, method, self._read)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise error if isinstance(error, PdbError) else self._damaged(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._journal:
            for checkpoint in list(self._checkpoints.values()):
                checkpoint.flush()

    @property
    def n_solved(self) -> int:
        """Number of solved boards."""
        return len(self._solved)

    @property
    def n_unfinished(self) -> int:
        """Number of boards with a checkpoint and without an answer."""
        return len(self._checkpoints)

    def known(self, request: Request) -> Solution | None:
        """Return the solution in the log, replayed, or None. Raises `InputError` if it is wrong."""
        place = self._solved.get(request.key)
        if place is None:
            return None
        try:
            solution = _solution(self._journal.read(place))
            check_replay(request.board, solution.moves or (), request.goal, request.size)
        except WrongAnswerError as error:
            raise self._damaged(error) from None
        with self._lock:
            self.generated_before += solution.generated
        return replace(solution, board=request.board)

    def finish(self, answer: Answer) -> None:
        """Append the answer of a solved board. For a board that was given up, the log keeps only the checkpoint.

        Raises `DiskFullError`, `OutputError`.
        """
        request, result = answer.request, answer.result
        if not isinstance(result, Solution) or not self._is_final(result):
            return
        with self._lock:
            self._checkpoints.pop(request.key, None)
            # Equal boards that are read together are all searched.
            if request.key not in self._solved:
                self._solved[request.key] = self._journal.append({"width": request.size.width} | vars(result))

    def _is_final(self, solution: Solution) -> bool:
        """Return False if a limit ended the search: without a solution, or before all solutions were counted."""
        return solution.length is not None and (solution.is_complete or not self._finds_all)

    def checkpoint(self, request: Request) -> Checkpoint:
        """Return the checkpoint of a board. Its methods raise `DiskFullError`, `OutputError`."""
        checkpoint = self._checkpoint({"width": request.size.width, "board": request.board, "goal": request.goal})
        with self._lock:
            self.generated_before += checkpoint.generated
        return checkpoint

    def _checkpoint(self, names: Values) -> "_LoggedCheckpoint":
        """Return the checkpoint of a board with this width and goal."""
        with self._lock:
            return self._checkpoints.setdefault(
                _key(names), _LoggedCheckpoint(lambda values: self._journal.append(names | values), self._write_s)
            )

    def _read(self, place: Place, values: Values) -> None:
        """Take a record of the file. Raises `ValueError`, `TypeError`, `KeyError`, `OverflowError`."""
        key = _key(values)
        if "moves" in values:
            # Earlier versions also logged counts that a limit had ended.
            if self._is_final(_solution(values)):
                self._solved[key] = place
                self._checkpoints.pop(key, None)
        elif key not in self._solved:
            self._checkpoint({name: values.pop(name) for name in ("width", "board", "goal")}).read(values)

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"the log {self._path} is damaged: {error}; choose another log")


def _key(values: Values) -> bytes:
    """Return the key of the request that a record is about. Raises `TypeError`, `KeyError`, `OverflowError`."""
    return request_key(values["width"], values["board"], values["goal"])


def _solution(values: Values) -> Solution:
    """Return the solution of a record. Raises `TypeError`, `KeyError`."""
    fields = {name: value for name, value in values.items() if name != "width"}
    lists: dict[str, Any] = {name: tuple(values[name]) for name in ("board", "goal", "moves")}
    thresholds = tuple(Iteration(**threshold) for threshold in values["thresholds"])
    return Solution(**(fields | lists | {"thresholds": thresholds}))


def read_log(path: Path) -> list[Values] | None:
    """Return the last record of each board in a log, which may be in use; None if the file is no log."""
    with suppress(OSError), path.open("rb") as file:
        if file.readline().startswith(f'{{"journal": "{KIND}"'.encode()):
            records = iter(lambda: record_values(file.readline()), None)
            return [*{_key(values): values for values in records}.values()]
    return None


class _LoggedCheckpoint(Checkpoint):
    """Checkpoint that appends finished thresholds and subtrees to a log. Thread-safe."""

    def __init__(self, write: Callable[[Values], object], write_s: float) -> None:
        super().__init__()
        self._write, self._write_s = write, write_s
        # As `_subtrees`.
        self._unwritten: dict[tuple[int, str], Subtrees] = {}
        self._written_at = time.monotonic()

    def read(self, values: Values) -> None:
        """Add a record of the log. Raises `ValueError`, `TypeError`, `KeyError` if it is damaged."""
        if "thresholds" in values:
            super().finish_threshold(tuple(Iteration(*threshold) for threshold in values["thresholds"]))
            return
        sets = {"subtrees": set(values["subtrees"]), "solution": tuple(values.get("solution", ()))}
        if not super().finish_subtrees(Subtrees(**(values | sets))):
            raise ValueError("subtrees that are in an earlier line")

    def finish_subtrees(self, more: Subtrees) -> bool:
        if not super().finish_subtrees(more):
            return False
        with self._lock:
            self._unwritten.setdefault(more.key, Subtrees(*more.key)).add(more)
            if time.monotonic() - self._written_at >= self._write_s:
                self._write_subtrees()
        return True

    def finish_threshold(self, finished: tuple[Iteration, ...]) -> None:
        super().finish_threshold(finished)
        with self._lock:
            self._unwritten.clear()
            if finished[-1].seconds >= _LONG_S:
                self._write({"thresholds": [astuple(iteration) for iteration in finished]})

    def flush(self) -> None:
        """Write what is not written yet."""
        with self._lock:
            self._write_subtrees()

    def _write_subtrees(self) -> None:
        unwritten, self._unwritten = self._unwritten, {}
        self._written_at = time.monotonic()
        for subtrees in unwritten.values():
            self._write(vars(subtrees) | {"subtrees": sorted(subtrees.subtrees)})
