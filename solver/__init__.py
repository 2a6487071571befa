"""Who uses the tables: searches that return provably shortest solutions. Start reading in `solve`, and
about the searches beside IDA*, which keep the boards they meet, in `graph_search`.
"""

from solver.checkpoint import Checkpoint, Subtrees
from solver.engine.worker_pool import WorkerPool
from solver.graph_search.graph_search import GRAPH_SEARCHES, GraphSolver
from solver.large_boards.suboptimal import default_time_limit, find_good_solution
from solver.progress import Iteration, Limits
from solver.solution import Solution, SolvedBoards, replay
from solver.solve import HeuristicSolver, Solver
from solver.textbook import a_star, ida_star

__all__ = [
    "GRAPH_SEARCHES",
    "Checkpoint",
    "GraphSolver",
    "HeuristicSolver",
    "Iteration",
    "Limits",
    "Solution",
    "SolvedBoards",
    "Solver",
    "Subtrees",
    "WorkerPool",
    "a_star",
    "default_time_limit",
    "find_good_solution",
    "ida_star",
    "replay",
]
