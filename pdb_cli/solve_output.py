"""How solutions are shown, and the search while it goes on."""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from pdb_cli.output import Format, ProgressLine, Record, count, message, plural

if TYPE_CHECKING:
    from pdb_core.puzzle import Board
    from pdb_query import Instance
    from solver import Checkpoint, Iteration

# In a log, a threshold that takes at least so long is reported: after that time, then at longer and longer intervals.
_LOG_S, _MOST_LOG_S = 5.0, 60.0
_LOG_SHARE = 0.1
# The least finished share of a threshold from which the rest is estimated.
_LEAST_SHARE = 0.005


class Listing:
    """Writes every shortest solution to stdout as it is found, a line each."""

    def __init__(self, output: Format) -> None:
        self._output = output
        self._lock = threading.Lock()

    def of(self, board_id: str) -> "Callable[[tuple[int, ...]], None]":
        """What writes the solutions of one board; it may be called from any thread."""

        def write(tiles: tuple[int, ...]) -> None:
            line = f"{board_id}: {' '.join(map(str, tiles))}"
            if self._output is Format.ndjson:
                line = json.dumps({"id": board_id, "solution": list(tiles)})
            with self._lock:
                print(line, flush=True)

        return write


class SearchDisplay:
    """Shows the threshold being searched on a terminal; in a log, thresholds that took long."""

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._lock = threading.Lock()
        self._told: dict[tuple[str, int], float] = {}

    def show(self, instance: "Instance", iteration: "Iteration", checkpoint: "Checkpoint | None") -> None:
        """Called from the searching threads, every fraction of a second. `checkpoint` holds what is finished."""
        rate = iteration.generated / iteration.seconds / 1e6 if iteration.seconds > 0 else 0.0
        outlook = "" if checkpoint is None else _outlook(iteration, checkpoint)
        text = (
            f"board {instance.id}: threshold {iteration.threshold}, {outlook}{count(iteration.generated)} nodes, "
            f"{iteration.seconds:.1f} s, "
            f"{rate:.1f} million/s"
        )
        with self._lock:
            self._line.show(text)
            key = instance.id, iteration.threshold
            told = self._told.get(key, 0.0)
            interval = min(_MOST_LOG_S, max(_LOG_S, _LOG_SHARE * told))
            if iteration.seconds - told >= interval and not sys.stderr.isatty():
                self._told[key] = iteration.seconds
                message(f"pdb: {text}")

    def clear(self) -> None:
        with self._lock:
            self._line.clear()


def _outlook(iteration: "Iteration", checkpoint: "Checkpoint") -> str:
    """Return what is finished of a divided threshold, and estimates of the time it and the next one take."""
    share = checkpoint.share
    if share is None:
        return ""
    if share < _LEAST_SHARE:
        return f"{share:.0%} done, "
    whole = iteration.seconds / share
    before, last = (finished.generated for finished in checkpoint.finished[-2:])
    left, following = _duration(whole - iteration.seconds), _duration(whole * last / before)
    return f"{share:.0%} done, about {left} left (next: {following}), "


def _duration(seconds: float) -> str:
    """Return a duration in two units at most: `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if minutes < 100:
        return f"{minutes} min"
    if hours < 48:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{count(hours // 24)} d {hours % 24} h"


def tell_unsolvable(instance: "Instance", goal: "Board", word: Callable[[int], str]) -> None:
    """Say on stderr why a board cannot be solved; `word` is what a tile is called."""
    from pdb_core.messages import shorten
    from pdb_core.puzzle import why_unsolvable

    shown = shorten(" ".join(map(word, instance.board)))
    message(f"pdb: board {shown} cannot be solved: {why_unsolvable(instance.board, goal, instance.size)}")


def solutions_text(records: Iterable[Record]) -> Iterator[str]:
    """The lines of `--format text`."""
    for record in records:
        if not record["solvable"]:
            yield f"{record['id']}: cannot be solved"
        elif record["length"] is None:
            least = "" if record["lower_bound"] is None else f" at least {record['lower_bound']} moves,"
            yield (f"{record['id']}: given up,{least} {count(record['generated'])} nodes, {record['seconds']:.2f} s")
        else:
            yield (
                f"{record['id']}: {plural(record['length'], 'move')}, {_quality(record)}; h {record['h']}, "
                f"{count(record['generated'])} nodes, "
                f"{record['seconds']:.2f} s"
            )
            yield f"  {' '.join(map(str, record['moves']))}"


def _quality(record: Record) -> str:
    """How good a solution is proved to be."""
    if record["optimal"]:
        if "solutions" not in record:
            return "the shortest"
        return f"the shortest of {count(record['solutions'])}" if record["all_solutions"] else "the shortest of many"
    least = f"the shortest has at least {record['lower_bound']}"
    return least if record["bound"] is None else f"at most {record['bound']:g} times the shortest; {least}"
