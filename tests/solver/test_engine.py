"""Engine: complete thresholds have the nodes of the textbook, with all kinds of rounds, batches and slices."""

from collections.abc import Sequence

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Cost, Encoding
from pdb_core.puzzle import blank_last
from pdb_query import Database
from solver import Solver, replay
from solver.engine import search_memory as mem
from solver.engine.catalogue_tables import suits_catalogue
from solver.engine.database_engine import SCALAR, VECTOR, WIDE, database_engine
from solver.engine.unit_tables import DatabaseSums, sums_of
from solver.engine.vector_tables import suits_vectors
from solver.engine.wide_tables import suits_wide
from solver.move_pruning.move_pruning import LARGE_BOARD_LENGTH, PruningFsm
from solver.textbook import ida_star as textbook_ida_star
from tests.naive import boards_and_tables as naive
from tests.solving import (
    S3,
    S4,
    assert_same_search,
    database_for,
    duplicates_up_to,
    engine_for,
    node_counts,
    share,
    solvable_boards,
)  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "max_duplicate",
    [
        pytest.param(2, marks=pytest.mark.tiny),
        pytest.param(8, marks=pytest.mark.tiny),
        pytest.param(LARGE_BOARD_LENGTH, marks=pytest.mark.slow),
    ],
)
def test_complete_thresholds_have_the_nodes_of_the_textbook(max_duplicate: int, encoding: Encoding) -> None:
    duplicates = naive.naive_duplicates(max_duplicate) if max_duplicate <= 8 else duplicates_up_to(max_duplicate)
    goal = blank_last(S3)
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding=encoding) as database:
        for board in share(solvable_boards(S3, goal, 4, 9), 4):
            textbook = textbook_ida_star(board, goal, S3, lambda at: database.probe(at).maximum, pruned=duplicates)
            expected = node_counts(textbook.iterations)
            for batch in (1, 5, 64):
                for kind in (VECTOR, WIDE, SCALAR):
                    ida_star = engine_for([database], max_duplicate, batch=batch, rounds=(kind, SCALAR))
                    result = ida_star.search(board)
                    assert result.tiles is not None
                    assert replay(board, result.tiles, goal, S3)
                    found = node_counts(result.iterations)
                    assert found[:-1] == expected[:-1]
                    assert found[-1][0] == expected[-1][0] == len(result.tiles)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("kind", "size", "partition", "goal", "encoding", "cost"),
    [
        (VECTOR, "2x2", "1,2,3", "blank-last", "bits", "additive"),
        (VECTOR, "3x2", "1,2/3,4,5", "blank-first", "bits", "additive"),
        (VECTOR, "2x4", "1,2,3/4,5,6,7", "blank-last", "bits", "additive"),
        (VECTOR, "3x3", "1,2,3,4,5,6,7,8", "blank-last", "bits", "additive"),
        # The blank in the middle: eight sums.
        (VECTOR, "3x3", "1,2,3/4,5,6/7,8", "1 2 3/4 0 5/6 7 8", "bits", "additive"),
        (WIDE, "3x2", "1,2/3,4,5", "blank-first", "bytes", "additive"),
        (WIDE, "3x3", "1,2,3/4,5,6/7,8", "1 2 3/4 0 5/6 7 8", "bytes", "additive"),
        (WIDE, "3x3", "1,2,3,4/5,6,7,8", "blank-last", "bits", "every-move"),
        # A vertical move jumps over up to four tiles.
        (WIDE, "5x2", "1,2,3,4,5/6,7,8,9", "blank-last", "bits", "additive"),
        (WIDE, "2x5", "1,2,3,4,5/6,7,8,9", "blank-last", "bytes", "additive"),
    ],
)
def test_vector_and_wide_rounds_agree_with_scalar_ones(
    kind: str, size: str, partition: str, goal: str, encoding: Encoding, cost: Cost
) -> None:
    with database_for(partition, size, goal, encoding=encoding, cost=cost) as database:
        assert_rounds_agree([database], kind)


def assert_rounds_agree(databases: Sequence[Database], kind: str) -> None:
    """Check the complete thresholds and the lengths of random boards against scalar rounds."""
    vectors, scalars = engine_for(databases, rounds=(kind,)), engine_for(databases, rounds=(SCALAR,))
    for board in solvable_boards(databases[0].size, databases[0].goal, 6, 3):
        assert_same_search(vectors, scalars, board)


def test_wide_rounds_search_shared_tables_and_several_databases() -> None:
    shared = "1,2,5,6/3,4,7,8/9,10,13,14/11,12,15"
    bits = [database_for(name, "4x4", encoding="bits") for name in (shared, "555")]
    in_bytes = [database_for(name, "4x4", encoding="bytes") for name in (shared, "663")]
    for databases in ([bits[0]], [in_bytes[0]], bits, [bits[1], *in_bytes]):
        assert_rounds_agree(databases, WIDE)


@pytest.mark.parametrize("partitions", [["663"], ["555"], ["663", "555"], ["4443"], ["663", "555", "4443"]])
def test_batches_do_not_change_complete_thresholds_of_15_puzzle_boards(partitions: list[str]) -> None:
    names = {"4443": "1,2,3,4/5,6,7,8/9,10,11/12,13,14,15"}
    boards = solvable_boards(S4, blank_last(S4), 8, 11)
    databases = [database_for(names.get(name, name), "4x4", encoding="bits") for name in partitions]
    reference = engine_for(databases, rounds=(SCALAR,))
    for batch in (1, 16, 64):
        ida_star = engine_for(databases, batch=batch)
        assert ida_star.engine.kind == VECTOR
        for board in boards:
            assert_same_search(ida_star, reference, board)


def test_paused_searches_have_the_nodes_of_unpaused_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    board = solvable_boards(S4, blank_last(S4), 3, 13)[2]
    with database_for("663", "4x4") as database:
        whole = Solver(database).solve(board)
        monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 1000)
        sliced = Solver(database).solve(board)
    assert node_counts(whole.iterations) == node_counts(sliced.iterations)
    assert whole.tiles == sliced.tiles


def test_links_and_stacks_grow_while_a_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    board = solvable_boards(S4, blank_last(S4), 3, 13)[2]
    with database_for("555", "4x4", encoding="bits") as database:
        roomy = Solver(database).solve(board)
        monkeypatch.setattr("solver.engine.stack._LINKS", 600)
        monkeypatch.setattr("solver.engine.stack._USUAL_DEPTH", 0)
        crowded = Solver(database).solve(board)
    assert roomy.tiles == crowded.tiles
    assert roomy.generated == crowded.generated


def test_tables_that_exceed_a_field_are_left_to_other_rounds() -> None:
    """The numbers of tiles, sums and states of the FSM are checked when tables are arranged."""
    with database_for("555", "4x4", encoding="bits") as database:
        size, heuristic = database.size, DatabaseSums(database.lookup_tables, database.views(database.goal))
        sums = sums_of([heuristic])
        nine_tiles = heuristic._replace(tables=heuristic.tables._replace(n_tiles=np.array([5, 5, 9])))
        for suits, too_many_sums in ((suits_vectors, 24), (suits_catalogue, 33), (suits_wide, 256)):
            assert suits(size, sums)
            assert not suits(size, (128 * sums)[:too_many_sums])
            assert suits(size, (128 * sums)[: too_many_sums - 1])
            assert not suits(size, [(nine_tiles, view, patterns) for _, view, patterns in sums])
        fsm = PruningFsm(2, np.zeros((mem.FSM_STATE_MASK + 2, 4), dtype=np.int32))
        with pytest.raises(ValueError, match="the FSM has 4,194,305 states; a search keeps up to 4,194,304 apart"):
            database_engine(size, [heuristic], fsm)
