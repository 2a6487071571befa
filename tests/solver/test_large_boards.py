"""Suboptimal solutions of large boards: valid for every size, goal and time limit."""

import itertools
import json
import math
import random
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pdb_core.errors import BoardError, TableMismatchError, UnsolvableError, WrongAnswerError
from pdb_core.puzzle import BoardSize, Tiles, blank_last, format_board, is_solvable, parse_goal, random_boards, snail
from pdb_query import open_database, read_instances
from solver import find_suboptimal_solution, replay
from solver.large_boards.beam_search import find_path
from solver.large_boards.beam_search_kernels import Aim
from solver.large_boards.fitted_values import no_fitted_values
from solver.large_boards.line_by_line import Pieces, geometry, in_pieces
from solver.large_boards.lower_bound import linear_conflict_bound, lower_bound, manhattan_distance
from solver.large_boards.suboptimal import solve_by_lines, without_loops
from solver.solution import check_solution
from tests.command_line import pdb, refused, started_pdb
from tests.naive import boards_and_tables as naive
from tests.tables import table_file


def solvable(size: BoardSize, goal: Tiles, seed: int) -> Tiles:
    return tuple(random_boards(size, goal, 1, seed)[0].tolist())


def any_goal(size: BoardSize, seed: int) -> Tiles:
    goal = list(range(size.n_cells))
    random.Random(seed).shuffle(goal)
    return tuple(goal)


def assert_leads_to_the_goal(pieces: Pieces, path: list[int], size: BoardSize) -> None:
    here = pieces.blank_cell
    for cell in path:
        assert cell in size.neighbours[here]
        here = cell
    assert pieces.after(path).cells.tolist() == list(range(size.n_cells))


@pytest.mark.tiny
@pytest.mark.parametrize("size", [BoardSize(2, 2), BoardSize(2, 5), BoardSize(4, 3), BoardSize(5, 5)], ids=str)
def test_path_line_by_line_leads_to_any_goal(size: BoardSize) -> None:
    for seed in range(4):
        goal = any_goal(size, seed)
        pieces = in_pieces(solvable(size, goal, seed), goal)
        assert_leads_to_the_goal(pieces, solve_by_lines(pieces, size), size)


@pytest.mark.parametrize("size", [BoardSize(2, 4), BoardSize(4, 2), BoardSize(3, 3)], ids=str)
def test_path_line_by_line_is_found_for_every_goal_cell_of_the_blank(size: BoardSize) -> None:
    for blank in range(size.n_cells):
        goal = list(range(1, size.n_cells))
        goal.insert(blank, 0)
        for board in itertools.islice(itertools.permutations(range(size.n_cells)), 0, None, 997):
            if is_solvable(board, tuple(goal), size):
                pieces = in_pieces(board, tuple(goal))
                assert_leads_to_the_goal(pieces, solve_by_lines(pieces, size), size)


@pytest.mark.parametrize("size", [(2, 32), (12, 5), (17, 16), (32, 32)], ids=str)
def test_large_boards_are_solved_line_by_line(size: tuple[int, int]) -> None:
    board_size = BoardSize(*size)
    for seed in range(4 if board_size.n_cells < 300 else 1):
        goal = any_goal(board_size, seed)
        pieces = in_pieces(solvable(board_size, goal, seed), goal)
        assert_leads_to_the_goal(pieces, solve_by_lines(pieces, board_size), board_size)


@pytest.mark.tiny
@given(st.lists(st.integers(0, 3), max_size=60), st.integers(0, 8))
def test_loops_are_removed(moves: list[int], blank: int) -> None:
    size = BoardSize(3, 3)
    cells = list(range(9))
    cells[8], cells[blank] = cells[blank], 8
    pieces = Pieces(np.array(cells, dtype=np.int32), 8)
    path, here = list[int](), blank
    for move in moves:
        near = size.neighbours[here]
        here = near[move % len(near)]
        path.append(here)
    kept = without_loops(pieces, path)
    boards = [pieces.after(kept[:i]).cells.tobytes() for i in range(len(kept) + 1)]
    assert len(set(boards)) == len(boards)
    assert boards[-1] == pieces.after(path).cells.tobytes()


@given(st.integers(2, 7), st.integers(2, 7), st.integers(0, 10**6), st.sampled_from([0.0, 0.05]))
@settings(max_examples=25)
def test_suboptimal_solution_is_valid(width: int, height: int, seed: int, time_limit: float) -> None:
    size = BoardSize(width, height)
    goal = any_goal(size, seed)
    board = solvable(size, goal, seed)
    found = find_suboptimal_solution(board, goal, size, time_limit=time_limit)
    assert len(replay(board, found.tiles, goal, size)) == found.length + 1
    assert found.lower_bound <= found.length
    assert found.is_optimal is (found.length == found.lower_bound)


@pytest.mark.parametrize("size", [BoardSize(4, 3), BoardSize(7, 7)], ids=str)
def test_bounds_of_any_size_equal_naive_ones(size: BoardSize) -> None:
    for seed in range(20):
        goal = any_goal(size, seed)
        # A few moves of many tiles: there are more conflicts than in random boards.
        board = tuple(np.random.default_rng(seed).permutation(np.array(goal).reshape(size.height, -1)).reshape(-1))
        for cells in (solvable(size, goal, seed), tuple(map(int, board))):
            pieces = in_pieces(cells, goal)
            assert manhattan_distance(pieces, geometry(size)) == naive.naive_manhattan(cells, goal, size)
            assert linear_conflict_bound(pieces, size) == naive.naive_linear_conflict(cells, goal, size)


@pytest.mark.parametrize("goal", [blank_last(BoardSize(3, 3)), snail(BoardSize(3, 3))])
def test_lower_bound_is_at_most_the_optimal_length(goal: Tiles) -> None:
    size = BoardSize(3, 3)
    with open_database(table_file("1,2,3,4/5,6,7,8", "3x3")) as database:
        databases = (database,) if goal == database.goal else ()
        for board, distance in itertools.islice(naive.naive_distances(size, goal).items(), 0, None, 701):
            bound = lower_bound(board, goal, size, databases, in_pieces(board, goal))
            assert manhattan_distance(in_pieces(board, goal), geometry(size)) <= bound <= distance


def test_lower_bound_is_at_most_the_known_optimal_length_of_15_puzzles() -> None:
    size = BoardSize(4, 4)
    bounds = []
    for instance in read_instances("korf100", size):
        assert instance.goal is not None
        goal = parse_goal(instance.goal, size)
        bounds.append(lower_bound(instance.board, goal, size, (), in_pieces(instance.board, goal)))
        assert bounds[-1] <= (instance.optimal_length or 0)
    assert 40 < sum(bounds) / len(bounds) < 45


def test_databases_raise_the_lower_bound() -> None:
    size = BoardSize(4, 3)
    goal = blank_last(size)
    with open_database(table_file("1,2,3,5,6/4,7,8,9,10,11", "4x3")) as database:
        for board in map(tuple, random_boards(size, goal, 5, seed=1).tolist()):
            plain = find_suboptimal_solution(board, goal, size, time_limit=0.05)
            found = find_suboptimal_solution(board, goal, size, time_limit=0.05, databases=(database,))
            assert found.lower_bound == max(plain.lower_bound, database.probe(board).maximum)
            assert found.gap == (found.length or 0) - found.lower_bound
            assert found.bound == (found.length or 0) / found.lower_bound
        with pytest.raises(TableMismatchError):
            find_suboptimal_solution((1, 2, 3, 0), (1, 2, 3, 0), BoardSize(2, 2), databases=(database,))


def test_solutions_become_shorter_with_time() -> None:
    size = BoardSize(10, 10)
    board = solvable(size, blank_last(size), 3)
    lengths = [find_suboptimal_solution(board, blank_last(size), size, time_limit=limit).length for limit in (0.0, 0.6)]
    assert lengths[1] < 0.9 * lengths[0]


@pytest.mark.slow
def test_time_limit_does_not_include_compilation(tmp_path: Path) -> None:
    size = BoardSize(10, 10)
    board = format_board(solvable(size, blank_last(size), 3), size)
    answers = [
        json.loads(started_pdb("approximate", board, "--format", "ndjson", TILE_PDB_CACHE=str(tmp_path)).stdout)
        for _ in range(2)
    ]
    assert answers[0]["length"] < 1.4 * answers[1]["length"]
    assert answers[0]["seconds"] < 2


def test_time_limit_is_kept() -> None:
    for side in (4, 10, 32):
        size = BoardSize(side, side)
        board = solvable(size, blank_last(size), 5)
        start = time.perf_counter()
        find_suboptimal_solution(board, blank_last(size), size, time_limit=0.3)
        assert time.perf_counter() - start < 3.0


def test_unsolvable_and_invalid_boards_are_rejected() -> None:
    size = BoardSize(10, 10)
    board = (2, 1, *range(3, 100), 0)
    with pytest.raises(UnsolvableError, match="odd permutation") as caught:
        find_suboptimal_solution(board, blank_last(size), size)
    assert len(str(caught.value)) < 400
    with pytest.raises(BoardError):
        find_suboptimal_solution((1, *range(1, 99), 0), blank_last(size), size)


@pytest.mark.tiny
def test_wrong_solutions_are_detected() -> None:
    size = BoardSize(2, 2)
    check_solution((1, 2, 0, 3), (3,), (1, 2, 3, 0), size)
    for tiles in ((), (2,), (3, 3), (1,)):
        with pytest.raises(WrongAnswerError):
            check_solution((1, 2, 0, 3), tiles, (1, 2, 3, 0), size)


def test_command_solves_any_size_without_tables() -> None:
    size = BoardSize(10, 8)
    board = format_board(solvable(size, snail(size), 1), size)
    result = pdb("approximate", board, "--goal", "snail", "--format", "ndjson", "--time-limit", "0.3")
    record = json.loads(result.stdout)
    assert result.returncode == 0, result.stderr
    assert record["optimal"] is False
    assert record["lower_bound"] < record["length"] == len(record["moves"])
    replay(tuple(record["board"]), record["moves"], tuple(record["goal"]), size)
    assert "building" not in result.stderr


def test_command_tells_whether_a_solution_is_the_shortest() -> None:
    hardest = "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1"
    text = pdb("approximate", "1 2 3/4 5 6/7 0 8", hardest, "--time-limit", "0.1").stdout.splitlines()
    assert text[0].startswith("1: 1 move, optimal; ")
    assert "the optimal length is at least 60 (gap " in text[2]


def test_command_reports_the_gap_to_the_bound_of_a_database() -> None:
    size = BoardSize(4, 3)
    file, board = (
        str(table_file("1,2,3,5,6/4,7,8,9,10,11", "4x3")),
        format_board(solvable(size, blank_last(size), 1), size),
    )
    record = json.loads(pdb("approximate", board, "--db", file, "--format", "json", "--time-limit", "0.1").stdout)[0]
    assert record["heuristic"] == "db"
    assert record["gap"] == record["length"] - record["lower_bound"]
    assert record["bound"] == record["length"] / record["lower_bound"]
    header, row = pdb("approximate", board, "--format", "csv", "--time-limit", "0.1").stdout.splitlines()
    cells = dict(zip(header.split(",")[-8:], row.split(",")[-8:], strict=True))
    assert int(cells["gap"]) >= 0
    assert float(cells["bound"]) >= 1


def test_command_rejects_unsolvable_boards() -> None:
    refused(pdb("approximate", "1 2 3"), 2, "no square from 2x2 to 32x32")
    result = pdb("approximate", "2 1 3/4 5 6/7 8 0", "1 2 3/4 5 6/7 0 8", "--format", "csv")
    assert result.returncode == 3
    assert "odd permutation" in result.stderr
    assert len(result.stdout.splitlines()) == 3


@pytest.mark.tiny
@pytest.mark.filterwarnings("ignore:overflow encountered")  # the hash wraps around, on purpose
def test_wide_beam_is_breadth_first_search() -> None:
    size, goal = BoardSize(3, 2), (1, 2, 3, 4, 5, 0)
    weights = np.full(6, 16, dtype=np.int32)
    aim = Aim(geometry(size), weights, no_fitted_values(), focus=np.arange(6, dtype=np.int32), pull=0)
    upper = aim._replace(focus=np.arange(3, dtype=np.int32), pull=8)
    for board, distance in list(naive.naive_distances(size, goal).items())[1::40]:
        pieces = in_pieces(board, goal)
        path = find_path(pieces, aim, 400, 30, math.inf)
        assert path is not None
        assert len(path) == distance
        assert_leads_to_the_goal(pieces, path, size)
        assert find_path(pieces, aim, 400, distance - 1, math.inf) is None
        # A focus on the upper row is reached no later.
        focused = find_path(pieces, upper, 400, 30, math.inf)
        assert focused is not None
        assert len(focused) <= distance
        assert pieces.after(focused).cells[:3].tolist() == [0, 1, 2]
