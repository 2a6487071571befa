"""Bars of progress in a terminal and in a notebook."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildProgress


class BuildBar:
    """Bar of a build, removed at the end: a context manager that returns the function to call with the progress."""

    def __init__(self, plan: "BuildPlan", instead: "Callable[[BuildProgress], None] | None" = None) -> None:
        """With `instead`, that function gets the progress, and there is no bar."""
        from rich.console import Console
        from rich.progress import Progress

        self._plan, self._instead = plan, instead
        # Without a terminal or a notebook nothing is shown.
        self._bar = Progress(console=Console(stderr=True), transient=True, disable=instead is not None)
        self._task = self._bar.add_task(
            f"building {plan.spec.partition.name} for {plan.spec.size}", total=plan.n_entries
        )

    def __enter__(self) -> "Callable[[BuildProgress], None]":
        self._bar.start()
        return self._instead or self._show

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _show(self, progress: "BuildProgress") -> None:
        before = sum(entry.n_entries for entry in self._plan.patterns[: progress.pattern_index] if entry.use is None)
        here = self._plan.patterns[progress.pattern_index].n_entries
        self._bar.update(self._task, completed=before + here * progress.n_reached / progress.n_states)
