"""Bar of progress of a build, in a terminal and in a notebook."""

import sys
import time
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildProgress

# Seconds between two updates in a notebook, each of which is a message to the browser.
_UPDATE_S = 0.2


class _Bar(Protocol):
    def start(self) -> None:
        """Show the bar."""

    def show(self, share: float) -> None:
        """Show a share from 0 to 1."""

    def stop(self) -> None:
        """Remove the bar."""


class BuildBar:
    """Bar of a build, removed at the end: a context manager that returns the function to call with the progress.

    Without a terminal or a notebook nothing is shown.
    """

    def __init__(self, plan: "BuildPlan", instead: "Callable[[BuildProgress], None] | None" = None) -> None:
        """With `instead`, that function gets the progress, and there is no bar."""
        self._plan, self._instead = plan, instead
        text = f"building {plan.spec.partition.name} for {plan.spec.size}"
        self._bar: _Bar = _NotebookBar(text) if _is_notebook() else _TerminalBar(text)

    def __enter__(self) -> "Callable[[BuildProgress], None]":
        if self._instead is not None:
            return self._instead
        self._bar.start()
        return self._show

    def __exit__(self, *_: object) -> None:
        if self._instead is None:
            self._bar.stop()

    def _show(self, progress: "BuildProgress") -> None:
        before = sum(entry.n_entries for entry in self._plan.patterns[: progress.pattern_index] if entry.use is None)
        here = self._plan.patterns[progress.pattern_index].n_entries * progress.n_reached / progress.n_states
        self._bar.show((before + here) / self._plan.n_entries)


def _is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


class _TerminalBar:
    def __init__(self, text: str) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._bar.disable = not self._bar.console.is_terminal
        self._task = self._bar.add_task(text, total=1.0)

    def start(self) -> None:
        self._bar.start()

    def show(self, share: float) -> None:
        self._bar.update(self._task, completed=share)

    def stop(self) -> None:
        self._bar.stop()


class _NotebookBar:
    """Bar as HTML, which needs no widgets."""

    def __init__(self, text: str) -> None:
        self._text, self._shown_at = text, 0.0
        self._handle: Any = None

    def _html(self, share: float) -> dict[str, str]:
        return {"text/html": f'<progress value="{share:.3f}" max="1"></progress> {escape(self._text)}'}

    def start(self) -> None:
        from IPython.display import display

        self._handle = display(self._html(0.0), raw=True, display_id=True)

    def show(self, share: float) -> None:
        if self._handle is not None and time.monotonic() - self._shown_at >= _UPDATE_S:
            self._shown_at = time.monotonic()
            self._handle.update(self._html(share), raw=True)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
