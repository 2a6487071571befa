"""Bars of progress: in a terminal drawn by rich, in a notebook as HTML."""

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
# A line that would be removed within this time is not drawn, in seconds: drawing takes longer than an easy board.
_DELAY_S = 0.1
# Seconds between two updates in a notebook, each of which is a message to the browser.
_UPDATE_S = 0.2


class _ShareColumn(ProgressColumn):
    """Column with a bar of the finished share, empty if that is not known."""

    def render(self, task: Task) -> Bar:
        share = task.fields["share"]
        return Bar(1.0, share or 0.0, width=0 if share is None else _BAR_WIDTH)


class ProgressLine:
    """Line of progress on stderr, if that is a terminal; elsewhere nothing is shown."""

    def __init__(self) -> None:
        console = Console(file=sys.stderr, force_jupyter=False)
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
        self._absent_since = time.monotonic()

    def show(self, text: str, share: float | None = None) -> None:
        """Replace the line, with a bar of the finished `share` if that is known."""
        self._progress.update(self._task, description=text, share=share)
        if time.monotonic() - self._absent_since >= _DELAY_S:
            self._progress.start()

    def clear(self) -> None:
        """Remove the line."""
        if self._progress.live.is_started:
            self._progress.stop()
            self._absent_since = time.monotonic()


class NotebookLine:
    """Line of progress in a notebook, as HTML: rich would need widgets."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown_at = 0.0

    def show(self, text: str, share: float | None = None) -> None:
        """Show the line, or replace it a few times a second, with a bar of the finished `share` if that is known."""
        if time.monotonic() - self._shown_at < _UPDATE_S:
            return
        self._shown_at = time.monotonic()
        bar = "" if share is None else f'<progress value="{share:.3f}" max="1"></progress> '
        shown = {"text/html": bar + escape(text)}
        if self._handle is None:
            from IPython.display import display

            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def clear(self) -> None:
        """Remove the line."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
            self._handle = None


def _is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


class BuildBar:
    """Bar of a build, removed at the end: a context manager that returns the function to call with the progress."""

    def __init__(self, plan: "BuildPlan", instead: "Callable[[BuildProgress], None] | None" = None) -> None:
        """With `instead`, that function gets the progress, and there is no bar."""
        self._plan, self._instead = plan, instead
        self._line = NotebookLine() if _is_notebook() else ProgressLine()

    def __enter__(self) -> "Callable[[BuildProgress], None]":
        return self._instead or self._show

    def __exit__(self, *_: object) -> None:
        self._line.clear()

    def _show(self, progress: "BuildProgress") -> None:
        spec = self._plan.spec
        share = self._plan.finished_share(progress.pattern_index, progress.n_reached / progress.n_states)
        self._line.show(f"building {spec.partition.name} for {spec.size}", share)
