"""What is finished of the search of one board: whole thresholds, and subtrees of the threshold under way."""

import threading
from dataclasses import dataclass

from solver.progress import Iteration

# Nodes of a threshold after which the next one is divided into subtrees: some 4 s on one core.
DIVIDE_ABOVE = 200_000_000


@dataclass(frozen=True)
class Subtrees:
    """Subtrees of a threshold that were searched to their end and hold no solution.

    numbers  indices in the list of the threshold's subtrees
    generated, expanded  nodes of these subtrees
    seconds  of the search of the threshold until these subtrees were finished, in all runs
    """

    numbers: frozenset[int] = frozenset()
    generated: int = 0
    expanded: int = 0
    seconds: float = 0.0

    def with_(self, more: "Subtrees") -> "Subtrees":
        """Return both together; `more` was finished later."""
        return Subtrees(
            self.numbers | more.numbers,
            self.generated + more.generated,
            self.expanded + more.expanded,
            max(self.seconds, more.seconds),
        )


class Checkpoint:
    """Finished thresholds and subtrees of the search of one board, in memory. Thread-safe.

    A subclass that stores them lets a later search of the same board, with the same tables and method, continue.

    finished  thresholds that were searched to their end, from the first one on
    share     the estimated share of nodes that is finished in the threshold under way; None if it is not divided
    """

    def __init__(self, finished: tuple[Iteration, ...] = ()) -> None:
        self.finished = finished
        self.share: float | None = None
        self._lock = threading.Lock()

    def resume(self, finished: tuple[Iteration, ...], first: int) -> tuple[Iteration, ...]:
        """Return the finished thresholds, at least those in `finished`; the first threshold of the board is `first`.

        A checkpoint whose thresholds do not follow each other from the first one on is ignored.
        """
        kept = self.finished
        if [iteration.threshold for iteration in kept] != list(range(first, first + 2 * len(kept), 2)):
            kept = ()
        self.finished = kept if len(kept) > len(finished) else finished
        return self.finished

    def finish_threshold(self, finished: tuple[Iteration, ...]) -> None:
        """Take note of all finished thresholds; the last one is new."""
        with self._lock:
            self.finished, self.share = finished, None

    def subtrees(self, threshold: int, division: str) -> Subtrees:
        """Return the finished subtrees of a threshold; `division` is the digest of the list of its subtrees."""
        return Subtrees()

    def finish_subtree(self, threshold: int, division: str, subtree: Subtrees) -> None:
        """Take note of a finished subtree."""
