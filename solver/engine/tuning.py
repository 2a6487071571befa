"""Numbers that change the speed and the memory of a search by IDA*, and no answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tuning:
    """Numbers of a search. Tests and measurements make solvers with others.

    rounds          kinds of rounds with databases, of which the first that suits is used; () for the fastest
    batch           nodes of a round; 0 for the usual ones
    slice_nodes     nodes between two returns to Python at a speed of 1: some 10 to 30 ms
    first_links     links that stacks have room for at first: of 100,000 expanded nodes. Full ones are cleared up
    first_depth     moves that stacks have room for at first
    n_thresholds    thresholds whose nodes one call of the kernel can note
    long_nodes      nodes of a threshold, at a speed of 1, after which the next one is long: half a second of one core
    most_divided    nodes near the root of a divided threshold, at most
    least_ratio     the least ratio of the nodes of the threshold before to these, at a speed of 1
    nodes_per_board  nodes of the last threshold, at a speed of 1, for each board of a beam, whose time is then small
    beams           searches in place of `find_by_beams`; None for that
    """

    rounds: Sequence[Any] = ()
    batch: int = 0
    slice_nodes: int = 1_000_000
    first_links: int = 1 << 17
    first_depth: int = 96
    n_thresholds: int = 32
    long_nodes: float = 50_000_000
    most_divided: int = 100_000
    least_ratio: float = 100_000
    nodes_per_board: int = 50_000
    beams: Callable[..., tuple[int, ...] | None] | None = None


TUNING = Tuning()
