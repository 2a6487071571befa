"""Solvers: optimal solutions with databases or heuristics, and suboptimal solutions of large boards.

Start reading in `solve`, about searches that store their nodes in `graph_search`, and for A* and IDA* as in textbooks
in `textbook`. Names are imported when they are first used: `solver.algorithms` needs no numba.

Examples
--------
After `pdb build 663`:

>>> from pdb_query import open_database
>>> from solver import Solver
>>> with open_database("data/663.h5") as database:
...     solution = Solver(database).solve("1 2 3 4/5 6 7 8/9 10 11 0/13 14 15 12")
>>> solution.length, solution.moves
(1, (12,))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from solver.algorithms import ALGORITHMS, Algorithm
from solver.progress import Iteration, Limits

if TYPE_CHECKING:
    from solver.approximate.suboptimal import find_suboptimal_solution
    from solver.engine.checkpoint import Checkpoint
    from solver.engine.worker_pool import WorkerPool
    from solver.graph_search.graph_search import GraphSolver
    from solver.heuristics.heuristic_solver import HeuristicSolver
    from solver.heuristics.values import h
    from solver.labels import Labels
    from solver.solution import Solution, SolvedBoards, replay
    from solver.solve import Solver
    from solver.textbook import a_star, ida_star

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Checkpoint",
    "GraphSolver",
    "HeuristicSolver",
    "Iteration",
    "Labels",
    "Limits",
    "Solution",
    "SolvedBoards",
    "Solver",
    "WorkerPool",
    "a_star",
    "find_suboptimal_solution",
    "h",
    "ida_star",
    "replay",
]

_MODULES = {
    "approximate.suboptimal": ("find_suboptimal_solution",),
    "engine.checkpoint": ("Checkpoint",),
    "engine.worker_pool": ("WorkerPool",),
    "graph_search.graph_search": ("GraphSolver",),
    "heuristics.heuristic_solver": ("HeuristicSolver",),
    "heuristics.values": ("h",),
    "labels": ("Labels",),
    "solution": ("Solution", "SolvedBoards", "replay"),
    "solve": ("Solver",),
    "textbook": ("a_star", "ida_star"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"solver.{module}"), name)
    raise AttributeError(f"module 'solver' has no attribute {name!r}")
