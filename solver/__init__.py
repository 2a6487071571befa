"""Who uses the tables: searches that return provably shortest solutions. Start reading in `solve`, and
about the searches beside IDA*, which keep the boards they meet, in `graph_search`.
"""

from solver.checkpoint import Checkpoint, Subtrees
from solver.engine.worker_pool import WorkerPool
from solver.graph_search.graph_search import GRAPH_SEARCHES, GraphSolver
from solver.heuristic_solver import HeuristicSolver
from solver.large_boards.suboptimal import GoodSolution, default_time_limit, find_good_solution
from solver.progress import Iteration, Limits
from solver.solution import Solution, replay
from solver.solve import Solver

__all__ = [
    "GRAPH_SEARCHES",
    "Checkpoint",
    "GoodSolution",
    "GraphSolver",
    "HeuristicSolver",
    "Iteration",
    "Limits",
    "Solution",
    "Solver",
    "Subtrees",
    "WorkerPool",
    "default_time_limit",
    "find_good_solution",
    "replay",
]
