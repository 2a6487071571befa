"""What a search that keeps its nodes hands up, before it is replayed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """See `solution.Solution`."""

    tiles: tuple[int, ...] | None
    h: int
    lower_bound: int
    generated: int
    expanded: int
    reopened: int
    peak_open: int
    n_nodes: int
    n_bytes: int
    seconds: float
