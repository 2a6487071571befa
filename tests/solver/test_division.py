"""Division of a threshold near the root; tests/solver/test_subtrees.py searches divided thresholds."""

import math
import time
from functools import cache
from typing import Any

import numba
import pytest

from pdb_core.puzzle import BoardSize, Tiles
from solver import Checkpoint
from solver.engine import division, search_memory as mem
from solver.engine.database_engine import CATALOGUE, SCALAR, VECTOR, WIDE
from solver.engine.division import DividedWork, Division
from solver.engine.engine import Engine
from solver.engine.stack import StackPool
from solver.engine.subtree_list import SubtreeList
from tests.naive.boards_and_tables import naive_division, naive_duplicates
from tests.solving import FINISHED, S3, database_for, engine_for, share, solvable_boards


def divided(
    engine: Engine, board: Tiles, threshold: int, plan: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], int]:
    """Return the blank's paths to the roots of the subtrees, in their order, and the nodes generated."""
    lists: list[dict[str, Any]] = []

    def listed(*arguments: Any, **named: Any) -> SubtreeList:
        lists.append(named)
        return SubtreeList(*arguments, **named)

    monkeypatch.setattr(division, "SubtreeList", listed)
    stacks = StackPool(engine)
    with stacks.borrowed() as stack:
        stack.begin(engine.roots([board]), 0, threshold)
        work = DividedWork(stacks, stack, board, plan, threshold, 8.0, Checkpoint(), lambda _: None)
        assert work.search(1, 1 << 40, counts_goals=False) == mem.PAUSED
        paths = []
        for link in lists[0]["nodes"][:, mem.LINK].tolist():
            path = ""
            while link:
                path, link = "ULRD"[link & 3] + path, int(lists[0]["links"][link >> 2])
            paths.append(path)
        return paths, int(work.counters[mem.GENERATED])


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("kind", "max_duplicate", "partition", "size"),
    [
        *((kind, n, "1,2,5/3,4,6/7,8", S3) for kind, n in {VECTOR: 8, CATALOGUE: 2, WIDE: 2, SCALAR: 8}.items()),
        (VECTOR, 8, "1,2,3/4,5", BoardSize(3, 2)),
    ],
)
def test_division_is_the_naive_one(
    kind: str, max_duplicate: int, partition: str, size: BoardSize, monkeypatch: pytest.MonkeyPatch
) -> None:
    duplicates = naive_duplicates(max_duplicate)
    with database_for(partition, str(size), encoding="bits") as database:

        @cache
        def h(at: Tiles) -> int:
            return database.probe(at).h

        for board in share(solvable_boards(size, 2, 21), 2):
            threshold = h(board) + 4
            for batch, least_slack in ((1, 1), (64, 1), (64, 2)):
                engine = engine_for([database], max_duplicate, rounds=(kind, SCALAR), batch=batch).engine
                found = divided(engine, board, threshold, (10_000, least_slack), monkeypatch)
                assert found == naive_division(board, size, h, duplicates, threshold - 2 * least_slack, threshold)


def test_full_division_has_every_node_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without room to expand all, the nodes that are left follow the expanded ones."""
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding="bits") as database:
        engine = engine_for([database]).engine
        for board in solvable_boards(S3, 5, 22):
            threshold = database.probe(board).h + 6
            paths, _ = divided(engine, board, threshold, (100, 1), monkeypatch)
            assert 20 < len(paths) == len(set(paths)) <= 100
            assert not any(one != other and one.startswith(other) for one in paths for other in paths)


def test_plan_keeps_a_share_of_the_threshold_before() -> None:
    finished = FINISHED[:5]
    # 40,960 nodes in the threshold before: 1,280 are kept, and threshold 44 had 640.
    assert Division(most_nodes=10**6, ratio=32).plan(finished, 50) == (1280, 3)
    assert Division(most_nodes=100, ratio=32).plan(finished, 50) == (100, 4)
    assert Division(most_nodes=10**6, ratio=32).plan(finished, 50, pace=2.0) == (640, 3)
    assert Division(most_nodes=5, ratio=32).plan(finished, 50) is None


def test_threshold_without_subtrees_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """All its nodes are expanded near the root. Only damaged tables let such a threshold be divided."""
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding="bits") as database:
        engine = engine_for([database]).engine
        board = solvable_boards(S3, 1, 22)[0]
        assert divided(engine, board, database.probe(board).h, (10_000, 0), monkeypatch)[0] == []


def test_divisions_are_compiled_only_if_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = numba.njit(lambda number: number)
    monkeypatch.setattr(division, "expand_near_root", lambda *_: kernel(8))
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding="bits") as database:
        stacks = StackPool(engine_for([database]).engine)
        with stacks.borrowed() as stack:
            assert not division.loads_division(stacks.engine, stack, time.perf_counter() + 10)
            assert not kernel.signatures
            assert division.loads_division(stacks.engine, stack, math.inf)
            assert kernel.signatures
