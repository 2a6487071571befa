"""Suboptimal solutions of large boards: valid for every size, goal and time limit."""

import hashlib
import json
import math
import time
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.errors import BoardError, TableMismatchError, UnsolvableError
from pdb_core.puzzle import Tiles, blank_last, cell_distances, format_board
from pdb_core.types import Int64s
from pdb_query import open_database
from solver import find_suboptimal_solution, replay
from solver.approximate.lower_bound import linear_conflict_bound, manhattan_distance
from solver.approximate.suboptimal import find_from_both_ends
from solver.beams.beam_search import find_path, new_beam
from solver.beams.beam_search_kernels import (
    LEAST_SUMMED,
    NOISE,
    NOT_FOUND,
    Aim,
    Beam,
    grow_beam,
    list_children,
    start_beam,
)
from solver.beams.fitted_values import MOVE_UNITS, changes_of, embedding, pair_values
from solver.beams.pieces import Pieces, in_pieces
from solver.beams.solutions import fitted_aim
from tests.command_line import pdb, records, started_pdb
from tests.naive import boards_and_tables as naive
from tests.naive.heuristics import naive_linear_conflict
from tests.solving import goal_with_blank, hard_board, share, solvable_boards
from tests.tables import table_file


def any_goal(size: BoardSize, seed: int) -> Tiles:
    return tuple(np.random.default_rng(seed).permutation(size.n_cells).tolist())


def board_of(size: BoardSize, seed: int) -> Tiles:
    return solvable_boards(size, 1, seed)[0]


def check(size: BoardSize, goal: Tiles, seed: int, time_limit: float) -> None:
    """Check a suboptimal solution: it is valid, passes no board twice, and keeps to its lower bound."""
    board = solvable_boards(size, 1, seed, goal)[0]
    found = find_suboptimal_solution(board, goal, size, time_limit=time_limit)
    boards = replay(board, found.moves, goal, size)
    assert len(set(boards)) == len(boards) == found.length + 1
    assert found.lower_bound <= found.length
    assert found.optimal is (found.length == found.lower_bound)


@pytest.mark.parametrize("text", ["2x2", "2x5", "4x3", "2x32", "12x5", "17x16", "32x32"])
def test_first_solution_is_valid(text: str) -> None:
    """Line by line, without beams. On small boards, the blank's goal is each cell in turn."""
    size = parse_size(text)
    for blank in range(size.n_cells if size.n_cells <= 12 else 1):
        check(size, goal_with_blank(blank, size) if size.n_cells <= 12 else any_goal(size, 0), blank, time_limit=0.0)


@pytest.mark.tiny
@pytest.mark.filterwarnings("ignore:overflow encountered")  # the hash wraps around, on purpose
@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 10**6), st.sampled_from([0.0, 0.05]))
@settings(max_examples=len(share(range(25), 5)))
def test_suboptimal_solution_is_valid(width: int, height: int, seed: int, time_limit: float) -> None:
    size = BoardSize(width, height)
    check(size, any_goal(size, seed), seed, time_limit)


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


def test_solutions_become_shorter_with_time() -> None:
    size = BoardSize(10, 10)
    board = board_of(size, 3)
    lengths = [find_suboptimal_solution(board, time_limit=limit).length for limit in (0.0, 1.5)]
    assert lengths[1] < 0.9 * lengths[0]


def test_best_solution_is_returned_if_wider_beams_have_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def new_small_beam(n_cells: int, width: int, limit: int) -> Beam:
        if width > 100:
            raise MemoryError
        return new_beam(n_cells, width, limit)

    size = BoardSize(6, 6)
    first = find_suboptimal_solution(board_of(size, 1), time_limit=0)
    monkeypatch.setattr("solver.beams.beam_search.new_beam", new_small_beam)
    found = find_suboptimal_solution(board_of(size, 1), time_limit=10)
    assert found.length < first.length


def test_beams_that_find_nothing_leave_the_first_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    size, widths = BoardSize(6, 6), []
    first = find_suboptimal_solution(board_of(size, 1), time_limit=0)
    monkeypatch.setattr("solver.approximate.suboptimal._find_rest", lambda *arguments: widths.append(arguments[3]))
    found = find_suboptimal_solution(board_of(size, 1), time_limit=10)
    assert found.moves == first.moves
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


@pytest.mark.parametrize("side", [4, 10, 32])
def test_time_limit_is_kept(side: int) -> None:
    size = BoardSize(side, side)
    board = board_of(size, 5)
    start = time.perf_counter()
    find_suboptimal_solution(board, time_limit=0.3)
    assert time.perf_counter() - start < 3.0


def test_unsolvable_and_invalid_boards_are_rejected() -> None:
    with pytest.raises(UnsolvableError, match="odd number of swaps") as caught:
        find_suboptimal_solution((2, 1, *range(3, 100), 0))
    assert len(str(caught.value)) < 400
    with pytest.raises(BoardError):
        find_suboptimal_solution((1, *range(1, 99), 0))


@pytest.mark.parametrize(
    ("name", "lengths"), [("6x6", "194 186"), ("8x8", "518 431"), ("7x9", "482 463"), ("12x4", "386 390")]
)
def test_narrow_beams_find_short_solutions(name: str, lengths: str) -> None:
    size = parse_size(name)
    whole = embedding(size, range(size.height), range(size.width))
    found = []
    for board in solvable_boards(size, 2, 2):
        pieces = in_pieces(board, blank_last(size))
        found_path = find_from_both_ends(whole.embed(pieces), fitted_aim(whole), 300, 700, math.inf)
        path = whole.original_path(found_path)
        assert pieces.after(path, size).cells.tolist() == list(range(size.n_cells))
        found.append(len(path))
    # Any other value of a piece or a pair leads to other lengths.
    assert found == list(map(int, lengths.split()))


def begun_beam(size: BoardSize, seed: int, width: int, n_moves: int) -> tuple[Pieces, Aim, Beam]:
    """Return a board, the aim at its goal by fitted values, and a beam that begins with the board."""
    pieces = in_pieces(board_of(size, seed), blank_last(size))
    beam = new_beam(size.n_cells, width, n_moves)
    start_beam(beam, pieces.cells, pieces.blank_cell)
    return pieces, fitted_aim(embedding(size, range(size.height), range(size.width))), beam


def estimates(boards: Int64s, size: BoardSize, blank: int = -1) -> Int64s:
    """Return the estimates of boards of pieces, by default with the last one as blank."""
    values, places, tiles = pair_values(size), np.argsort(boards, axis=1), np.delete(np.arange(size.n_cells), blank)
    total: Int64s = MOVE_UNITS * cell_distances(size)[tiles, places[:, tiles]].sum(axis=1)
    for one, other in combinations_with_replacement(tiles, 2):
        total += values[one, places[:, one], other, places[:, other]]
    return total


@pytest.mark.tiny
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of the hashes, with the JIT off
@pytest.mark.parametrize("name", ["6x6", "7x7", "8x8", "9x4"])
def test_scores_are_changes_of_the_estimate(name: str) -> None:
    """The values of pairs are added for many children at a time, or for one; both kinds occur."""
    size = parse_size(name)
    pieces, aim, beam = begun_beam(size, 3, 100, 9)
    sizes = []
    for depth in range(1, 9):
        ends = list_children(beam, aim, (0, beam.state[0], 1))
        sizes += np.diff(ends[1::2], prepend=0).tolist()
        assert grow_beam(beam, aim, 100, depth) == NOT_FOUND
    assert min(sizes) == 0 < LEAST_SUMMED <= max(sizes)
    assert sum(0 < n_children < LEAST_SUMMED for n_children in sizes) > 0
    n_boards = beam.state[0]
    assert 90 <= n_boards <= 100
    changes = estimates(beam.boards[0, :n_boards, : size.n_cells], size) - estimates(pieces.cells[None], size)
    assert beam.numbers[0, :n_boards, -3].tolist() == changes.tolist()


@pytest.mark.tiny
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("name", ["6x6", "9x4"])
def test_layers_keep_the_best_children(name: str) -> None:
    """Up to the random numbers that break ties. Boards that were kept before are no children."""
    size, width = parse_size(name), 60
    pieces, aim, beam = begun_beam(size, 3, width, 20)
    blank = size.n_cells - 1  # the last piece
    layer: set[Tiles] = {tuple(pieces.cells.tolist())}
    before = set(layer)
    for depth in range(1, 21):
        children = naive.naive_children(layer, blank, size) - before
        assert grow_beam(beam, aim, width, depth) == NOT_FOUND
        layer = set(map(tuple, beam.boards[depth % 2, : beam.state[0], : size.n_cells].tolist()))
        assert layer <= children
        assert min(len(children), width / 2) <= len(layer) <= width
        if left := children - layer:
            worst, best_left = estimates(np.array([*layer]), size).max(), estimates(np.array([*left]), size).min()
            assert worst < best_left + NOISE
        before |= layer
    assert len(left) > width


@pytest.mark.parametrize(
    ("name", "seed", "length", "digest"), [("5x5", 1, 110, "0ef6d01a3ab91980"), ("6x6", 0, 173, "1c5355b4b56ddb49")]
)
def test_paths_of_beams_wider_than_a_block_are_those_on_record(name: str, seed: int, length: int, digest: str) -> None:
    """Without some board of a block, they differ."""
    size = parse_size(name)
    whole = embedding(size, range(size.height), range(size.width))
    pieces = in_pieces(board_of(size, seed), blank_last(size))
    path = find_path(whole.embed(pieces), fitted_aim(whole), 40_000, 200, math.inf)
    assert (len(path), hashlib.sha256(bytes(path)).hexdigest()[:16]) == (length, digest)


@pytest.mark.parametrize(("name", "smaller"), [("7x7", "6x6"), ("9x2", "8x2")])
def test_values_of_larger_boards_are_means(name: str, smaller: str) -> None:
    size, rng = parse_size(name), np.random.default_rng(0)
    values, of_smaller = pair_values(size), pair_values(parse_size(smaller))
    cells = np.arange(size.n_cells).reshape(size.height, size.width)
    boards = [np.delete(cells, column, axis=1) for column in range(size.width)]
    if size.height == size.width:
        boards = [np.delete(board, row, axis=0) for board in boards for row in range(size.height)]
    for p, c, q, d in [*rng.integers(size.n_cells, size=(500, 4)).tolist(), [3, 5, 3, 5]]:
        if (p == q) == (c == d):
            numbers = [board.flatten().tolist() for board in boards if np.isin([p, c, q, d], board).all()]
            means = [of_smaller[tuple(number.index(cell) for cell in (p, c, q, d))] for number in numbers]
            assert values[p, c, q, d] == np.rint(np.mean(means))


def test_lower_boards_are_estimated_as_squares_with_the_rows_below_solved() -> None:
    low = np.array([np.random.default_rng(seed).permutation(12) for seed in range(20)])
    whole = np.hstack([low, np.tile(np.arange(12, 36), (20, 1))])
    differences = estimates(whole, parse_size("6x6"), blank=5) - estimates(low, parse_size("6x2"), blank=5)
    # The difference is the estimate of the rows below.
    assert len(set(differences.tolist())) == 1


def test_values_that_do_not_fit_are_refused() -> None:
    size = BoardSize(6, 6)
    values = pair_values(size).copy()
    values[1, 4, 3, 2], values[1, 5, 3, 2] = -8, 120
    with pytest.raises(ValueError, match="at most 127"):
        changes_of(values, size)


# pdb approximate


def test_command_reports_the_gap_to_the_lower_bound() -> None:
    hardest = format_board(hard_board())
    text = pdb("approximate", "1 2 3/4 5 6/7 0 8", hardest, "--time-limit", "0.1").stdout.splitlines()
    assert text[0].startswith("1: 1 move, optimal; ")
    assert "the optimal length is at least 60 (gap " in text[2]
    size = BoardSize(4, 3)
    file = str(table_file("1,2,3,5,6/4,7,8,9,10,11", "4x3"))
    board = format_board(board_of(size, 1), size)
    (record,) = records("approximate", board, "--db", file, "--time-limit", "0.1")
    assert record["heuristic"] == "db"
    assert record["gap"] == record["length"] - record["lower_bound"]
    assert record["suboptimality_bound"] == record["length"] / record["lower_bound"]
