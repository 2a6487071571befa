"""Thresholds searched breadth first near the root: the same lengths as IDA*, whatever is kept in memory."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

from pdb_core.puzzle import BoardSize, Tiles
from solver import Checkpoint, Limits, WorkerPool
from solver.engine import search_memory as mem
from solver.engine.database_engine import CATALOGUE, SCALAR, VECTOR, WIDE
from solver.engine.engine import Engine
from solver.engine.frontier import Frontier, FrontierLimits
from solver.engine.ida_star import IdaStar
from solver.engine.stack import Stack, StackPool
from tests.naive.boards_and_tables import naive_duplicates, naive_frontier
from tests.solving import FINISHED, S3, S4, database_for, engine_for, hard_board, node_counts, share, solvable_boards

# About 20,000 nodes, in every threshold.
LIMITS = FrontierLimits(2_400_000, previous_nodes=0, share=1)


def path_to(frontier: Frontier, node: int) -> str:
    """Return the blank's moves from the root to a node."""
    path = ""
    while node != 1:
        link = int(frontier.nodes[node, mem.LINK])
        path, node = "ULRD"[link & 3] + path, link >> 2
    return path


def returned(slices: Generator[None, None, Any]) -> Any:
    """Return what a generator returns at its end."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value


def whole_frontier(
    engine: Engine, board: Tiles, threshold: int, least_slack: int, n_threads: int
) -> tuple[Frontier, int]:
    """Return the frontier, and the nodes generated."""
    with StackPool(engine).borrowed() as stack, ThreadPoolExecutor(n_threads) as threads:
        stack.begin(engine.roots([board]), 0, threshold)
        frontier = Frontier(engine, stack, 100_000, least_slack)

        def expand(thread: int) -> int:
            own, generated = stack if thread == 0 else Stack(engine, 96), 0
            while not frontier.is_complete:
                generated += frontier.expand(own, 1, 1 << 40)[0]
            return generated

        return frontier, sum(threads.map(expand, range(n_threads)))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("kind", "max_duplicate", "partition", "size"),
    [
        *((kind, n, "1,2,5/3,4,6/7,8", S3) for kind, n in {VECTOR: 8, CATALOGUE: 2, WIDE: 2, SCALAR: 8}.items()),
        # Without symmetries, all patterns are needed to tell boards apart.
        (VECTOR, 8, "1,2,3/4,5", BoardSize(3, 2)),
    ],
)
def test_frontier_is_the_naive_one(
    kind: str, max_duplicate: int, partition: str, size: BoardSize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solver.engine.frontier._RANGE", 8)
    duplicates = naive_duplicates(max_duplicate)
    with database_for(partition, str(size), encoding="bits") as database:

        @cache
        def h(at: Tiles) -> int:
            return database.probe(at).h

        for board in share(solvable_boards(size, 2, 21), 2):
            threshold = h(board) + 4
            for batch, least_slack, n_threads in ((1, 1, 1), (64, 1, 3), (64, 2, 3)):
                engine = engine_for([database], max_duplicate, rounds=(kind, SCALAR), batch=batch).engine
                frontier, generated = whole_frontier(engine, board, threshold, least_slack, n_threads)
                paths, unexpanded, naive_generated = naive_frontier(
                    board, size, h, duplicates, threshold - 2 * least_slack, threshold
                )
                assert generated == naive_generated
                assert [path_to(frontier, node) for node in range(1, len(paths) + 1)] == paths
                roots, _ = returned(frontier.ordered())
                assert [path_to(frontier, node) for node in roots.tolist()] == unexpanded


@pytest.mark.usefixtures("tiny_slices")
def test_complete_thresholds_have_at_most_the_nodes_of_ida_star() -> None:
    with database_for("555", "4x4", encoding="bits") as database:
        engine = engine_for([database]).engine
        limited = IdaStar(engine, frontier_limits=LIMITS)
        n_fewer = 0
        for board in solvable_boards(S4, 10, 8):
            counts = node_counts(IdaStar(engine).search(board).thresholds)[:-1]
            fewer = node_counts(limited.search(board).thresholds)[:-1]
            for (threshold, generated, expanded), found in zip(counts, fewer, strict=True):
                assert found[0] == threshold
                assert found[1] <= generated
                assert found[2] <= expanded
                n_fewer += found[1] < generated
            with WorkerPool(2) as pool:
                assert node_counts(limited.search(board, pool=pool).thresholds)[:-1] == fewer
        assert n_fewer


@pytest.mark.usefixtures("tiny_slices")
def test_checkpoint_records_subtrees_below_the_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver.engine.frontier._CHUNK", 32)
    with database_for("555", "4x4", encoding="bits") as database:
        engine = engine_for([database]).engine
        ida_star = IdaStar(engine, frontier_limits=LIMITS)
        board = hard_board()
        whole = ida_star.search(board, Limits(nodes=6_000_000))
        checkpoint, known = Checkpoint(), set()
        for millions in range(1, 7):
            result = ida_star.search(board, Limits(nodes=millions * 1_000_000), checkpoint=checkpoint)
            known.add(checkpoint.share)
        assert len(known - {None}) > 2
        assert node_counts(result.thresholds[:-1]) == node_counts(whole.thresholds[:-1])


def test_frontier_fits_its_limits() -> None:
    finished = FINISHED[:5]
    # 40,960 nodes in the threshold before: 1,280 are kept, and threshold 44 had 640.
    assert FrontierLimits(10**9, previous_nodes=1000, share=32).plan(finished, 50, 26) == (1280, 3)
    assert FrontierLimits(100 * 120, previous_nodes=1000, share=32).plan(finished, 50, 26) == (100, 4)
    assert FrontierLimits(10**9, previous_nodes=10**6, share=32).plan(finished, 50, 26) is None
