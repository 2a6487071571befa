"""Bars of progress in a terminal, drawn by rich, and in a notebook."""

import sys
import time
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task, TextColumn
from rich.progress_bar import ProgressBar as Bar
from rich.table import Column

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildProgress

_BAR_WIDTH = 20
# Seconds between two updates in a notebook, each of which is a message to the browser.
_UPDATE_S = 0.2


class _ShareColumn(ProgressColumn):
    """Column with a bar of the finished share, empty if that is not known."""

    def render(self, task: Task) -> Bar:
        share = task.fields["share"]
        return Bar(1.0, share or 0.0, width=0 if share is None else _BAR_WIDTH)


class ProgressLine:
    """Line of progress on stderr in a terminal; elsewhere nothing is shown."""

    def __init__(self, *, delay_s: float = 0.0) -> None:
        """A line that is removed within `delay_s` seconds is not drawn."""
        console = Console(file=sys.stderr)
        self._progress = Progress(
            _ShareColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            # The console would follow FORCE_COLOR, and write control codes into a log.
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task("", share=None)
        self._delay_s, self._absent_since = delay_s, time.monotonic()

    def show(self, text: str, share: float | None = None) -> None:
        """Replace the line, with a bar of the finished `share` if that is known."""
        self._progress.update(self._task, description=text, share=share)
        if time.monotonic() - self._absent_since >= self._delay_s:
            self._progress.start()

    def clear(self) -> None:
        """Remove the line."""
        if self._progress.live.is_started:
            self._progress.stop()
            self._absent_since = time.monotonic()


class BuildBar:
    """Bar of a build, removed at the end: a context manager that returns the function to call with the progress.

    Without a terminal or a notebook nothing is shown.
    """

    def __init__(self, plan: "BuildPlan", instead: "Callable[[BuildProgress], None] | None" = None) -> None:
        """With `instead`, that function gets the progress, and there is no bar."""
        self._plan, self._instead = plan, instead
        self._text = f"building {plan.spec.partition.name} for {plan.spec.size}"
        self._line: ProgressLine | _NotebookBar = _NotebookBar() if _is_notebook() else ProgressLine()

    def __enter__(self) -> "Callable[[BuildProgress], None]":
        if self._instead is not None:
            return self._instead
        self._line.show(self._text, 0.0)
        return self._show

    def __exit__(self, *_: object) -> None:
        self._line.clear()

    def _show(self, progress: "BuildProgress") -> None:
        share = self._plan.finished_share(progress.pattern_index, progress.n_reached / progress.n_states)
        self._line.show(self._text, share)


def _is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


class _NotebookBar:
    """Bar as HTML, which needs no widgets."""

    def __init__(self) -> None:
        self._shown_at = 0.0
        self._handle: Any = None

    def show(self, text: str, share: float) -> None:
        """Show the finished share of a text, or replace the one that is shown."""
        html = {"text/html": f'<progress value="{share:.3f}" max="1"></progress> {escape(text)}'}
        if self._handle is None:
            from IPython.display import display

            self._handle = display(html, raw=True, display_id=True)
        elif time.monotonic() - self._shown_at >= _UPDATE_S:
            self._shown_at = time.monotonic()
            self._handle.update(html, raw=True)

    def clear(self) -> None:
        """Remove the bar."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
