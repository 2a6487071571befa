"""Who uses the tables: searches that return provably shortest solutions. Start reading in `solve`."""

from solver.crew import Crew, crew_of
from solver.good_solution import GoodSolution, default_time_limit, find_good_solution
from solver.ida_star import Iteration, Limits
from solver.solution import replay
from solver.solve import Solution, Solver

__all__ = [
    "Crew",
    "GoodSolution",
    "Iteration",
    "Limits",
    "Solution",
    "Solver",
    "crew_of",
    "default_time_limit",
    "find_good_solution",
    "replay",
]
