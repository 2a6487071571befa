"""A state space by distance: how many boards are how far from the goal. Start reading here.

Up to 12 cells every board is one bit, and the search goes to its end (`complete_search`); larger spaces, or those
wanted to some depth only, are searched layer by layer (`layer_search`).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from pdb_core.puzzle import Board, BoardSize, check_board, check_table_size
from pdb_study.complete_search import MAX_CELLS, complete_search_bytes, search_completely
from pdb_study.layer_search import search_layers


@dataclass(frozen=True)
class SpaceProgress:
    """Where a search stands: the depth reached, the boards up to it, and those found of the next layer so far."""

    depth: int
    n_reached: int
    n_found: int


Progress = Callable[[SpaceProgress], None]


@dataclass(frozen=True)
class StateSpace:
    """The boards of a space by their distance from the goal.

    counts          the number of boards at each distance from 0 on
    is_complete     whether that is all of them
    out_of_memory   whether the search ended because the memory limit was reached
    antipodes       boards at the largest distance, or the first of them; none where the search is not complete
    """

    size: BoardSize
    goal: Board
    counts: tuple[int, ...]
    is_complete: bool
    out_of_memory: bool
    antipodes: tuple[Board, ...]
    seconds: float

    @property
    def n_boards(self) -> int:
        """The boards of the whole space: half of all permutations can be solved."""
        return count_boards(self.size)

    @property
    def n_reached(self) -> int:
        return sum(self.counts)

    @property
    def depth(self) -> int:
        """The largest distance reached; the radius of the space where it is complete."""
        return len(self.counts) - 1

    @property
    def mean(self) -> float:
        """Mean distance of the boards reached."""
        return sum(distance * n for distance, n in enumerate(self.counts)) / self.n_reached


def count_boards(size: BoardSize) -> int:
    """The number of boards from which a goal can be reached: half of all permutations (Johnson and Story 1879)."""
    return math.factorial(size.n_cells) // 2


def explore_space(
    size: BoardSize,
    goal: Board,
    *,
    max_depth: int | None = None,
    n_threads: int = 1,
    memory_limit_bytes: int = 1 << 62,
    max_antipodes: int = 20,
    progress: Progress | None = None,
) -> StateSpace:
    """Breadth-first search from `goal` through all boards, or through those at most `max_depth` moves away.

    Where the boards need more than `memory_limit_bytes` the search ends early, and the result says so. Nothing but that
    depends on `n_threads`. Raises `BoardError` where the goal is no board of that size,
    `InputError` beyond 6x6.

    >>> from pdb_core.puzzle import blank_last
    >>> explore_space(BoardSize(2, 2), blank_last(BoardSize(2, 2))).counts
    (1, 2, 2, 2, 2, 2, 1)
    """
    start = time.perf_counter()
    check_table_size(
        size,
        what="counts by distance",
        instead=f"all boards are counted up to {MAX_CELLS} cells, such as 3x4, and beyond that those at most --depth "
        "moves from the goal",
    )
    check_board(goal, size)

    def tell(depth: int, n_reached: int, n_found: int = 0) -> None:
        if progress is not None:
            progress(SpaceProgress(depth, n_reached, n_found))

    if max_depth is None and size.n_cells <= MAX_CELLS and complete_search_bytes(size) <= memory_limit_bytes:
        counts, antipodes = search_completely(
            size, goal, n_threads=n_threads, max_antipodes=max_antipodes, progress=tell
        )
        is_complete, out_of_memory = True, False
    else:
        counts, antipodes, is_complete, out_of_memory = search_layers(
            size,
            goal,
            max_depth=max_depth,
            n_threads=n_threads,
            memory_limit_bytes=memory_limit_bytes,
            max_antipodes=max_antipodes,
            progress=tell,
        )
    antipodes = tuple(sorted(antipodes))
    return StateSpace(size, goal, counts, is_complete, out_of_memory, antipodes, time.perf_counter() - start)
