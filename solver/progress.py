"""Limits of a search, and the progress that it reports."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of a search: seconds, and generated nodes; None for no limit."""

    seconds: float | None = None
    nodes: int | None = None


# Limits of a search that only loads or compiles kernels. With sound tables a board one move from the goal takes fewer
# nodes; with damaged ones a search may not end.
WARM_UP_LIMITS = Limits(nodes=1_000)


@dataclass(frozen=True)
class Iteration:
    """Threshold of IDA*, finished or under way; of other searches the current key or depth."""

    threshold: int
    generated: int
    expanded: int
    seconds: float


# Called every fraction of a second; an exception from it ends the search.
Report = Callable[[Iteration], None]
