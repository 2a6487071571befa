"""Number of boards at each distance from the goal, for boards of up to 12 cells. Read this first."""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdb_core.arguments import as_function, as_threads
from pdb_core.board_size import BoardSize, SizeLike, as_size
from pdb_core.errors import InputError, MemoryLimitError
from pdb_core.messages import ShortRepr, format_bytes
from pdb_core.puzzle import BoardLike, Tiles, as_goal
from pdb_core.resources import available_memory
from pdb_study.complete_search import BYTES_A_BOARD, MAX_CELLS, Progress, boards_of_states, search_completely
from pdb_study.plots import Plotted

_MOST_ANTIPODES = 20


@dataclass(frozen=True, repr=False)
class StateSpace(ShortRepr, Plotted):
    """Boards of a state space by their distance from the goal.

    Attributes
    ----------
    counts
        The number of boards at each distance from 0 on.
    antipodes
        Up to 20 boards at the largest distance, sorted.
    seconds
        The time of the search.
    """

    size: BoardSize
    goal: Tiles
    counts: tuple[int, ...]
    antipodes: tuple[Tiles, ...]
    seconds: float

    @property
    def n_boards(self) -> int:
        """Return the number of boards of the whole space: half of all permutations (Johnson and Story 1879)."""
        return math.factorial(self.size.n_cells) // 2

    def draw(self, axes: Any) -> None:
        """Draw the number of boards by distance."""
        from matplotlib.ticker import EngFormatter

        axes.bar(range(len(self.counts)), self.counts)
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.axvline(self.mean, color="black", linestyle="--", label="mean")
        axes.legend()
        title = (
            f"All {self.n_boards:,} boards of the {self.size} puzzle: mean distance {self.mean:.2f}, "
            f"largest {self.max_depth}"
        )
        axes.set(xlabel="distance from the goal (moves)", ylabel="boards", title=title)

    @property
    def max_depth(self) -> int:
        """Return the maximum depth of the space: the largest distance of a board."""
        return len(self.counts) - 1

    @property
    def mean(self) -> float:
        """Return the mean distance of the boards."""
        return sum(distance * n for distance, n in enumerate(self.counts)) / self.n_boards


def explore_space(
    size: SizeLike,
    goal: BoardLike = "blank-last",
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> StateSpace:
    """Count the boards at each distance from `goal`, by breadth-first search.

    Parameters
    ----------
    n_threads
        By default all cores.
    progress
        Called after each level with the depth and the number of boards reached.

    Raises
    ------
    GoalError
        If the goal is not a board of this size.
    InputError
        For boards of more than 12 cells, and invalid arguments.
    MemoryLimitError
        If the boards need more than the available memory.

    Examples
    --------
    >>> explore_space("2x2").counts
    (1, 2, 2, 2, 2, 2, 1)
    """
    start = time.perf_counter()
    size, n_threads = as_size(size), as_threads(n_threads)
    progress = as_function(progress, "progress")
    if size.n_cells > MAX_CELLS:
        raise InputError(f"the boards of {size} are too many to count; the largest sizes have {MAX_CELLS} cells")
    goal = as_goal(goal, size)
    needed, available = int(math.factorial(size.n_cells) / 2 * BYTES_A_BOARD), available_memory()
    if needed > available:
        raise MemoryLimitError(
            f"the boards of {size} take {format_bytes(needed)} of memory, and {format_bytes(available)} are available; "
            "choose a smaller size"
        )
    found = search_completely(size, goal, n_threads, progress)
    counts = found.states_per_depth
    farthest = np.flatnonzero(found.table == len(counts) - 1)[:_MOST_ANTIPODES]
    antipodes = tuple(sorted(map(tuple, boards_of_states(found.spec, farthest).tolist())))
    return StateSpace(size, goal, counts, antipodes, time.perf_counter() - start)
