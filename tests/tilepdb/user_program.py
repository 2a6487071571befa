"""Small program of a user: mypy and pyright check it in strict mode, and a test runs it in an empty folder."""

from typing import assert_type

import numpy as np

import tilepdb

board = tilepdb.Board("8 6 7/2 5 4/3 0 1")
assert_type(board, tilepdb.Board)
assert_type(board.size, tilepdb.BoardSize)
solution = tilepdb.solve(board)
assert_type(solution, tilepdb.Solution)
assert_type(solution.length, int | None)
assert solution.length == len(solution.boards()) - 1 == 31
assert tilepdb.solve([[8, 6, 7], [2, 5, 4], [3, 0, 1]]).length == 31
assert tilepdb.solve(np.array([8, 6, 7, 2, 5, 4, 3, 0, 1]), goal="blank-last").length == 31

with tilepdb.build("1,2,3,4/5,6,7,8", "two.h5", size="3x3") as database:
    assert_type(database, tilepdb.Database)
    probe = database.probe("8 6 7/2 5 4/3 0 1")
    assert_type(probe, tilepdb.Probe)
    assert probe.h == 29
    assert database.probe(board.move(5)) == database.probe(list(board.move(5)))
    assert board.draw(database).svg.startswith("<svg")

with tilepdb.Solver("two.h5") as solver, tilepdb.Solver.standard("3x3") as standard:
    assert_type(solver, tilepdb.Solver)
    assert solver.solve(board).length == standard.solve(board, "blank-last").length == 31
    many = solver.solve_many(tilepdb.random_boards(board.size, standard.databases[0].goal, 10, seed=1))
    assert_type(many, tilepdb.SolvedBoards)
    assert many.lengths.shape == (10,)

suboptimal = tilepdb.find_suboptimal_solution("8 6 7/2 5 4/3 0 1", time_limit=0.1)
assert suboptimal.gap is not None
try:
    tilepdb.Board("1 2 3")
except tilepdb.PdbError as error:
    print(error)
