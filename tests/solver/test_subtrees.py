"""A threshold in parts: what a paused search leaves, searched later, comes to the same nodes and the same answer."""

import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.puzzle import blank_last
from solver import Limits, Solver
from solver.engine.subtrees import search_subtrees
from solver.solution import replay
from tests.solving import S3, S4, database_for, node_counts, solvable_boards

pytestmark = pytest.mark.patient

PARTITIONS = {S3: ("1,2,5/3,4,6/7,8", "3x3"), S4: ("555", "4x4")}


def solved_in_parts(solver: Solver, board: tuple[int, ...], first_nodes: int, nodes: int) -> tuple[int, list, int]:
    """Length, (threshold, generated, expanded) of the finished thresholds, and how many parts it took."""
    ida_star = solver.ida_star
    result = ida_star.search(board, Limits(nodes=first_nodes))
    counts = node_counts(result.iterations)
    if result.tiles is not None:
        return len(result.tiles), counts[:-1], 1
    threshold, generated, expanded = counts.pop()
    paths = result.rest
    assert paths
    n_parts = 1
    while True:
        while paths:
            part = search_subtrees(ida_star.stacks, board, paths, threshold, max_nodes=nodes, max_seconds=60)
            n_parts += 1
            generated += part.generated
            expanded += part.expanded
            if part.tiles is not None:
                assert not part.rest
                replay(board, part.tiles, ida_star.engine.goal, ida_star.engine.size)
                return len(part.tiles), counts, n_parts
            paths = part.rest
        counts.append((threshold, generated, expanded))
        threshold, generated, expanded, paths = threshold + 2, 0, 0, (b"",)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("nodes", [1, 7, 100])
def test_nodes_of_all_parts_of_8_puzzle_boards_add_up(nodes: int, encoding: Encoding, plain: bool) -> None:
    with database_for(*PARTITIONS[S3], encoding=encoding) as database:
        solver = Solver(database, plain=plain)
        for board in solvable_boards(S3, blank_last(S3), 8, 3):
            alone = solver.solve(board)
            length, counts, n_parts = solved_in_parts(solver, board, 1, nodes)
            assert length == alone.length
            assert counts == node_counts(alone.iterations[:-1])
            assert n_parts > 1


@pytest.mark.parametrize("nodes", [1000, 20_000])
def test_nodes_of_all_parts_of_15_puzzle_boards_add_up(nodes: int) -> None:
    with database_for(*PARTITIONS[S4], encoding="bits") as database:
        solver = Solver(database)
        for board in solvable_boards(S4, blank_last(S4), 4, 11):
            alone = solver.solve(board)
            length, counts, _ = solved_in_parts(solver, board, 60_000, nodes)
            assert length == alone.length
            assert counts == node_counts(alone.iterations[:-1])
