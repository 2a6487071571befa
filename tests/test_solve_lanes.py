"""However many lanes and slices: thresholds searched to their end have the nodes of a plain depth-first search."""

import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.puzzle import blank_last
from pdb_query import Database
from solver import Solver, replay
from solver.ida_star.ida_star import IdaStar
from solver.ida_star.search_tables import Heuristic
from solver.move_pruning.move_pruning import move_machine
from tests import naive
from tests.solving import S3, S4, database_for, node_counts, solvable_boards

pytestmark = pytest.mark.patient


def with_lanes(database: Database, n_lanes: int, max_duplicate: int = 12) -> IdaStar:
    heuristic = Heuristic(database.lookup_tables, database.views())
    search = IdaStar(database.size, [heuristic], move_machine(max_duplicate), orders_children=n_lanes % 2 == 0)
    search._tables = search._tables._replace(n_lanes=n_lanes)
    return search


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("max_duplicate", [2, 8])
def test_finished_thresholds_have_the_nodes_of_naive_ida_star(max_duplicate: int, encoding: Encoding) -> None:
    duplicates = naive.naive_duplicates(max_duplicate)
    goal = blank_last(S3)
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding=encoding) as database:
        for board in solvable_boards(S3, goal, 4, 9):
            expected = naive.naive_thresholds(board, goal, S3, lambda at: database.probe(at).maximum, duplicates)
            for n_lanes in (1, 2, 4, 7):
                result = with_lanes(database, n_lanes, max_duplicate).search(board)
                assert result.tiles is not None
                found = node_counts(result.iterations)
                assert found[:-1] == expected[:-1]
                assert found[-1][0] == expected[-1][0] == len(result.tiles)


@pytest.mark.parametrize("n_lanes", [2, 3, 4, 8, 16])
def test_lanes_do_not_change_lengths_or_finished_thresholds(n_lanes: int) -> None:
    boards = solvable_boards(S4, blank_last(S4), 25, 11)
    with database_for("663", "4x4") as database:
        alone, several = with_lanes(database, 1), with_lanes(database, n_lanes)
        for board in boards:
            one, many = alone.search(board), several.search(board)
            assert one.tiles is not None
            assert many.tiles is not None
            assert len(one.tiles) == len(many.tiles)
            assert replay(board, many.tiles, blank_last(S4), S4)
            assert node_counts(one.iterations[:-1]) == node_counts(many.iterations[:-1])


def test_searches_are_repeatable_to_the_node() -> None:
    boards = solvable_boards(S4, blank_last(S4), 10, 12)
    with database_for("663", "4x4") as database:
        first, second = Solver(database), Solver(database)
        for board in boards:
            assert first.solve(board).generated == second.solve(board).generated


def test_paused_searches_have_the_nodes_of_unpaused_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    board = solvable_boards(S4, blank_last(S4), 3, 13)[2]
    with database_for("663", "4x4") as database:
        whole = Solver(database).solve(board)
        monkeypatch.setattr("solver.ida_star.threshold._SLICE_NODES", 1000)
        sliced = Solver(database).solve(board)
    assert node_counts(whole.iterations) == node_counts(sliced.iterations)
    assert whole.tiles == sliced.tiles
