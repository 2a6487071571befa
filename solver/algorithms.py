"""Search algorithms and heuristics by name. Importing this module does not import numba."""

from typing import NamedTuple

IDA_STAR, A_STAR, WEIGHTED_A_STAR, GREEDY = "ida-star", "a-star", "weighted-a-star", "greedy"
BREADTH_FIRST, BIDIRECTIONAL = "breadth-first", "bidirectional"
# Suboptimality bound of weighted A*.
DEFAULT_WEIGHT = 1.5
# Heuristics that need no database, in the order in which searches evaluate them.
HEURISTIC_NAMES = (
    "misplaced", "manhattan", "corner-tiles", "last-move", "linear-conflict", "korf-taylor", "walking-distance",
    "pairs", "triples",
)  # fmt: skip


class Algorithm(NamedTuple):
    """Search algorithm.

    Attributes
    ----------
    finds
        Kind of solution that it returns, in words.
    uses_heuristic
        Whether it evaluates a heuristic or databases.
    stores_nodes
        Whether it keeps the nodes that it generates, up to a limit of memory.
    """

    finds: str
    uses_heuristic: bool = True
    stores_nodes: bool = True


# Search algorithms by name, as in `pdb search --algorithm`.
ALGORITHMS = {
    IDA_STAR: Algorithm("an optimal solution", stores_nodes=False),
    A_STAR: Algorithm("an optimal solution"),
    WEIGHTED_A_STAR: Algorithm("a solution of at most W times the optimal length"),
    GREEDY: Algorithm("any solution"),
    BREADTH_FIRST: Algorithm("an optimal solution", uses_heuristic=False),
    BIDIRECTIONAL: Algorithm("an optimal solution", uses_heuristic=False),
}
