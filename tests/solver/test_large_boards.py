"""Suboptimal solutions of large boards: valid for every size, goal and time limit."""

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.errors import TableMismatchError
from pdb_core.jit import JIT_DISABLED
from pdb_core.puzzle import Tiles, blank_last, format_board
from pdb_query import open_database
from solver.approximate.lower_bound import linear_conflict_bound, manhattan_distance
from solver.approximate.suboptimal import find_from_both_ends, find_suboptimal_solution
from solver.beams.beam_search import find_path, new_beam
from solver.beams.beam_search_kernels import (
    Beam,
)
from solver.beams.fitted_values import embedding
from solver.beams.pieces import in_pieces
from solver.beams.solutions import fitted_aim
from solver.solution import replay
from tests.command_line import started_pdb
from tests.naive import boards_and_tables as naive
from tests.naive.heuristics import naive_linear_conflict
from tests.solving import share, solvable_boards
from tests.tables import table_file


def any_goal(size: BoardSize, seed: int) -> Tiles:
    return tuple(np.random.default_rng(seed).permutation(size.n_cells).tolist())


def board_of(size: BoardSize, seed: int) -> Tiles:
    return solvable_boards(size, 1, seed)[0]


def check(size: BoardSize, seed: int, time_limit: float) -> None:
    """Check a suboptimal solution: it is valid, passes no board twice, and keeps to its lower bound."""
    goal = any_goal(size, seed)
    board = solvable_boards(size, 1, seed, goal)[0]
    found = find_suboptimal_solution(board, goal, size, time_limit=time_limit)
    boards = replay(board, found.moves, goal, size)
    assert len(set(boards)) == len(boards) == found.length + 1
    assert found.lower_bound <= found.length
    assert found.optimal is (found.length == found.lower_bound)


@pytest.mark.parametrize(("text", "time_limit"), [("2x32", 0.0), ("12x11", 0.0), ("32x32", 0.3)])
def test_solution_of_a_large_board_is_valid(text: str, time_limit: float) -> None:
    """Line by line, at first without beams. Without their limit, these would take hours."""
    check(parse_size(text), 0, time_limit)


SIDES = st.integers(2, 3 if JIT_DISABLED else 6)


@pytest.mark.tiny
@pytest.mark.filterwarnings("ignore:overflow encountered")  # the hash wraps around, on purpose
@given(SIDES, SIDES, st.integers(0, 10**6), st.sampled_from([0.0, 0.05]))
@settings(max_examples=len(share(range(40), 8)))
def test_suboptimal_solution_is_valid(width: int, height: int, seed: int, time_limit: float) -> None:
    check(BoardSize(width, height), seed, time_limit)


@pytest.mark.parametrize("size", [BoardSize(4, 3), BoardSize(7, 7)], ids=str)
def test_bounds_of_any_size_equal_naive_ones(size: BoardSize) -> None:
    for seed in range(20):
        goal = any_goal(size, seed)
        # A few moves of many tiles: there are more conflicts than in random boards.
        board = tuple(np.random.default_rng(seed).permutation(np.array(goal).reshape(size.height, -1)).reshape(-1))
        for cells in (solvable_boards(size, 1, seed, goal)[0], tuple(map(int, board))):
            pieces = in_pieces(cells, goal)
            assert manhattan_distance(pieces, size) == naive.naive_manhattan(cells, goal, size)
            assert linear_conflict_bound(pieces, size) == naive_linear_conflict(cells, goal, size)


def test_databases_raise_the_lower_bound() -> None:
    size = BoardSize(4, 3)
    goal = blank_last(size)
    with open_database(table_file("1,2,3,5,6/4,7,8,9,10,11", "4x3")) as database:
        for board in solvable_boards(size, 5, 1):
            plain = find_suboptimal_solution(board, goal, size, time_limit=0.05)
            found = find_suboptimal_solution(board, goal, size, time_limit=0.05, databases=(database,))
            assert found.lower_bound == max(plain.lower_bound, database.probe(board).h)
        with pytest.raises(TableMismatchError):
            find_suboptimal_solution((1, 2, 3, 0), (1, 2, 3, 0), BoardSize(2, 2), databases=(database,))


def test_best_solution_is_returned_if_wider_beams_have_no_memory_or_find_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def new_small_beam(n_cells: int, width: int, limit: int) -> Beam:
        if width > 100:
            raise MemoryError
        return new_beam(n_cells, width, limit)

    board, widths = board_of(BoardSize(6, 6), 1), []
    first = find_suboptimal_solution(board, time_limit=0)
    monkeypatch.setattr("solver.beams.beam_search.new_beam", new_small_beam)
    assert find_suboptimal_solution(board, time_limit=10).length < first.length
    monkeypatch.setattr("solver.approximate.suboptimal._find_rest", lambda *arguments: widths.append(arguments[3]))
    assert find_suboptimal_solution(board, time_limit=10).moves == first.moves
    # Up to 8x8, only whole boards are searched.
    assert len(widths) == len(set(widths)) > 3


@pytest.mark.slow
def test_time_limit_does_not_include_compilation(tmp_path: Path) -> None:
    size = BoardSize(10, 10)
    board = format_board(board_of(size, 3), size)
    answers = [
        json.loads(started_pdb("approximate", board, "--format", "ndjson", TILE_PDB_CACHE=str(tmp_path)).stdout)
        for _ in range(2)
    ]
    assert answers[0]["length"] < 1.4 * answers[1]["length"]
    assert answers[0]["seconds"] < 2


@pytest.mark.parametrize(("name", "length"), [("6x6", 194), ("8x8", 518), ("12x4", 386)])
def test_narrow_beams_find_short_solutions(name: str, length: int) -> None:
    """Any other value of a piece or a pair leads to other lengths."""
    size = parse_size(name)
    whole = embedding(size, range(size.height), range(size.width))
    pieces = in_pieces(board_of(size, 2), blank_last(size))
    path = whole.original_path(find_from_both_ends(whole.embed(pieces), fitted_aim(whole), 300, 700, math.inf))
    assert pieces.after(path, size).cells.tolist() == list(range(size.n_cells))
    assert len(path) == length


def test_paths_of_beams_wider_than_a_block_are_those_on_record() -> None:
    """Without some board of a block, they differ."""
    size = BoardSize(5, 5)
    whole = embedding(size, range(5), range(5))
    path = find_path(
        whole.embed(in_pieces(board_of(size, 1), blank_last(size))), fitted_aim(whole), 40_000, 200, math.inf
    )
    assert (len(path), hashlib.sha256(bytes(path)).hexdigest()[:16]) == (110, "0ef6d01a3ab91980")
