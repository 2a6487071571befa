"""Heuristics that need no database, each a lower bound on the moves left. Start reading in `heuristic`."""

from solver.heuristics.heuristic import HEURISTICS, HeuristicTables, heuristic_tables, parse_heuristic

__all__ = ["HEURISTICS", "HeuristicTables", "heuristic_tables", "parse_heuristic"]
