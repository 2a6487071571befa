"""All optimal solutions: listed, each once, and counted."""

import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import UnsolvableError
from pdb_core.puzzle import BoardSize, blank_last, parse_size
from solver import HeuristicSolver, Solver, WorkerPool, replay
from tests.naive import boards_and_tables as naive
from tests.solving import S4, database_for, share, solvable_boards

S3X2 = BoardSize(3, 2)


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("partition", "size"), [("1,2,3", "2x2"), ("1,2,3/4,5", "2x3"), ("1,2,3,4,5", "3x2")])
def test_all_optimal_solutions_of_small_boards_are_listed(partition: str, size: str, encoding: Encoding) -> None:
    assert_all_solutions(partition, size, encoding, step=1)


@pytest.mark.parametrize("partition", ["8", pytest.param("1,2,5/3,4,6/7,8", marks=pytest.mark.slow)])
def test_all_optimal_solutions_of_the_8_puzzle_are_listed(partition: str) -> None:
    assert_all_solutions(partition, "3x3", "bits", step=97)


def assert_all_solutions(partition: str, size: str, encoding: Encoding, step: int) -> None:
    board_size = parse_size(size)
    goal = blank_last(board_size)
    distances = naive.naive_distances(board_size, goal)
    counts = naive.naive_shortest_solutions(board_size, goal)
    with database_for(partition, size, encoding=encoding) as database:
        solver = Solver(database)
        for board in share(list(distances)[::step], 6):
            found: list[tuple[int, ...]] = []
            solution = solver.solve_all(board, listed=found.append)
            assert solution.length == distances[board]
            assert solution.is_complete
            assert solution.n_solutions == counts[board] == len(found) == len(set(found))
            for tiles in found:
                assert len(tiles) == distances[board]
                replay(board, tiles, goal, board_size)
            counted = solver.solve_all(board)
            assert (counted.n_solutions, counted.tiles in found) == (counts[board], True)


@pytest.mark.usefixtures("tiny_slices")
def test_workers_do_not_change_the_number_of_solutions() -> None:
    with database_for("663", "4x4", encoding="bits") as database:
        solver = Solver(database)
        for board in solvable_boards(S4, blank_last(S4), 6, 17):
            alone = solver.solve_all(board)
            with WorkerPool(2) as pool:
                found: list[tuple[int, ...]] = []
                shared = solver.solve_all(board, pool=pool, listed=found.append)
            assert shared.n_solutions == alone.n_solutions == len(set(found))
            assert shared.length == alone.length == solver.solve(board).length
            # The last threshold is searched to its end, so its nodes do not vary.
            assert (shared.generated, shared.expanded) == (alone.generated, alone.expanded)


def test_all_optimal_solutions_are_found_without_tables() -> None:
    goal = blank_last(S3X2)
    solver = HeuristicSolver(S3X2, goal, ["linear-conflict"])
    counts = naive.naive_shortest_solutions(S3X2, goal)
    for board in list(counts)[::7]:
        found: list[tuple[int, ...]] = []
        solution = solver.solve_all(board, listed=found.append)
        assert (solution.is_complete, solution.n_solutions) == (True, counts[board])
        assert len(set(found)) == len(found) == counts[board]
        for tiles in found:
            replay(board, tiles, goal, S3X2)
        assert solver.solve_all(board).n_solutions == counts[board]
    with pytest.raises(UnsolvableError):
        solver.solve_all((2, 1, 3, 4, 5, 0))
