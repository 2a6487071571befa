"""What a search is told before, and tells meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """When to give up: seconds of search, generated nodes; None for no limit."""

    seconds: float | None = None
    nodes: int | None = None


# Limits of a search that only loads or compiles kernels. With sound tables a board one move from the goal takes fewer
# nodes; with damaged ones a search may not end.
WARM_UP_LIMITS = Limits(nodes=1_000)


@dataclass(frozen=True)
class Iteration:
    """One threshold of IDA*, or where it stands; of other searches the key or the depth that they are at."""

    threshold: int
    generated: int
    expanded: int
    seconds: float


# Called every fraction of a second; what it raises ends the search.
Report = Callable[[Iteration], None]
