"""Engine: complete thresholds have the nodes of the textbook, with all kinds of rounds, batches and slices."""

import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.puzzle import blank_last
from solver.engine.database_engine import ROWS, SCALAR, VECTOR, WIDE
from solver.engine.tuning import TUNING, Tuning
from solver.pruning.fsm import LARGE_BOARD_LENGTH
from solver.solution import replay
from solver.textbook import ida_star as textbook_ida_star
from tests import rows
from tests.naive.boards_and_tables import naive_duplicates
from tests.solving import (
    ROUNDS,
    S3,
    S4,
    database_for,
    duplicates_up_to,
    engine_for,
    node_counts,
    share,
    solvable_boards,
    solver_for,
)  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "max_duplicate", [pytest.param(8, marks=pytest.mark.tiny), pytest.param(LARGE_BOARD_LENGTH, marks=pytest.mark.slow)]
)
def test_complete_thresholds_have_the_nodes_of_the_textbook(max_duplicate: int, encoding: Encoding) -> None:
    duplicates = naive_duplicates(max_duplicate) if max_duplicate <= 8 else duplicates_up_to(max_duplicate)
    goal = blank_last(S3)
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding=encoding) as database:
        for board in share(solvable_boards(S3, 4, 9), 4):
            textbook = textbook_ida_star(board, lambda at: database.probe(at).h, goal, pruned=duplicates)
            expected = node_counts(textbook.thresholds)
            for batch in (1, 5, 64):
                for kind in (VECTOR, ROWS, WIDE, SCALAR):
                    ida_star = engine_for([database], max_duplicate, batch=batch, rounds=(kind, SCALAR))
                    result = ida_star.search(board)
                    assert replay(board, result.moves, goal, S3)
                    found = node_counts(result.thresholds)
                    assert found[:-1] == expected[:-1]
                    assert found[-1][0] == expected[-1][0] == len(result.moves)


# Kind of rounds | size | goal | tables: with the blank in the middle there are eight sums; a vertical move on 5x2 jumps
# over up to four tiles.
TABLES_OF_ROUNDS = rows("""
vector | 3x2 | blank-first | 1,2/3,4,5 bits
vector | 2x4 | blank-last | 1,2,3/4,5,6,7 bits
rows | 2x4 | blank-first | 1,2,3/4,5,6,7 bits
rows | 3x3 | 1 2 3/4 0 5/6 7 8 | 1,2,3/4,5,6/7,8 bits
vector | 3x3 | 1 2 3/4 0 5/6 7 8 | 1,2,3/4,5,6/7,8 bits
vector | 4x4 | blank-last | 663 bits; 555 bits; 1,2,3,4/5,6,7,8/9,10,11/12,13,14,15 bits
wide | 3x3 | 1 2 3/4 0 5/6 7 8 | 1,2,3/4,5,6/7,8 bits
catalogue | 3x3 | blank-last | 1,2,3,4/5,6,7,8 bits every-move
wide | 5x2 | blank-last | 1,2,3,4,5/6,7,8,9 bits
wide | 4x4 | blank-last | 1,2,5,6/3,4,7,8/9,10,13,14/11,12,15 bits; 555 bits
catalogue | 3x3 | 1 2 3/4 0 5/6 7 8 | 1,2,3,4/5,6/7,8 bits
catalogue | 3x3 | blank-last | 1,2,3,4/5,6/7,8+1,4,7/2,3,5/6,8+1,2/3,4,5/6,7,8 bits
wide | 3x3 | blank-last | 1,2,3,4/5,6/7,8+1,4,7/2,3,5/6,8+1,2/3,4,5/6,7,8 bits
scalar | 3x3 | 1 2 3/4 0 5/6 7 8 | 1,2,3,4/5,6/7,8+1,4,7/2,3,5/6,8+1,2/3,4,5/6,7,8 bits
catalogue | 3x3 | blank-last | 1,2,3,4/5,6/7,8 bits; 1,4,7/2,3,5/6,8 bits; 1,2/3,4,5/6,7,8 bits
""")


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "size", "goal", "tables"), TABLES_OF_ROUNDS)
def test_all_rounds_agree_with_scalar_ones_of_separate_partitions(kind: str, size: str, goal: str, tables: str) -> None:
    given = [table.split() for table in tables.split(";")]
    databases = [database_for(partition, size, goal, *options) for partition, *options in given]
    parts = [(part, *options) for partition, *options in given for part in partition.split("+")]
    scalars = engine_for([database_for(part, size, goal, *options) for part, *options in parts], rounds=(SCALAR,))
    for batch in (3, 16, 64):
        engine = engine_for(databases, rounds=(ROUNDS[kind],), batch=batch)
        for board in share(solvable_boards(databases[0].size, 6, 3, databases[0].goal), 3):
            found, other = engine.search(board), scalars.search(board)
            assert replay(board, found.moves, databases[0].goal, databases[0].size)
            assert len(found.moves) == len(other.moves)
            assert node_counts(found.thresholds[:-1]) == node_counts(other.thresholds[:-1])


@pytest.mark.parametrize(
    "tuning", [Tuning(slice_nodes=1000), Tuning(first_links=600, first_depth=0), Tuning(n_thresholds=2)], ids=str
)
def test_pauses_and_memory_that_grows_change_no_node(tuning: Tuning) -> None:
    board = solvable_boards(S4, 3, 13)[2]
    whole, limited = (solver_for("663", "4x4", "bits", each).solve(board) for each in (TUNING, tuning))
    assert node_counts(limited.thresholds) == node_counts(whole.thresholds)
    assert limited.moves == whole.moves
