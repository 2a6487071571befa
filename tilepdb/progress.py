"""Progress on stderr: a line with a bar on a terminal, occasional lines in a log."""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from pdb_core.messages import one_line

if TYPE_CHECKING:
    from rich.progress import Progress

    from pdb_build import BuildPlan, BuildProgress


# Work of less time leaves no line in a log. Longer work leaves one then, and at each interval.
_LOG_AFTER_S, _LOG_EVERY_S = 10.0, 60.0


def note(text: str) -> None:
    """Print a sentence of the library on stderr."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"tilepdb: {one_line(text)}", file=sys.stderr, flush=True)


class ProgressLine:
    """Line of progress. Thread-safe; a context manager that removes the line."""

    def __init__(self, log: Callable[[str], None] | None = None) -> None:
        """Without a terminal, `log` gets the text from time to time."""
        self._log = log
        # A console of rich would follow FORCE_COLOR, and write control codes into a log.
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._bar: Progress | None = None
        self._started_at: float | None = None
        self._log_at = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, text: str, share: float | None = None) -> None:
        """Replace the line, with a bar and the time left if the finished `share` is known. Log it if it is time."""
        text, now = one_line(text), time.monotonic()
        with self._lock:
            if self._is_terminal:
                with suppress(OSError):  # the terminal was closed
                    self._draw(text, share)
            elif self._started_at is None:
                # From the first line on: before, kernels may have been compiled.
                self._started_at, self._log_at = now, now + _LOG_AFTER_S
            elif self._log is not None and now >= self._log_at:
                self._log_at = now + _LOG_EVERY_S
                self._log(f"after {now - self._started_at:.0f} s: {text}")

    def clear(self) -> None:
        """Remove the line before something else is written."""
        with self._lock, suppress(OSError):
            if self._bar is not None:
                self._bar.stop()

    def say(self, text: str) -> None:
        """Print a sentence that stays."""
        self.clear()
        if self._log is not None:
            self._log(text)

    def _draw(self, text: str, share: float | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        if self._bar is None:
            self._bar = Progress(
                BarColumn(10),
                TextColumn("{task.description}", markup=False),
                TimeRemainingColumn(),
                console=Console(file=sys.stderr),
                auto_refresh=False,  # which would start a thread
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.add_task("", total=None)
        self._bar.start()
        total = None if share is None else 1.0
        self._bar.update(self._bar.task_ids[0], description=text, completed=share or 0.0, total=total, refresh=True)


def show_build(line: ProgressLine, plan: "BuildPlan", progress: "BuildProgress") -> None:
    """Show the progress of a build; called once for each depth."""
    share = progress.n_reached / progress.n_states
    line.show(
        f"pattern {progress.pattern_index + 1} of {len(plan.patterns)} ({progress.pattern}): "
        f"depth {progress.depth}, {100 * share:.0f} % of {progress.n_states:,} states",
        plan.finished_share(progress.pattern_index, share),
    )
