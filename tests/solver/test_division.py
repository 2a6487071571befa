"""Division of a threshold near the root; tests/solver/test_frontier.py searches divided thresholds."""

from functools import cache

import pytest

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles
from solver.engine import division, layout as mem
from solver.engine.database_engine import CATALOGUE, SCALAR, VECTOR, WIDE
from solver.engine.division import Plan
from solver.engine.engine import Engine
from solver.engine.stack import StackPool, moves_by
from solver.progress import NO_LIMIT
from tests.naive.boards_and_tables import naive_division, naive_duplicates
from tests.solving import FINISHED, S3, database_for, divided_early, engine_for, share, solvable_boards


@pytest.fixture
def engine() -> Engine:
    return engine_for([database_for("1,2,5/3,4,6/7,8", "3x3", encoding="bits")]).engine


def divided(
    engine: Engine, board: Tiles, threshold: int, plan: Plan, max_nodes: int = NO_LIMIT
) -> tuple[list[str], int]:
    """Return the blank's paths to the roots of the subtrees, in their order, and the nodes generated."""
    with StackPool(engine).borrowed() as stack:
        stack.begin(engine.roots([board]), 0, threshold)
        items, (generated, _) = division.divide(stack, plan, max_nodes)
        assert stack.n_nodes == 0
        paths = moves_by(items.links, items.nodes[:, mem.LINK])
        return ["".join("ULRD"[move] for move in path) for path in paths], generated


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("kind", "max_duplicate", "partition", "size"),
    [
        *((kind, n, "1,2,5/3,4,6/7,8", S3) for kind, n in {VECTOR: 8, CATALOGUE: 2, WIDE: 2, SCALAR: 8}.items()),
        (VECTOR, 8, "1,2,3/4,5", BoardSize(3, 2)),
    ],
)
def test_division_is_the_naive_one(kind: str, max_duplicate: int, partition: str, size: BoardSize) -> None:
    duplicates = naive_duplicates(max_duplicate)
    with database_for(partition, str(size), encoding="bits") as database:

        @cache
        def h(at: Tiles) -> int:
            return database.probe(at).h

        for board in share(solvable_boards(size, 2, 21), 2):
            threshold = h(board) + 4
            for batch, least_slack in ((1, 1), (64, 1), (64, 2)):
                engine = engine_for([database], max_duplicate, rounds=(kind, SCALAR), batch=batch).engine
                found = divided(engine, board, threshold, Plan(10_000, least_slack, 8.0))
                assert found == naive_division(board, size, h, duplicates, threshold - 2 * least_slack, threshold)


def test_division_that_ends_early_has_every_node_once(engine: Engine) -> None:
    """Without room to expand all, or at the limit of nodes, the nodes that are left follow the expanded ones."""
    for board in solvable_boards(S3, 5, 22):
        threshold = int(engine.roots([board]).thresholds[0]) + 6
        paths, _ = divided(engine, board, threshold, Plan(100, 1, 8.0))
        assert 20 < len(paths) <= 100
        _, whole = divided(engine, board, threshold, Plan(10_000, 1, 8.0))
        found = [paths]
        for max_nodes in (1, 50, whole - 1):
            paths, generated = divided(engine, board, threshold, Plan(10_000, 1, 8.0), max_nodes)
            assert max_nodes <= generated < max_nodes + 4
            found.append(paths)
        for paths in found:
            assert len(paths) == len(set(paths))
            assert not any(one != other and one.startswith(other) for one in paths for other in paths)


@pytest.mark.parametrize(
    ("most_nodes", "speed", "plan"),
    # 40,960 nodes in the threshold before: 1,280 are kept, and threshold 44 had 640.
    [(10**6, 0.1, (1280, 3, 8.0)), (100, 0.1, (100, 4, 8.0)), (10**6, 0.2, (640, 3, 8.0)), (5, 0.1, None)],
)
def test_plan_keeps_a_share_of_the_threshold_before(most_nodes: int, speed: float, plan: Plan | None) -> None:
    assert division.plan_division(FINISHED[:5], 50, speed, divided_early(0, most_nodes, 320)) == plan
