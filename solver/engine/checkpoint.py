"""Checkpoint of the search of one board: finished thresholds, and finished subtrees of the threshold under way."""

import threading
from dataclasses import dataclass, field

from pdb_core.errors import InputError
from pdb_core.puzzle import Tiles
from solver.progress import Iteration


@dataclass
class Subtrees:
    """Subtrees of a threshold that were searched to their end: a record of the log, with its names.

    Parameters
    ----------
    threshold, division
        The threshold, and the digest of the list of its subtrees.
    subtrees
        Indices in that list.
    generated, expanded
        Nodes of these subtrees.
    seconds
        Time that the search of the threshold took until these subtrees were finished, in all runs.
    solutions
        Number of solutions in these subtrees; without `solve_all` there is none.
    solution
        One of them, in the terms of the tables.
    """

    threshold: int
    division: str
    subtrees: set[int] = field(default_factory=set)
    generated: int = 0
    expanded: int = 0
    seconds: float = 0.0
    solutions: int = 0
    solution: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[int, str]:
        return self.threshold, self.division

    def add(self, more: "Subtrees") -> None:
        """Add other subtrees of the same list."""
        # Ctrl-C may come at a call: the rest, which belongs together, has none.
        self.seconds = max(self.seconds, more.seconds)
        self.subtrees |= more.subtrees
        self.generated += more.generated
        self.expanded += more.expanded
        self.solutions += more.solutions
        self.solution = more.solution or self.solution


class Checkpoint:
    """Finished thresholds and subtrees of the search of one board, in memory. Thread-safe.

    Pass it to `Solver.solve`. A later search of the same board and goal, with the same tables and method, continues
    from there; any other search refuses the checkpoint.

    Attributes
    ----------
    finished
        Thresholds that were searched to their end, from the first one on.
    share
        Estimated share of nodes that is finished in the threshold under way; None if it is not divided.
    """

    def __init__(self) -> None:
        self.finished: tuple[Iteration, ...] = ()
        self.share: float | None = None
        self._lock = threading.Lock()
        # The board, goal and method of the first search.
        self._belongs_to: dict[str, object] = {}
        # By their keys.
        self._subtrees: dict[tuple[int, str], Subtrees] = {}

    @property
    def generated(self) -> int:
        """Nodes of the finished thresholds and subtrees."""
        with self._lock:
            finished: list[Iteration | Subtrees] = [*self.finished, *self._subtrees.values()]
            return sum(at.generated for at in finished)

    def begin(self, board: Tiles, goal: Tiles, method: object) -> None:
        """Begin or continue a search; `method` is all else that its nodes depend on.

        Raises `InputError` if the checkpoint belongs to another search, for which its thresholds prove nothing.
        """
        search = {"board": board, "goal": goal, "method": method}
        with self._lock:
            self._belongs_to = self._belongs_to or search
            for name, value in search.items():
                if self._belongs_to[name] != value:
                    raise InputError(f"the checkpoint belongs to the search of another {name}; use a new Checkpoint()")

    def resume(self, finished: tuple[Iteration, ...]) -> None:
        """Record the finished thresholds of this run, unless more are known."""
        self.finished = max(finished, self.finished, key=len)

    def finish_threshold(self, finished: tuple[Iteration, ...]) -> None:
        """Record all finished thresholds; the last one is new."""
        with self._lock:
            self.finished, self.share = finished, None
            # A log has subtrees of later thresholds if this one took too little time for a record.
            last = finished[-1].threshold
            self._subtrees = {key: kept for key, kept in self._subtrees.items() if key[0] > last}

    def has_subtrees(self, threshold: int) -> bool:
        """Return whether subtrees of a threshold are finished."""
        with self._lock:
            return any(key[0] == threshold for key in self._subtrees)

    def subtrees(self, threshold: int, division: str) -> Subtrees:
        """Return the finished subtrees of a threshold; `division` is the digest of the list of its subtrees."""
        subtrees = Subtrees(threshold, division)
        with self._lock:
            subtrees.add(self._subtrees.get(subtrees.key, subtrees))
        return subtrees

    def finish_subtrees(self, more: Subtrees) -> bool:
        """Record finished subtrees. Returns whether they are new: two searches at a time may finish the same."""
        with self._lock:
            known = self._subtrees.setdefault(more.key, Subtrees(*more.key))
            is_new = not known.subtrees & more.subtrees
            if is_new:
                known.add(more)
            return is_new
