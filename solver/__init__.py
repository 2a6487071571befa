"""Solvers: optimal solutions with databases or heuristics, and suboptimal solutions of large boards.

Start reading in `solve`, about searches that store their nodes in `graph_search`, and for A* and IDA* as in textbooks
in `textbook`. Users import the names of `tilepdb`.

Examples
--------
After `pdb build 663`:

>>> from pdb_query import open_database
>>> from solver.solve import Solver
>>> with open_database("data/663.h5") as database:
...     solution = Solver(database).solve("1 2 3 4/5 6 7 8/9 10 11 0/13 14 15 12")
>>> solution.length, solution.moves
(1, (12,))
"""
