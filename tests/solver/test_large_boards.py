"""Suboptimal solutions of large boards: valid for every size, goal and time limit."""

import itertools
import json
import math
import random
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pdb_core.errors import BoardError, UnsolvableError, WrongAnswerError
from pdb_core.puzzle import BoardSize, Tiles, blank_last, format_board, is_solvable, random_boards, snail
from solver import find_suboptimal_solution, replay
from solver.large_boards.beam_search import Aim, BeamSearch
from solver.large_boards.line_by_line import Pieces, geometry, in_pieces, solve_by_lines
from solver.large_boards.suboptimal import manhattan_distance, without_loops
from solver.solution import check_solution
from tests.command_line import pdb, refused
from tests.naive import boards_and_tables as naive


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
        for board in itertools.islice(itertools.permutations(range(size.n_cells)), 0, None, 97):
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


@pytest.mark.parametrize("size", [BoardSize(2, 2), BoardSize(3, 2), BoardSize(2, 3)])
def test_solutions_of_small_boards_are_optimal(size: BoardSize) -> None:
    goal = snail(size)
    for board, distance in naive.naive_distances(size, goal).items():
        found = find_suboptimal_solution(board, goal, size)
        assert found.is_optimal
        assert found.length == found.lower_bound == distance >= found.h


def test_lower_bound_is_the_manhattan_distance() -> None:
    size = BoardSize(4, 3)
    for seed in range(20):
        goal = any_goal(size, seed)
        board = solvable(size, goal, seed)
        assert manhattan_distance(in_pieces(board, goal), geometry(size)) == naive.naive_manhattan(board, goal, size)


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
        json.loads(pdb("approximate", board, "--format", "ndjson", TILE_PDB_CACHE=str(tmp_path)).stdout)
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
    assert "the optimal length is at least 58" in text[2]


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
    arrays = geometry(size)
    weights, nothing = np.full(6, 16, dtype=np.int32), np.empty(0, dtype=np.int32)
    wanted = np.arange(6, dtype=np.int32)
    beam = BeamSearch(arrays, 400, 30)
    for board, distance in list(naive.naive_distances(size, goal).items())[1::40]:
        pieces = in_pieces(board, goal)
        aim = Aim(wanted, weights, arrays.neighbours, nothing, 0, 16)
        path = beam.find(pieces, aim, limit=30, end=math.inf)
        assert path is not None
        assert len(path) == distance
        assert_leads_to_the_goal(pieces, path, size)
        assert beam.find(pieces, aim, limit=distance - 1, end=math.inf) is None
        # A focus on the upper row is reached no later.
        focused = beam.find(pieces, replace(aim, focus=wanted[:3], pull=8), limit=30, end=math.inf)
        assert focused is not None
        assert len(focused) <= distance
        assert pieces.after(focused).cells[:3].tolist() == [0, 1, 2]
