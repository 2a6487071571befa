"""Number of boards at each distance from the goal. Read this first.

`complete_search` searches whole spaces of up to 12 cells with one bit per board: 12 cells take 1.4 s of processor time.
`layer_search` searches larger spaces, or up to a depth, at 8 bytes per board and word: 12 cells take it more than 30 s.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from pdb_core.puzzle import BoardLike, BoardSize, Tiles, as_goal, as_size, check_table_size
from pdb_study import plots
from pdb_study.complete_search import MAX_CELLS, complete_search_bytes, search_completely
from pdb_study.layer_search import Layer, MemoryLimitError, PackedOrders, layers

# Called from the main thread after each level: (depth, boards reached).
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class StateSpace:
    """Boards of a state space by their distance from the goal.

    counts          the number of boards at each distance from 0 on
    is_complete     whether all boards were reached
    out_of_memory   whether the search ended at the memory limit
    antipodes       the first boards at the largest distance, sorted; empty if the search is not complete
    seconds         of the search
    """

    size: BoardSize
    goal: Tiles
    counts: tuple[int, ...]
    is_complete: bool
    out_of_memory: bool
    antipodes: tuple[Tiles, ...]
    seconds: float

    @property
    def n_boards(self) -> int:
        """Return the number of boards of the whole space: half of all permutations (Johnson and Story 1879)."""
        return math.factorial(self.size.n_cells) // 2

    def _repr_html_(self) -> str:
        cells = [(str(distance), f"{n:,}") for distance, n in enumerate(self.counts)]
        return plots.html(lambda axes: plots.draw_space(self, axes), ("distance", "boards"), cells)

    @property
    def n_reached(self) -> int:
        return sum(self.counts)

    @property
    def depth(self) -> int:
        """Return the largest distance reached: the maximum depth of the space if the search is complete."""
        return len(self.counts) - 1

    @property
    def mean(self) -> float:
        """Return the mean distance of the boards reached."""
        return sum(distance * n for distance, n in enumerate(self.counts)) / self.n_reached


def explore_space(
    size: BoardSize | str,
    goal: BoardLike = "blank-last",
    *,
    max_depth: int | None = None,
    n_threads: int = 1,
    memory_limit_bytes: int = 1 << 62,
    max_antipodes: int = 20,
    progress: Progress | None = None,
) -> StateSpace:
    """Count the boards at each distance from `goal`, by breadth-first search.

    max_depth           largest distance to search; by default all boards are searched
    memory_limit_bytes  if the boards need more memory, the search ends early, and `out_of_memory` is True. Whether this
                        happens may depend on `n_threads`; nothing else does
    max_antipodes       most boards in `antipodes`
    progress            is called after each level with the depth and the number of boards reached

    Raises `GoalError` if the goal is not a board of this size, `InputError` for boards larger than 6x6.

    >>> explore_space("2x2").counts
    (1, 2, 2, 2, 2, 2, 1)
    """
    start = time.perf_counter()
    size = as_size(size)
    check_table_size(
        size,
        what="counts by distance",
        instead=f"all boards are counted up to {MAX_CELLS} cells, such as 3x4, and beyond that those at most --depth "
        "moves from the goal",
    )
    goal = as_goal(goal, size)
    if max_depth is None and size.n_cells <= MAX_CELLS and complete_search_bytes(size) <= memory_limit_bytes:
        counts, antipodes = search_completely(
            size, goal, n_threads=n_threads, max_antipodes=max_antipodes, progress=progress
        )
        return StateSpace(size, goal, counts, True, False, tuple(sorted(antipodes)), time.perf_counter() - start)
    reached: list[int] = []
    farthest: Layer = {}
    is_complete = out_of_memory = False
    try:
        for layer in layers(size, goal, n_threads=n_threads, memory_limit_bytes=memory_limit_bytes):
            farthest = layer
            reached.append(sum(map(len, layer.values())))
            if progress is not None:
                progress(len(reached) - 1, sum(reached))
            if max_depth is not None and len(reached) > max_depth:
                break
        else:
            is_complete = True
    except (MemoryLimitError, MemoryError):
        out_of_memory = True
    antipodes = PackedOrders(size).first_boards(farthest, max_antipodes) if is_complete else ()
    seconds = time.perf_counter() - start
    return StateSpace(size, goal, tuple(reached), is_complete, out_of_memory, tuple(sorted(antipodes)), seconds)
