"""Limits of a search, and the progress that it reports."""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from pdb_core.arguments import as_count, as_number, check_functions

# More nodes than any search generates.
NO_LIMIT = sys.maxsize


@dataclass(frozen=True)
class Limits:
    """Limits of a search, which ends at the first one that is reached.

    Parameters
    ----------
    time_limit
        Seconds of the search; None for no limit.
    max_nodes
        Generated nodes; None for no limit. IDA* on one thread exceeds it by less than 4. Further threads may add the
        nodes of about 20 ms each, and tasks of a cluster the nodes of half a second. A search in the order of the
        textbook searches its last threshold more than once, each time with this limit.

    Raises
    ------
    InputError
        If a limit is negative or NaN.

    Examples
    --------
    >>> Limits(time_limit=10).max_nodes is None
    True
    """

    time_limit: float | None = None
    max_nodes: int | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            as_number(self.time_limit, "time_limit")
        if self.max_nodes is not None:
            as_count(self.max_nodes, "max_nodes")


# What users may give for limits: a number is a limit of seconds.
LimitsLike = Limits | float | None


def as_limits(limits: LimitsLike) -> Limits:
    """Return limits of a search. Raises `InputError`."""
    if isinstance(limits, Limits):
        return limits
    return Limits() if limits is None else Limits(as_number(limits, "limits"))


# Limits of a search that only loads or compiles kernels. With sound tables a board one move from the goal takes fewer
# nodes; with damaged ones a search may not end.
WARM_UP_LIMITS = Limits(max_nodes=1_000)


@dataclass(frozen=True)
class Iteration:
    """Threshold of IDA*, finished or under way, or the progress of another search.

    Attributes
    ----------
    threshold
        Number of moves; for other searches the current key or depth.
    generated, expanded
        Nodes of this threshold; for other searches all nodes so far.
    seconds
        Time of this threshold; for other searches the time since the search began.
    """

    threshold: int
    generated: int
    expanded: int
    seconds: float


# Called every fraction of a second; an exception from it ends the search.
Report = Callable[[Iteration], None]


class Clock:
    """Clock of a search that runs in slices: it reports progress between them, and checks the limits.

    report  of the search, if any
    end     the time at which the search must end, as `time.perf_counter` counts
    """

    def __init__(self, limits: Limits, report: Report | None = None, start: float | None = None) -> None:
        """`start` is when the seconds began, now by default."""
        check_functions(report=report)
        self._start, self.report = time.perf_counter() if start is None else start, report
        self.end = math.inf if limits.time_limit is None else self._start + limits.time_limit
        self.most_nodes = NO_LIMIT if limits.max_nodes is None else limits.max_nodes

    def add_earlier(self, seconds: float) -> None:
        """Count the seconds of an earlier run, too. The limits are not on them."""
        self._start -= seconds

    @property
    def seconds(self) -> float:
        """Return the seconds since the search began."""
        return time.perf_counter() - self._start

    def is_over(self, progress: Iteration) -> bool:
        """Report progress. Returns True if a limit is reached."""
        if self.report is not None:
            self.report(progress)
        return progress.generated >= self.most_nodes or time.perf_counter() >= self.end
