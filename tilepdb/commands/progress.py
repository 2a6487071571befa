"""Displays of the commands' work, each a line of progress on stderr."""

import time
from typing import TYPE_CHECKING

from tilepdb.commands.output import message, plural
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_cluster.boards import ClusterProgress
    from solver import Checkpoint, Iteration
    from solver.answers.requests import Request

# Delay of the line of a search, in seconds: to draw it takes longer than an easy board.
_SEARCH_DELAY_S = 0.1
# Seconds after which a log says that boards are being labelled.
_FIRST_LABELS_S = 1.0
# The least finished share of a threshold from which the rest is estimated.
_LEAST_SHARE = 0.005


class SearchDisplay(ProgressLine):
    """Display of the threshold under way."""

    def __init__(self) -> None:
        super().__init__(message, delay_s=_SEARCH_DELAY_S)
        # The first report of each divided threshold; boards that are solved quickly have none.
        self._began: dict[tuple[str, int], Iteration] = {}

    def show_search(self, request: "Request", iteration: "Iteration", checkpoint: "Checkpoint") -> None:
        """Show a threshold; `checkpoint` holds its finished subtrees."""
        nodes, seconds = iteration.generated, iteration.seconds
        if checkpoint.share is not None:
            # A log may continue the threshold of another machine, so only nodes that are generated here tell the speed.
            began = self._began.setdefault((request.id, iteration.threshold), iteration)
            if nodes > began.generated and seconds > began.seconds:
                nodes, seconds = nodes - began.generated, seconds - began.seconds
        speed = nodes / seconds if seconds > 0 else 0.0
        self.show(
            f"board {request.id}: threshold {iteration.threshold}, {_estimates(iteration, checkpoint, speed)}"
            f"{iteration.generated:,} nodes, {iteration.seconds:.1f} s, {speed / 1e6:.1f} million/s",
            checkpoint.share,
        )


def _estimates(iteration: "Iteration", checkpoint: "Checkpoint", speed: float) -> str:
    """Return the finished share of a divided threshold, the time left at `speed`, and the time of the next one."""
    share = checkpoint.share
    if share is None:
        return ""
    if share < _LEAST_SHARE or not speed:
        return f"{share:.0%} done, "
    whole = iteration.generated / share
    before, last = (finished.generated for finished in checkpoint.finished[-2:])
    left, following = _duration((whole - iteration.generated) / speed), _duration(whole * last / before / speed)
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
    return f"{hours // 24:,} d {hours % 24} h"


class LabelDisplay(ProgressLine):
    """Display of a dataset that is being written."""

    def __init__(self, name: str, n_boards: int) -> None:
        """`name` is the file; it gets `n_boards`."""
        super().__init__(message, first_log_s=_FIRST_LABELS_S)
        self._name, self._n_boards = name, n_boards
        self._first: int | None = None
        self._n_done, self._started_at = 0, time.monotonic()

    def __exit__(self, *error: object) -> None:
        super().__exit__()
        if error[0] is not None and self._first is not None:
            self.say(
                f"{self._name}.partial has {self._n_done:,} of {self._n_boards:,} boards; the same command continues"
            )

    def show_labels(self, n_done: int) -> None:
        """Show the number of finished boards. The first call says from where the run continues."""
        self._n_done = n_done
        if self._first is None:
            self._first, self._started_at = n_done, time.monotonic()
            if n_done:
                self.say(f"{self._name} continues after {plural(n_done, 'board')} of {self._n_boards:,}")
        self._show("")

    def show_threshold(self, iteration: "Iteration") -> None:
        """Show the threshold of a hard board."""
        self._show(f"; threshold {iteration.threshold}, {iteration.seconds:.0f} s")

    def _show(self, threshold: str) -> None:
        pace = ""
        if n_new := self._n_done - (self._first or 0):
            rate = n_new / max(time.monotonic() - self._started_at, 1e-9)
            pace = f", {rate:,.0f} boards/s, about {_duration((self._n_boards - self._n_done) / rate)} left"
        share = self._n_done / max(1, self._n_boards)
        self.show(f"{self._n_done:,} of {self._n_boards:,} boards{pace}{threshold}", share)


class ClusterDisplay(ProgressLine):
    """Display of boards that are solved on a cluster."""

    def __init__(self) -> None:
        super().__init__(message)
        self._had_workers = True

    def show_progress(self, progress: "ClusterProgress") -> None:
        """Show the progress."""
        threads, has_workers = plural(progress.n_threads, "thread"), progress.n_threads > 0
        if has_workers != self._had_workers:
            self._had_workers = has_workers
            gone = "all workers are gone; waiting for workers ..."
            self.say(f"{threads} again, continuing" if has_workers else gone)
        boards = "".join(
            f"; board {request.id}: threshold {at.threshold}, {at.generated:,} nodes, {at.seconds:.0f} s"
            for request, at in progress.thresholds
        )
        rate = progress.generated / max(progress.seconds, 1e-9) / 1e6
        self.show(
            f"{progress.n_done:,} of {progress.n_taken:,} boards, {threads}, {rate:.1f} million/s{boards}",
            progress.n_done / max(1, progress.n_taken),
        )
