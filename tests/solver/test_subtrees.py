"""Subtrees: divided, interrupted and paused searches have the nodes and answers of whole ones."""

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import TableFileDamagedError
from pdb_core.puzzle import BoardSize, Tiles, blank_last
from solver import (
    Checkpoint,
    HeuristicSolver,
    Iteration,
    Limits,
    Solver,
    Subtrees,
    WorkerPool,
    checkpoint as checkpoint_module,
    replay,
)
from solver.engine.frontier import FrontierLimits
from solver.engine.stack import StackPool, board_before, tiles_moved
from solver.engine.subtree_list import SubtreeList
from solver.engine.subtrees import search_subtrees
from tests.solving import S3, S4, database_for, node_counts, solvable_boards

PARTITIONS = {S3: ("1,2,5/3,4,6/7,8", "3x3"), S4: ("555", "4x4")}


@pytest.fixture
def divided_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide thresholds of some nodes into some subtrees."""
    monkeypatch.setattr(checkpoint_module, "DIVIDE_ABOVE", 5)
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 64)
    divide_by(monkeypatch, 1)


def divide_by(monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    """Set the ratio of the nodes of a threshold to those that divide the next one."""
    monkeypatch.setattr("solver.engine.ida_star.DIVISION", FrontierLimits(1 << 24, previous_nodes=0, share=share))


class CountedCheckpoint(Checkpoint):
    """Checkpoint that counts the finished subtrees."""

    def __init__(self) -> None:
        super().__init__()
        self.n_subtrees = 0
        self.shares: list[float] = []

    def finish_subtrees(self, threshold: int, division: str, more: Subtrees) -> None:
        super().finish_subtrees(threshold, division, more)
        self.n_subtrees += len(more.numbers)
        assert self.share is not None
        self.shares.append(self.share)


class StoppedError(Exception):
    """Error of a report that stops the search."""


def same_search(solver: Any, board: Tiles, pool: WorkerPool | None, checkpoint: Checkpoint) -> None:
    """Compare the search with a checkpoint with one without."""
    alone = solver.solve(board)
    found = solver.solve(board, pool=pool, checkpoint=checkpoint)
    assert found.length == alone.length
    assert node_counts(found.iterations[:-1]) == node_counts(alone.iterations[:-1])
    assert found.iterations[-1].threshold == alone.iterations[-1].threshold


@pytest.mark.tiny
@pytest.mark.parametrize("size", [BoardSize(2, 3), BoardSize(3, 3), BoardSize(5, 2)], ids=str)
def test_board_before_moves_is_found_unless_they_come_from_outside(size: BoardSize) -> None:
    rng, n_found = random.Random(1), 0
    for end in solvable_boards(size, blank_last(size), 300, 1):
        moves = rng.choices(range(4), k=4)
        before = board_before(end, moves, size)
        rows_and_columns, blanks = ((-1, 0), (0, -1), (0, 1), (1, 0)), [divmod(end.index(0), size.width)]
        for move in reversed(moves):
            (row, column), (down, right) = blanks[-1], rows_and_columns[move]
            blanks.append((row - down, column - right))
        assert (before is not None) == all(
            0 <= row < size.height and 0 <= column < size.width for row, column in blanks
        )
        if before is not None:
            n_found += 1
            assert tiles_moved(before, moves, size)[1] == end
    assert n_found > 10


def test_search_below_a_frontier_that_ends_elsewhere_names_the_damaged_file() -> None:
    with database_for(*PARTITIONS[S3]) as database:
        engine = Solver(database).ida_star.engine
        subtrees = SubtreeList(
            StackPool(engine), 4, Checkpoint(), nodes=np.zeros((1, engine.tables.n_columns), dtype=np.uint32),
            roots=np.zeros(1, dtype=np.int64), group_size=1, shares=np.ones(1), digest="",
            path_to=lambda _: (database.goal, ()),
        )  # fmt: skip
        stack: Any = SimpleNamespace(moves_to_goal=lambda: [0] * 3)
        with pytest.raises(TableFileDamagedError, match="a distance in it contradicts another one"):
            subtrees.tiles(stack, 0)


@pytest.mark.usefixtures("divided_early")
@pytest.mark.parametrize("n_workers", [0, 3])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_divided_thresholds_have_the_nodes_of_undivided_ones(encoding: Encoding, plain: bool, n_workers: int) -> None:
    n_subtrees = 0
    with database_for(*PARTITIONS[S3], encoding=encoding) as database, WorkerPool(n_workers) as pool:
        solver = Solver(database, plain=plain)
        for board in solvable_boards(S3, blank_last(S3), 8, 3):
            checkpoint = CountedCheckpoint()
            same_search(solver, board, pool if n_workers else None, checkpoint)
            n_subtrees += checkpoint.n_subtrees
            assert all(0 <= share <= 1 for share in checkpoint.shares)
    assert n_subtrees > 100


@pytest.mark.usefixtures("divided_early")
def test_other_heuristics_and_15_puzzle_boards_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = CountedCheckpoint()
    same_search(HeuristicSolver(S3, blank_last(S3), ["linear-conflict"]), (8, 6, 7, 2, 5, 4, 3, 0, 1), None, checkpoint)
    assert checkpoint.n_subtrees > 50
    divide_by(monkeypatch, 170)
    with database_for(*PARTITIONS[S4], encoding="bits") as database, WorkerPool(1) as pool:
        for board in solvable_boards(S4, blank_last(S4), 3, 11):
            same_search(Solver(database), board, pool, CountedCheckpoint())


@pytest.mark.usefixtures("divided_early")
@pytest.mark.parametrize("n_workers", [0, 2])
def test_interrupted_search_continues_with_the_same_nodes(monkeypatch: pytest.MonkeyPatch, n_workers: int) -> None:
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 5000)
    divide_by(monkeypatch, 80)
    draw = random.Random(5)
    n_stops = 0
    with database_for(*PARTITIONS[S4], encoding="bits") as database, WorkerPool(n_workers) as pool:
        solver = Solver(database)
        for board in solvable_boards(S4, blank_last(S4), 4, 5):
            checkpoint, alone = CountedCheckpoint(), solver.solve(board)
            for n_reports in range(2, 1000):
                left = draw.randrange(1, n_reports)

                def stop(_iteration: Iteration) -> None:
                    nonlocal left
                    left -= 1
                    if left == 0:
                        raise StoppedError

                try:
                    found = solver.solve(board, report=stop, pool=pool if n_workers else None, checkpoint=checkpoint)
                    break
                except StoppedError:
                    n_stops += 1
            replay(board, found.tiles or (), database.goal, S4)
            assert found.length == alone.length
            assert node_counts(found.iterations[:-1]) == node_counts(alone.iterations[:-1])
    assert n_stops > 20


@pytest.mark.usefixtures("divided_early")
def test_limits_are_on_the_nodes_of_all_runs() -> None:
    with database_for(*PARTITIONS[S3]) as database:
        solver, board = Solver(database), (8, 6, 7, 2, 5, 4, 3, 0, 1)
        alone, checkpoint = solver.solve(board), Checkpoint()
        for nodes in range(20, alone.generated, 40):
            found = solver.solve(board, limits=Limits(nodes=nodes), checkpoint=checkpoint)
            if found.length is not None:
                break
            assert found.lower_bound <= (alone.length or 0)
            assert found.generated >= nodes
        assert solver.solve(board, checkpoint=checkpoint).length == alone.length


@pytest.mark.usefixtures("divided_early")
def test_all_solutions_are_counted_from_a_checkpoint_on() -> None:
    with database_for(*PARTITIONS[S3]) as database:
        solver, board = Solver(database), (8, 6, 7, 2, 5, 4, 3, 0, 1)
        alone, checkpoint = solver.solve_all(board), CountedCheckpoint()
        for _ in range(2):
            found = solver.solve_all(board, checkpoint=checkpoint)
            assert (found.n_solutions, found.is_complete) == (alone.n_solutions, True)
            assert node_counts(found.iterations) == node_counts(alone.iterations)
        assert checkpoint.finished == found.iterations[:-1]
        assert checkpoint.n_subtrees == 0


def test_checkpoint_of_other_thresholds_is_ignored() -> None:
    iterations = tuple(Iteration(threshold, 10, 5, 0.1) for threshold in (20, 22, 24))
    for kept in (iterations[1:], iterations[::2], (iterations[0], iterations[0], iterations[0])):
        checkpoint = Checkpoint()
        checkpoint.finished = kept
        assert checkpoint.resume(iterations[:1], 20) == iterations[:1]
    checkpoint.finished = iterations
    assert checkpoint.resume(iterations[:1], 20) == iterations
    assert checkpoint.resume((), 21) == ()


# Subtrees of a paused search


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
def test_nodes_of_all_subtrees_of_a_paused_search_add_up(nodes: int, encoding: Encoding, plain: bool) -> None:
    with database_for(*PARTITIONS[S3], encoding=encoding) as database:
        solver = Solver(database, plain=plain)
        for board in solvable_boards(S3, blank_last(S3), 8, 3):
            alone = solver.solve(board)
            length, counts, n_parts = solved_in_parts(solver, board, 1, nodes)
            assert length == alone.length
            assert counts == node_counts(alone.iterations[:-1])
            assert n_parts > 1
