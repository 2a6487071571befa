"""Heuristics that need no database, each a lower bound on the moves left, and IDA* with them.

Start reading in `heuristic`; `heuristic_solver` searches with them.
"""

from solver.algorithms import HEURISTICS
from solver.heuristics.evaluate_kernels import HeuristicTables
from solver.heuristics.heuristic import HeuristicsLike, heuristic_tables, parse_heuristic

__all__ = ["HEURISTICS", "HeuristicTables", "HeuristicsLike", "heuristic_tables", "parse_heuristic"]
