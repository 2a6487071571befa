"""What a search that keeps its nodes hands up, before it is replayed."""

from dataclasses import dataclass

from pdb_core.errors import MemoryLimitError


@dataclass(frozen=True)
class Found:
    """See `solution.Solution`; memory_error: what ended the search, where that was the limit of memory."""

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
    memory_error: MemoryLimitError | None = None
