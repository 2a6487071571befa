"""Progress of a search: a line on a terminal, occasional lines in a log of stderr."""

import sys
import threading
from typing import TYPE_CHECKING

from pdb_cli.output import ProgressLine, count, message

if TYPE_CHECKING:
    from pdb_query import Instance
    from solver import Checkpoint, Iteration

# Without a terminal, a threshold is reported after this time, then at longer and longer intervals.
_LOG_S, _MOST_LOG_S = 5.0, 60.0
_LOG_SHARE = 0.1
# The least finished share of a threshold from which the rest is estimated.
_LEAST_SHARE = 0.005


class SearchDisplay:
    """Display of the threshold under way. Thread-safe."""

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._lock = threading.Lock()
        self._shown_at: dict[tuple[str, int], float] = {}

    def show(self, instance: "Instance", iteration: "Iteration", checkpoint: "Checkpoint") -> None:
        """Show a threshold; `checkpoint` holds its finished subtrees."""
        rate = iteration.generated / iteration.seconds / 1e6 if iteration.seconds > 0 else 0.0
        text = (
            f"board {instance.id}: threshold {iteration.threshold}, {_estimates(iteration, checkpoint)}"
            f"{count(iteration.generated)} nodes, {iteration.seconds:.1f} s, {rate:.1f} million/s"
        )
        with self._lock:
            self._line.show(text)
            key = instance.id, iteration.threshold
            shown_at = self._shown_at.get(key, 0.0)
            interval = min(_MOST_LOG_S, max(_LOG_S, _LOG_SHARE * shown_at))
            if iteration.seconds - shown_at >= interval and not sys.stderr.isatty():
                self._shown_at[key] = iteration.seconds
                message(f"pdb: {text}")

    def clear(self) -> None:
        """Remove the line."""
        with self._lock:
            self._line.clear()


def _estimates(iteration: "Iteration", checkpoint: "Checkpoint") -> str:
    """Return the finished share of a divided threshold, the time left, and the time of the next threshold."""
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
