"""Thresholds searched breadth first near the root: the same lengths as IDA*, whatever is kept in memory."""

import pytest

from pdb_core.puzzle import BoardSize, Tiles, blank_last
from pdb_query import Database
from solver import Checkpoint, Iteration, Limits, WorkerPool, replay
from solver.engine import search_memory as mem
from solver.engine.database_engine import CATALOGUE, SCALAR, VECTOR, WIDE
from solver.engine.engine import Engine
from solver.engine.frontier import Frontier, FrontierLimits
from solver.engine.frontier_kernels import FRONTIER_GENERATED
from solver.engine.ida_star import IdaStar
from tests.naive.boards_and_tables import naive_duplicates, naive_frontier
from tests.solving import S3, S4, database_for, engine_for, hard_board, node_counts, share, solvable_boards

S43 = BoardSize(4, 3)
PARTITIONS = {S3: ("1,2,5/3,4,6/7,8", "3x3"), S43: ("1,2,3,5/4,6,7/8,9,10,11", "4x3"), S4: ("555", "4x4")}


@pytest.fixture
def small_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No threshold is too small for slices."""
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 300)


def frontier_engine(database: Database, kind: str = VECTOR, **options: int) -> Engine:
    return engine_for([database], rounds=(kind, SCALAR), **options).engine


def keeping(engine: Engine, n_nodes: int) -> FrontierLimits:
    """Return limits with room for `n_nodes` nodes."""
    return FrontierLimits(n_nodes * (4 * engine.tables.n_columns + 16), previous_nodes=0, share=1)


def checked_length(ida_star: IdaStar, board: Tiles, pool: WorkerPool | None = None) -> int:
    result = ida_star.search(board, pool=pool)
    assert result.tiles is not None
    assert replay(board, result.tiles, ida_star.engine.goal, ida_star.engine.size)
    return len(result.tiles)


def moves_to(frontier: Frontier, node: int) -> list[int]:
    """Return the blank's moves from the root to a node."""
    moves = []
    while node != 1:
        link = int(frontier.nodes[node, mem.LINK])
        moves.append(link & 3)
        node = link >> 2
    return moves[::-1]


def whole_frontier(engine: Engine, board: Tiles, threshold: int, least_slack: int, most_nodes: int) -> Frontier:
    ida_star = IdaStar(engine)
    with ida_star.stacks.borrowed() as stack:
        stack.begin(engine.roots([board]), 0, threshold)
        frontier = Frontier(engine, stack, most_nodes, least_slack)
        while not frontier.is_complete:
            frontier.expand(stack, int(frontier.counters[FRONTIER_GENERATED]) + 1, 1 << 40)
    return frontier


def letters(moves: list[int]) -> str:
    return "".join("ULRD"[move] for move in moves)


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "max_duplicate"), [(VECTOR, 8), (CATALOGUE, 2), (WIDE, 2), (SCALAR, 8)])
def test_frontier_is_the_naive_one(kind: str, max_duplicate: int) -> None:
    duplicates = naive_duplicates(max_duplicate)
    with database_for(*PARTITIONS[S3], encoding="bits") as database:
        for board in share(solvable_boards(S3, blank_last(S3), 2, 21), 2):
            h = {}

            def h_of(at: Tiles, known: dict[Tiles, int] = h) -> int:
                return known.setdefault(at, database.probe(at).maximum)

            for batch in (1, 64):
                engine = frontier_engine(database, kind, batch=batch, max_duplicate=max_duplicate)
                threshold = h_of(board) + 4
                for least_slack in (1, 2):
                    frontier = whole_frontier(engine, board, threshold, least_slack, 100_000)
                    paths, unexpanded, generated = naive_frontier(
                        board, S3, h_of, duplicates, threshold - 2 * least_slack, threshold
                    )
                    n_generated, _n_expanded = frontier.take_counts()
                    assert n_generated == generated
                    assert [letters(moves_to(frontier, node)) for node in range(1, len(paths) + 1)] == paths
                    assert [letters(moves_to(frontier, node)) for node in frontier.ordered()[0].tolist()] == unexpanded


@pytest.mark.usefixtures("small_thresholds")
def test_complete_thresholds_have_at_most_the_nodes_of_ida_star() -> None:
    with database_for(*PARTITIONS[S4], encoding="bits") as database:
        engine = frontier_engine(database)
        limited = IdaStar(engine, frontier_limits=keeping(engine, 20_000))
        n_fewer = 0
        for board in solvable_boards(S4, blank_last(S4), 10, 8):
            counts = node_counts(IdaStar(engine).search(board).iterations)[:-1]
            fewer = node_counts(limited.search(board).iterations)[:-1]
            for (threshold, generated, expanded), found in zip(counts, fewer, strict=True):
                assert found[0] == threshold
                assert found[1] <= generated
                assert found[2] <= expanded
                n_fewer += found[1] < generated
            with WorkerPool(2) as pool:
                assert node_counts(limited.search(board, pool=pool).iterations)[:-1] == fewer
        assert n_fewer


@pytest.mark.usefixtures("small_thresholds")
def test_limits_and_interrupts_end_the_search() -> None:
    def interrupt(iteration: Iteration) -> None:
        if iteration.threshold >= 60:
            raise KeyboardInterrupt

    with database_for(*PARTITIONS[S4], encoding="bits") as database:
        engine = frontier_engine(database)
        ida_star = IdaStar(engine, frontier_limits=keeping(engine, 20_000))
        for limits in (Limits(nodes=100_000), Limits(nodes=150_000), Limits(seconds=0.05)):
            result = ida_star.search(hard_board(), limits)
            assert result.tiles is None
            assert not result.rest
            if limits.nodes is not None:
                assert limits.nodes <= result.generated < limits.nodes + 4
        for n_workers in (0, 2):
            with WorkerPool(n_workers) as pool, pytest.raises(KeyboardInterrupt):
                ida_star.search(hard_board(), report=interrupt, pool=pool if n_workers else None)
        board = solvable_boards(S4, blank_last(S4), 1, 8)[0]
        assert checked_length(ida_star, board) == checked_length(IdaStar(engine), board)


def interrupt(_: Iteration) -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("small_thresholds")
def test_checkpoint_records_subtrees_below_the_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver.engine.frontier._CHUNK", 32)
    with database_for(*PARTITIONS[S4], encoding="bits") as database:
        engine = frontier_engine(database)
        ida_star = IdaStar(engine, frontier_limits=keeping(engine, 20_000))
        board = hard_board()
        whole = ida_star.search(board, Limits(nodes=6_000_000))
        checkpoint, known = Checkpoint(), set()
        for millions in range(1, 7):
            result = ida_star.search(board, Limits(nodes=millions * 1_000_000), checkpoint=checkpoint)
            known.add(checkpoint.share)
        assert len(known - {None}) > 2
        assert node_counts(result.iterations[:-1]) == node_counts(whole.iterations[:-1])
        with pytest.raises(KeyboardInterrupt):
            ida_star.search(board, report=interrupt, checkpoint=checkpoint)
        last = result.iterations[-1]
        assert checkpoint.finished[-1].threshold == last.threshold - 2
        assert sum(at.generated for at in checkpoint.finished) == whole.generated - whole.iterations[-1].generated


def test_frontier_plan_fits_its_limits() -> None:
    finished = [Iteration(40 + 2 * i, 10 * 8**i, 5 * 8**i, 0.0) for i in range(5)]
    limits = FrontierLimits(10**9, previous_nodes=1000, share=32)
    # 40,960 nodes in the threshold before: 1,280 are kept, and threshold 44 had 640.
    assert limits.plan(finished, 50, 26) == (1280, 3)
    assert FrontierLimits(700 * 120, 1000, 32).plan(finished, 50, 26) == (700, 3)
    assert FrontierLimits(100 * 120, 1000, 32).plan(finished, 50, 26) == (100, 4)
    assert FrontierLimits(9 * 120, 1000, 32).plan(finished, 50, 26) is None
    assert FrontierLimits(10**9, 10**6, 32).plan(finished, 50, 26) is None
    assert limits.plan(finished, 50, 26, speed=2.0) == (640, 3)
    assert limits.plan([], 40, 26) is None
