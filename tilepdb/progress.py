"""Progress on stderr: a line with a bar on a terminal and in a notebook, occasional lines in a log."""

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from pdb_core.messages import one_line

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildProgress

_BAR_WIDTH = 20
# Seconds between two lines in a log.
_LOG_EVERY_S = 60.0


def note(text: str) -> None:
    """Print a sentence of the library on stderr."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"tilepdb: {one_line(text)}", file=sys.stderr, flush=True)


class ProgressLine:
    """Line of progress. Thread-safe; a context manager that removes the line."""

    def __init__(
        self, log: Callable[[str], None] | None = None, *, delay_s: float = 0.0, first_log_s: float = _LOG_EVERY_S
    ) -> None:
        """Without a terminal, `log` gets the text after `first_log_s` seconds, and then once a minute.

        On a terminal, a line that is removed within `delay_s` seconds is not drawn.
        """
        self._log, self._delay_s, self._first_log_s = log, delay_s, first_log_s
        # A console of rich would follow FORCE_COLOR, and write control codes into a log.
        is_terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._draw = self._draw_line if is_terminal else self._draw_in_notebook if _is_notebook() else None
        self._bar: Any = None
        self._columns: Any = ()
        self._absent_since = time.monotonic()
        # From the first line on: before, kernels may have been compiled.
        self._logged_at = math.inf
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, text: str, share: float | None = None) -> None:
        """Replace the line, with a bar of the finished `share` if it is known. In a log, print it if it is time."""
        text, now = one_line(text), time.monotonic()
        with self._lock:
            if self._draw is not None:
                if now - self._absent_since >= self._delay_s:
                    with suppress(OSError, RuntimeError):  # the terminal was closed, or no thread can be started
                        self._draw(text, share)
                return
            if self._logged_at == math.inf:
                self._logged_at = now + self._first_log_s - _LOG_EVERY_S
            if self._log is not None and now - self._logged_at >= _LOG_EVERY_S:
                self._logged_at = now
                self._log(text)

    def clear(self) -> None:
        """Remove the line before something else is written."""
        with self._lock:
            if self._bar is not None and self._draw == self._draw_line:
                with suppress(OSError):
                    self._bar.stop()
            self._absent_since = time.monotonic()

    def say(self, text: str) -> None:
        """Print a sentence that stays."""
        self.clear()
        if self._log is not None:
            self._log(text)

    def _draw_line(self, text: str, share: float | None) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn
            from rich.table import Column

            self._bar = Progress(
                BarColumn(_BAR_WIDTH),
                TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
                console=Console(file=sys.stderr),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.add_task("", total=1.0)
            self._columns = self._bar.columns
        self._bar.columns = self._columns if share is not None else self._columns[1:]
        self._bar.update(self._bar.task_ids[0], description=text, completed=share or 0.0)
        self._bar.start()

    def _draw_in_notebook(self, _text: str, share: float | None) -> None:
        if self._bar is None:
            from IPython.display import ProgressBar

            self._bar = ProgressBar(100)
            self._bar.display()
        self._bar.progress = round(100 * (share or 0.0))


class BuildLine(ProgressLine):
    """Line of progress of a build."""

    def __init__(self, plan: "BuildPlan", log: Callable[[str], None] | None = None) -> None:
        super().__init__(log)
        self._plan = plan

    def show_build(self, progress: "BuildProgress") -> None:
        """Show the progress; called once for each depth."""
        share = progress.n_reached / progress.n_states
        self.show(
            f"pattern {progress.pattern_index + 1} of {len(self._plan.patterns)} ({progress.pattern}): "
            f"depth {progress.depth}, {100 * share:.0f} % of {progress.n_states:,} states",
            self._plan.finished_share(progress.pattern_index, share),
        )


def _is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"
