"""Show the progress of searches, datasets and clusters in a line on stderr."""

from typing import TYPE_CHECKING

from tilepdb.commands.output import message, plural
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_cluster.boards import ClusterProgress
    from solver.answers.requests import Request
    from solver.engine.checkpoint import Checkpoint
    from solver.progress import Iteration


def show_search(
    line: ProgressLine, request: "Request", iteration: "Iteration", checkpoint: "Checkpoint", *, n_done: int = 0
) -> None:
    """Show how many boards are finished, and the threshold of a board; if it is divided, also its finished share."""
    share, seconds = checkpoint.share, iteration.seconds
    done = "" if share is None else f"{share:.0%} done, "
    boards = f"{plural(n_done, 'board')} done; " if n_done else ""
    line.show(
        f"{boards}board {request.id}: threshold {iteration.threshold}, {done}{iteration.generated:,} nodes, "
        f"{seconds:.1f} s, {iteration.generated / max(seconds, 1e-9) / 1e6:.1f} million/s",
        share,
    )


class LabelDisplay(ProgressLine):
    """Display of a dataset that is being written."""

    def __init__(self, name: str, n_boards: int) -> None:
        """`name` is the file; it gets `n_boards`."""
        super().__init__(message)
        self._name, self._n_boards = name, n_boards
        self._n_done: int | None = None

    def __exit__(self, *error: object) -> None:
        super().__exit__()
        if error[0] is not None and self._n_done is not None:
            self.say(
                f"{self._name}.partial has {self._n_done:,} of {self._n_boards:,} boards; the same command continues"
            )

    def show_labels(self, n_done: int) -> None:
        """Show the number of finished boards. The first call says from where the run continues."""
        if self._n_done is None and n_done:
            self.say(f"{self._name} continues after {plural(n_done, 'board')} of {self._n_boards:,}")
        self._n_done = n_done
        self._show("")

    def show_threshold(self, iteration: "Iteration") -> None:
        """Show the threshold of a hard board."""
        self._show(f"; threshold {iteration.threshold}, {iteration.seconds:.0f} s")

    def _show(self, threshold: str) -> None:
        n_done = self._n_done or 0
        self.show(f"{n_done:,} of {self._n_boards:,} boards{threshold}", n_done / max(1, self._n_boards))


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
