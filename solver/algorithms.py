"""Search algorithms and heuristics by name. Importing this module does not import numba."""

from typing import Literal, NamedTuple

IDA_STAR, A_STAR, WEIGHTED_A_STAR, GREEDY = "ida-star", "a-star", "weighted-a-star", "greedy"
BREADTH_FIRST, BIDIRECTIONAL = "breadth-first", "bidirectional"
# Suboptimality bound of weighted A*.
DEFAULT_WEIGHT = 1.5


class Heuristic(NamedTuple):
    """Heuristic that needs no database.

    Attributes
    ----------
    file
        Its kernel is in `solver/heuristics/FILE_kernels.py`. The name of the kernel is that of the heuristic, with `_`
        for `-`.
    speed
        Speed of a search relative to one with databases, about 10 ns a node.
    than_manhattan
        "lower": never higher than Manhattan distance, "either": lower on some boards, higher on others.
    """

    file: str
    speed: float = 0.1
    than_manhattan: Literal["lower", "either", "higher"] = "higher"


# Heuristics by name, in the order in which searches evaluate them. A node with pairs takes 0.3 to 0.5 microseconds.
HEURISTICS = {
    "misplaced": Heuristic("manhattan", than_manhattan="lower"),
    "manhattan": Heuristic("manhattan", speed=0.3),
    "corner-tiles": Heuristic("korf_taylor"),
    "last-move": Heuristic("korf_taylor"),
    "linear-conflict": Heuristic("korf_taylor", speed=0.3),
    "korf-taylor": Heuristic("korf_taylor", speed=0.03),
    "walking-distance": Heuristic("walking_distance"),
    "pairs": Heuristic("mutual_cost", speed=0.03),
}


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
