"""Number of boards at each distance from the goal. Read this first.

`complete_search` searches whole spaces of up to 12 cells in seconds. `layer_search` searches larger spaces, or up to a
depth, with 8 bytes per board, or a byte per tile for more than 16 cells.
"""

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pdb_core.arguments import as_bytes, as_count, as_function, as_threads
from pdb_core.board_size import BoardSize, SizeLike, as_size, check_table_size
from pdb_core.messages import ShortRepr, format_bytes
from pdb_core.puzzle import BoardLike, Tiles, as_goal
from pdb_core.resources import available_memory
from pdb_study import plots
from pdb_study.complete_search import BYTES_A_BOARD, MAX_CELLS, Progress, search_completely
from pdb_study.layer_search import Layer, first_boards, layers

# Each board takes at least this much memory.
_KEY_BYTES = 8
# Limit if the available memory is unknown.
_UNKNOWN_BYTES = 1 << 62
# Two layers of a search have at least one board of this many in memory; for 4x4 they have one of seven.
_BOARDS_PER_KEPT_ONE = 50


@dataclass(frozen=True, repr=False)
class StateSpace(ShortRepr):
    """Boards of a state space by their distance from the goal.

    Attributes
    ----------
    counts
        The number of boards at each distance from 0 on.
    out_of_memory
        Whether the search ended at the memory limit.
    antipodes
        The first boards at the largest distance, sorted; empty if the search is not complete.
    seconds
        The time of the search.
    """

    size: BoardSize
    goal: Tiles
    counts: tuple[int, ...]
    out_of_memory: bool
    antipodes: tuple[Tiles, ...]
    seconds: float

    @property
    def n_boards(self) -> int:
        """Return the number of boards of the whole space: half of all permutations (Johnson and Story 1879)."""
        return math.factorial(self.size.n_cells) // 2

    def _repr_html_(self) -> str:
        cells = [(str(distance), f"{n:,}") for distance, n in enumerate(self.counts)]
        return plots.html(self.draw, ("distance", "boards"), cells)

    def draw(self, axes: Any) -> None:
        """Draw the number of boards by distance."""
        from matplotlib.ticker import EngFormatter, MaxNLocator

        axes.bar(range(len(self.counts)), self.counts, width=0.85, color="#4878a8")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        title = f"Boards of the {self.size} puzzle up to {self.depth} moves from the goal"
        if self.is_complete:
            axes.axvline(self.mean, color="#c44e52", linestyle="--")
            farthest = f"{self.counts[-1]:,} board" + ("" if self.counts[-1] == 1 else "s")
            title = (
                f"All {self.n_boards:,} boards of the {self.size} puzzle: mean distance {self.mean:.2f}, "
                f"largest {self.depth} ({farthest})"
            )
        axes.set(
            xlabel="distance from the goal (moves)", ylabel="boards", xlim=(-0.8, len(self.counts) - 0.2), title=title
        )

    @property
    def n_reached(self) -> int:
        return sum(self.counts)

    @property
    def is_complete(self) -> bool:
        """Return whether all boards were reached."""
        return self.n_reached == self.n_boards

    @property
    def depth(self) -> int:
        """Return the largest distance reached: the maximum depth of the space if the search is complete."""
        return len(self.counts) - 1

    @property
    def mean(self) -> float:
        """Return the mean distance of the boards reached."""
        return sum(distance * n for distance, n in enumerate(self.counts)) / self.n_reached


def explore_space(
    size: SizeLike,
    goal: BoardLike = "blank-last",
    *,
    max_depth: int | None = None,
    n_threads: int | None = None,
    memory_limit_bytes: int | None = None,
    max_antipodes: int = 20,
    progress: Progress | None = None,
) -> StateSpace:
    """Count the boards at each distance from `goal`, by breadth-first search.

    Parameters
    ----------
    n_threads
        By default all cores.
    max_depth
        Largest distance to search. By default all boards are searched.
    memory_limit_bytes
        If the boards need more memory, the search ends early, and `out_of_memory` is True; if that is certain, a
        warning says so before the search. By default 90 % of the free memory.
    max_antipodes
        Most boards in `antipodes`.
    progress
        Called after each level with the depth and the number of boards reached.

    Raises
    ------
    GoalError
        If the goal is not a board of this size.
    InputError
        For boards larger than 6x6, and invalid arguments.

    Examples
    --------
    >>> explore_space("2x2").counts
    (1, 2, 2, 2, 2, 2, 1)
    """
    start = time.perf_counter()
    size, n_threads = as_size(size), as_threads(n_threads)
    given_limit = as_bytes(memory_limit_bytes, "memory_limit_bytes")
    limit = default_memory_limit() if given_limit is None else given_limit
    as_count(max_antipodes, "max_antipodes")
    progress = as_function(progress, "progress")
    if max_depth is not None:
        as_count(max_depth, "max_depth")
    check_table_size(
        size,
        what="counts by distance",
        instead=f"all boards are counted up to {MAX_CELLS} cells, such as 3x4, and beyond that those up to a depth",
    )
    goal = as_goal(goal, size)
    out_of_memory, n_boards = False, math.factorial(size.n_cells) // 2
    if max_depth is None and size.n_cells <= MAX_CELLS and n_boards * BYTES_A_BOARD <= limit:
        counts, antipodes = search_completely(
            size, goal, n_threads=n_threads, max_antipodes=max_antipodes, progress=progress
        )
    else:
        if max_depth is None and n_boards // _BOARDS_PER_KEPT_ONE * _KEY_BYTES > limit:
            warnings.warn(
                f"the {n_boards:,} boards of {size} do not fit into {format_bytes(limit)} of memory; those up to the "
                "depth at which it is full are counted",
                RuntimeWarning,
                stacklevel=2,
            )
        counts, farthest, out_of_memory = _search_layers(
            layers(size, goal, n_threads=n_threads, memory_limit_bytes=limit), max_depth, progress
        )
        is_complete = sum(counts) == n_boards
        antipodes = first_boards(farthest, size, max_antipodes) if is_complete else ()
        out_of_memory &= not is_complete
    return StateSpace(size, goal, counts, out_of_memory, tuple(sorted(antipodes)), time.perf_counter() - start)


def default_memory_limit() -> int:
    """Return 90 % of the free memory: the interpreter and other programs take some."""
    return (available_memory() or _UNKNOWN_BYTES) * 9 // 10


def _search_layers(
    found: Iterator[Layer], max_depth: int | None, progress: Progress
) -> tuple[tuple[int, ...], Layer, bool]:
    """Return the counts, the last layer, and whether the search ran out of memory."""
    counts: list[int] = []
    layer: Layer = {}
    try:
        for layer in found:
            counts.append(sum(map(len, layer.values())))
            progress(len(counts) - 1, sum(counts))
            if max_depth is not None and len(counts) > max_depth:
                break
    except MemoryError:
        return tuple(counts), layer, True
    return tuple(counts), layer, False
