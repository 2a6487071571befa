"""Who uses the tables: searches that return provably shortest solutions. Start reading in `solve`."""

from solver.ida_star import Iteration, Limits
from solver.solution import replay
from solver.solve import Solution, Solver

__all__ = ["Iteration", "Limits", "Solution", "Solver", "replay"]
