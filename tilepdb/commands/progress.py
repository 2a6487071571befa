"""Progress on stderr: one line with a bar on a terminal, occasional lines in a log."""

import math
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from pdb_core.messages import one_line
from tilepdb.commands.output import count, message, plural

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildProgress
    from pdb_cluster.solve_boards import ClusterProgress
    from pdb_query import Instance
    from solver import Checkpoint, Iteration
    from tilepdb.progress_bar import ProgressLine as DrawnLine

# In a log, a threshold is reported after this time, then at longer and longer intervals, in seconds.
_LOG_S, _MOST_LOG_S, _LOG_SHARE = 5.0, 60.0, 0.1
_BUILD_LOG_S = 10.0
# Delay of the line of a search, in seconds: to draw it takes longer than an easy board.
_SEARCH_DELAY_S = 0.1
# Interval at which the rate of a cluster is measured.
_RATE_S = 1.0
# The least finished share of a threshold from which the rest is estimated.
_LEAST_SHARE = 0.005


class ProgressLine:
    """Line of progress. Thread-safe; a context manager that removes the line."""

    def __init__(self, *, log_every_s: float = math.inf, delay_s: float = 0.0) -> None:
        """In a log, a line is printed every `log_every_s` seconds. On a terminal, one that is removed within `delay_s`
        seconds is not drawn.
        """
        self._delay_s = delay_s
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn: DrawnLine | None = None
        self._log_every_s, self._logged_at = log_every_s, time.monotonic()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, text: str, share: float | None = None, *, is_due: bool = False) -> None:
        """Replace the line on a terminal, with a bar if the finished share is known.

        In a log, print the line if it is time or `is_due`.
        """
        text = one_line(text)
        with self._lock:
            if self._live:
                if self._drawn is None:
                    from tilepdb.progress_bar import ProgressLine as DrawnLine  # imports rich

                    self._drawn = DrawnLine(delay_s=self._delay_s)
                self._drawn.show(text, share)
            elif is_due or time.monotonic() - self._logged_at >= self._log_every_s:
                self._logged_at = time.monotonic()
                message(f"pdb: {text}")

    def log(self, text: str) -> None:
        """Print a line that stays, on a terminal and in a log."""
        self.clear()
        message(text)

    def clear(self) -> None:
        """Remove the line before something else is written."""
        with self._lock:
            if self._drawn is not None:
                self._drawn.clear()


class BuildDisplay(ProgressLine):
    """Display of a build."""

    def __init__(self, plan: "BuildPlan") -> None:
        super().__init__(log_every_s=_BUILD_LOG_S)
        self._plan = plan

    def say(self, text: str) -> None:
        """Print a sentence that stays."""
        self.log(f"pdb: {text}")

    def show_build(self, progress: "BuildProgress") -> None:
        """Show the progress; called once for each depth."""
        share = progress.n_reached / progress.n_states
        self.show(
            f"pattern {progress.pattern_index + 1} of {len(self._plan.patterns)} ({progress.pattern}): "
            f"depth {progress.depth}, {100 * share:.0f} % of {count(progress.n_states)} states",
            self._plan.finished_share(progress.pattern_index, share),
        )


class SearchDisplay(ProgressLine):
    """Display of the threshold under way."""

    def __init__(self) -> None:
        super().__init__(delay_s=_SEARCH_DELAY_S)
        self._shown_at: dict[tuple[str, int], float] = {}

    def show_search(self, instance: "Instance", iteration: "Iteration", checkpoint: "Checkpoint") -> None:
        """Show a threshold; `checkpoint` holds its finished subtrees."""
        rate = iteration.generated / iteration.seconds / 1e6 if iteration.seconds > 0 else 0.0
        key = instance.id, iteration.threshold
        shown_at = self._shown_at.get(key, 0.0)
        is_due = iteration.seconds - shown_at >= min(_MOST_LOG_S, max(_LOG_S, _LOG_SHARE * shown_at))
        if is_due:
            self._shown_at[key] = iteration.seconds
        self.show(
            f"board {instance.id}: threshold {iteration.threshold}, {_estimates(iteration, checkpoint)}"
            f"{count(iteration.generated)} nodes, {iteration.seconds:.1f} s, {rate:.1f} million/s",
            checkpoint.share,
            is_due=is_due,
        )


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


class LabelDisplay(ProgressLine):
    """Display of a dataset that is being written."""

    def __init__(self, name: str, n_boards: int) -> None:
        """`name` is the file; it gets `n_boards`."""
        super().__init__(log_every_s=_BUILD_LOG_S)
        self._name, self._n_boards = name, n_boards
        self._first: int | None = None
        self._started_at = time.monotonic()

    def show_labels(self, n_done: int) -> None:
        """Show the number of finished boards. The first call says from where the run continues."""
        if self._first is None:
            self._first, self._started_at = n_done, time.monotonic()
            if n_done:
                self.log(f"pdb: {self._name} continues after {plural(n_done, 'board')} of {count(self._n_boards)}")
            return
        rate = (n_done - self._first) / max(time.monotonic() - self._started_at, 1e-9)
        left = _duration((self._n_boards - n_done) / rate)
        self.show(
            f"{count(n_done)} of {count(self._n_boards)} boards, {rate:,.0f} boards/s, about {left} left",
            n_done / self._n_boards,
        )


class ClusterDisplay(ProgressLine):
    """Display of boards that are solved on a cluster."""

    def __init__(self) -> None:
        super().__init__()
        self._rate = self._measured_s = self._logged_s = 0.0
        self._measured_nodes = 0
        self._had_workers = True

    def show_progress(self, progress: "ClusterProgress") -> None:
        """Show the progress."""
        passed = progress.seconds - self._measured_s
        if passed >= _RATE_S:
            self._rate = (progress.generated - self._measured_nodes) / passed
            self._measured_s, self._measured_nodes = progress.seconds, progress.generated
        threads = plural(progress.n_threads, "thread")
        has_workers = progress.n_threads > 0
        if has_workers != self._had_workers:
            self._had_workers = has_workers
            self.log(
                f"pdb: {threads} again, continuing"
                if has_workers
                else "pdb: all workers are gone; waiting for workers ..."
            )
        boards = "".join(
            f"; board {request.id}: threshold {at.threshold}, {count(at.generated)} nodes, {at.seconds:.0f} s"
            for request, at in progress.iterations
        )
        is_due = has_workers and progress.seconds - self._logged_s >= _LOG_S
        if is_due:
            self._logged_s = progress.seconds
        self.show(
            f"{count(progress.n_done)} of {count(progress.n_taken)} boards, {threads}, "
            f"{self._rate / 1e6:.1f} million/s{boards}",
            progress.n_done / max(1, progress.n_taken),
            is_due=is_due,
        )
