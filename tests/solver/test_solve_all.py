"""All optimal solutions: listed, each once, and counted."""

import pytest

from pdb_core.encoding import Encoding
from pdb_core.errors import UnsolvableError
from pdb_core.puzzle import blank_last, parse_size
from solver import HeuristicSolver, Solver, WorkerPool, replay
from tests.naive import boards_and_tables as naive
from tests.solving import S4, database_for, share, solvable_boards


@pytest.mark.parametrize(
    ("size", "partition", "encoding", "step"),
    [
        *(
            pytest.param(*row, marks=pytest.mark.tiny)
            for row in (
                ("2x2", "1,2,3", "bits", 1),
                ("2x3", "1,2,3/4,5", "bytes", 1),
                ("3x2", "1,2,3,4,5", "bits", 1),
                ("3x2", "", "bits", 7),
            )
        ),
        ("3x3", "8", "bits", 197),
        pytest.param("3x3", "1,2,5/3,4,6/7,8", "bits", 97, marks=pytest.mark.slow),
    ],
)
def test_all_optimal_solutions_are_listed(size: str, partition: str, encoding: Encoding, step: int) -> None:
    """With tables, or with linear conflicts."""
    board_size = parse_size(size)
    goal = blank_last(board_size)
    distances = naive.naive_distances(board_size, goal)
    counts = naive.naive_shortest_solutions(board_size, goal)
    solver: Solver | HeuristicSolver = (
        Solver(database_for(partition, size, encoding=encoding))
        if partition
        else HeuristicSolver(board_size, goal, ["linear-conflict"])
    )
    for board in share(list(distances)[::step], 6):
        found: list[tuple[int, ...]] = []
        solution = solver.solve_all(board, listed=found.append)
        assert (solution.length, solution.is_complete) == (distances[board], True)
        assert solution.n_solutions == counts[board] == len(found) == len(set(found))
        for tiles in found:
            assert len(tiles) == distances[board]
            replay(board, tiles, goal, board_size)
        counted = solver.solve_all(board)
        assert (counted.n_solutions, counted.tiles in found) == (counts[board], True)
    with pytest.raises(UnsolvableError):
        solver.solve_all((2, 1, *goal[2:]))


@pytest.mark.usefixtures("tiny_slices")
def test_workers_do_not_change_the_number_of_solutions() -> None:
    with database_for("663", "4x4", encoding="bits") as database, WorkerPool(2) as pool:
        solver = Solver(database)
        for board in solvable_boards(S4, blank_last(S4), 6, 17):
            alone = solver.solve_all(board)
            found: list[tuple[int, ...]] = []
            shared = solver.solve_all(board, pool=pool, listed=found.append)
            assert shared.n_solutions == alone.n_solutions == len(set(found))
            # The last threshold is searched to its end, so its nodes do not vary.
            assert (shared.length, shared.generated, shared.expanded) == (alone.length, alone.generated, alone.expanded)
