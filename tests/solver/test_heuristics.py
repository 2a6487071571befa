"""Heuristics: on every board of small sizes, on larger boards, and their tables."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from pdb_core.errors import InputError
from pdb_core.puzzle import BoardSize, Tiles, blank_first, blank_last, random_boards, snail
from solver.heuristics import HEURISTICS, heuristic_tables, parse_heuristic
from solver.heuristics.evaluate_kernels import evaluate, evaluate_many
from solver.heuristics.korf_taylor import line_costs
from solver.heuristics.mutual_cost import MAX_CELLS_OF_TRIPLES, group_excesses
from solver.heuristics.mutual_cost_kernels import SCRATCH_WORDS, WORD_BITS, best_packing
from solver.heuristics.walking_distance import walking_table
from tests.naive.boards_and_tables import (
    naive_distances,
    naive_linear_conflict,
    naive_manhattan,
    naive_misplaced,
)
from tests.naive.heuristics import (
    naive_best_packing,
    naive_corner_tiles,
    naive_group_distances,
    naive_korf_taylor,
    naive_last_move,
    naive_pairs,
    naive_triples,
    naive_walking_distance,
    naive_walking_distances,
)
from tests.solving import S3, S4

Cells = npt.NDArray[np.uint8]
NAIVE: dict[str, Callable[[Tiles, Tiles, BoardSize], int]] = {
    "misplaced": naive_misplaced,
    "manhattan": naive_manhattan,
    "corner-tiles": naive_corner_tiles,
    "last-move": naive_last_move,
    "linear-conflict": naive_linear_conflict,
    "korf-taylor": naive_korf_taylor,
    "walking-distance": naive_walking_distance,
    "pairs": naive_pairs,
    "triples": naive_triples,
}
CONSISTENT = {"misplaced", "manhattan", "last-move", "linear-conflict", "walking-distance"}
CENTRE = (1, 2, 3, 8, 0, 4, 7, 6, 5)
SMALL = {"2x2": (BoardSize(2, 2), blank_last(BoardSize(2, 2))), "3x2": (BoardSize(3, 2), (1, 0, 2, 3, 4, 5))}
CASES = {
    "3x3": (S3, blank_last(S3)),
    "3x3 centre": (S3, CENTRE),
    "4x2": (BoardSize(4, 2), blank_first(BoardSize(4, 2))),
    "2x5": (BoardSize(2, 5), blank_last(BoardSize(2, 5))),
}


@cache
def all_boards(size: BoardSize, goal: Tiles) -> tuple[Cells, npt.NDArray[np.int64]]:
    """Return every solvable board and its distance."""
    distances = naive_distances(size, goal)
    return np.array(list(distances), dtype=np.uint8), np.array(list(distances.values()))


tables_of = cache(heuristic_tables)


def values_of(name: str, size: BoardSize, goal: Tiles, boards: Cells) -> npt.NDArray[np.int64]:
    values = np.zeros((len(boards), 1), dtype=np.uint16)
    evaluate_many(tables_of((name,), size, goal), boards, values)
    return values[:, 0].astype(np.int64)


# Values


@pytest.mark.tiny
@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristic_is_that_of_its_naive_twin(name: str, case: str) -> None:
    size, goal = SMALL[case]
    assert_equals_naive_twin(name, size, goal, all_boards(size, goal)[0])


def assert_equals_naive_twin(name: str, size: BoardSize, goal: Tiles, boards: Cells) -> None:
    expected = [NAIVE[name](tuple(board), goal, size) for board in boards.tolist()]
    assert values_of(name, size, goal, boards).tolist() == expected


@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristic_of_larger_boards_is_that_of_its_naive_twin(name: str) -> None:
    inside: Tiles = (1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    if name in ("pairs", "triples"):  # the twin tries all groupings
        cases = [(BoardSize(4, 2), blank_last(BoardSize(4, 2)), 10)]
    else:
        cases = [(S4, goal, 100) for goal in (blank_last(S4), blank_first(S4), snail(S4), inside)]
        wide = [BoardSize(3, 5), BoardSize(6, 2), BoardSize(5, 5), BoardSize(6, 6)] * (name != "walking-distance")
        cases += [(size, snail(size), 30) for size in wide]
    for size, goal, n in cases:
        assert_equals_naive_twin(name, size, goal, random_boards(size, goal, n, seed=3).astype(np.uint8))


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, marks=pytest.mark.tiny) for case in SMALL),
        *("3x3", "3x3 centre", "4x2"),
        pytest.param("2x5", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristic_is_admissible_and_as_consistent_as_documented(name: str, case: str) -> None:
    size, goal = (SMALL | CASES)[case]
    boards, distances = all_boards(size, goal)
    values, blanks = values_of(name, size, goal, boards), boards.argmin(axis=1)
    assert np.all(values <= distances)
    assert values[0] == 0
    assert np.all(values[1:] > 0)
    # All but the number of misplaced tiles change parity with each move.
    assert name == "misplaced" or np.all((distances - values) % 2 == 0)
    largest_change = 0
    for blank, neighbours in enumerate(size.neighbours):
        rows = blanks == blank
        for cell in neighbours:
            moved = boards[rows]
            moved[:, blank], moved[:, cell] = moved[:, cell], 0
            largest_change = max(largest_change, int(abs(values_of(name, size, goal, moved) - values[rows]).max()))
    # On 2x2, one cycle of twelve boards, no move changes any of them by more.
    assert (largest_change == 1) == (name in CONSISTENT or case == "2x2")


@pytest.mark.tiny
def test_several_heuristics_give_the_largest() -> None:
    size, goal = SMALL["3x2"]
    boards, _distances = all_boards(size, goal)
    for names in itertools.combinations(HEURISTICS, 2):
        tables = heuristic_tables(parse_heuristic(f"max({names[0]}, {names[1]})"), size, goal)
        for board in boards[::7]:
            one, other = (values_of(name, size, goal, board[None])[0] for name in names)
            assert evaluate(tables, board) == max(one, other)


@pytest.mark.tiny
@pytest.mark.parametrize("text", ["", "euclid", "max(manhattan", "max()", "max(manhattan,)", "x" * 1000])
def test_unknown_heuristic_is_rejected(text: str) -> None:
    with pytest.raises(InputError, match="is not known; give one of misplaced, manhattan"):
        parse_heuristic(text)


@pytest.mark.tiny
@pytest.mark.parametrize(("name", "size"), [("walking-distance", BoardSize(4, 6)), ("triples", BoardSize(6, 5))])
def test_sizes_with_too_large_tables_are_rejected(name: str, size: BoardSize) -> None:
    with pytest.raises(InputError, match=f"not for {size}"):
        heuristic_tables((name,), size, blank_last(size))


# Linear conflicts


@pytest.mark.tiny
@pytest.mark.parametrize("length", [2, 3, 4])
def test_line_costs_are_those_of_the_smallest_set_that_leaves_the_line(length: int) -> None:
    costs = line_costs(length)
    for places in itertools.product(range(length + 1), repeat=length):
        tiles = [place for place in places if place > 0]
        if len(set(tiles)) < len(tiles):
            continue
        n_staying = max(
            n for n in range(len(tiles) + 1) for rest in itertools.combinations(tiles, n) if list(rest) == sorted(rest)
        )
        assert costs[sum(place * (length + 1) ** i for i, place in enumerate(places))] == 2 * (len(tiles) - n_staying)


# Walking distance


def histogram(case: tuple[int, int, int]) -> dict[int, int]:
    return dict(Counter(walking_table(*case).distances.tolist()))


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, marks=pytest.mark.tiny) for case in [(2, 3, 1), (3, 2, 1), (3, 3, 2)]),
        *[(4, 4, 3), (4, 4, 1), (5, 2, 0), (4, 3, 2)],
    ],
)
def test_walking_distances_are_those_of_the_naive_search(case: tuple[int, int, int]) -> None:
    assert histogram(case) == Counter(naive_walking_distances(*case).values())


@pytest.mark.slow
@pytest.mark.parametrize(("case", "n_states"), [((5, 5, 4), 65_650_495), ((6, 3, 5), 50_388_240)])
def test_largest_walking_tables_reach_every_state(case: tuple[int, int, int], n_states: int) -> None:
    distances = walking_table(*case).distances
    assert len(distances) == n_states
    assert distances.max() < 255


def walking_file(folder: Path) -> Path:
    walking_table.cache_clear()
    walking_table(3, 3, 2)
    (kept,) = (folder / "walking").iterdir()
    return kept


@pytest.mark.tiny
def test_cached_distances_are_loaded_and_damaged_ones_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    kept = walking_file(tmp_path)
    expected, sound = histogram((3, 3, 2)), kept.read_bytes()
    # A sound file of another table, whose digest has another name.
    walking_table(2, 2, 1)
    (other,) = (file for file in kept.parent.iterdir() if file != kept)
    renamed = other.read_bytes()
    other.unlink()
    for damaged in (b"", sound[:-1], sound[:40] + bytes([sound[40] ^ 1]) + sound[41:], renamed):
        kept.write_bytes(damaged)
        assert walking_file(tmp_path) == kept
        assert histogram((3, 3, 2)) == expected
        assert kept.read_bytes() == sound
    monkeypatch.setenv("TILE_PDB_CACHE", str(kept / "no folder"))
    walking_table.cache_clear()
    assert histogram((3, 3, 2)) == expected


# Pairs and triples


def check_excesses(size: BoardSize, goal: Tiles, n_tiles: int, every: int = 1) -> None:
    groups = list(itertools.combinations(range(1, size.n_cells), n_tiles))
    found = group_excesses(size, goal, n_tiles).reshape(len(groups), -1)
    for group, row in list(zip(groups, found.tolist(), strict=True))[::every]:
        expected = [0] * len(row)
        for cells, distance in naive_group_distances(size, goal, group).items():
            excess = distance - alone(size, goal, group, cells)
            for pair in itertools.combinations(range(n_tiles), 2) if n_tiles == 3 else []:
                two, there = tuple(group[i] for i in pair), tuple(cells[i] for i in pair)
                if naive_group_distances(size, goal, two)[there] - alone(size, goal, two, there) >= excess:
                    excess = 0
            expected[sum(cell * size.n_cells**i for i, cell in enumerate(reversed(cells)))] = excess
        assert [2 * value for value in row] == expected


def alone(size: BoardSize, goal: Tiles, tiles: tuple[int, ...], cells: tuple[int, ...]) -> int:
    """Return the sum of the Manhattan distances of tiles on these cells."""
    board = [0] * size.n_cells
    for tile, cell in zip(tiles, cells, strict=True):
        board[cell] = tile
    return naive_manhattan(tuple(board), goal, size)


@pytest.mark.parametrize("n_tiles", [2, 3])
@pytest.mark.parametrize("small", [pytest.param(True, marks=pytest.mark.tiny), False])
def test_excesses_are_those_of_the_naive_search(n_tiles: int, small: bool) -> None:
    if small:
        for size, goal in SMALL.values():
            check_excesses(size, goal, n_tiles)
    else:
        check_excesses(S3, CENTRE, n_tiles, every=6)
        check_excesses(S4, snail(S4), n_tiles, every=(20 if n_tiles == 2 else 400))


@pytest.mark.tiny
@given(
    st.lists(
        st.tuples(st.frozensets(st.integers(0, 11), min_size=1, max_size=3), st.integers(1, 5)), min_size=0, max_size=12
    )
)
def test_best_packing_is_that_of_trying_all(groups: list[tuple[frozenset[int], int]]) -> None:
    masks = np.array([sum(1 << tile for tile in tiles) for tiles, _weight in groups], dtype=np.int64)
    weights = np.array([weight for _tiles, weight in groups], dtype=np.int64)
    found = best_packing(masks, weights, len(groups), np.empty(4 * 12, dtype=np.int64))
    assert found == naive_best_packing(groups)


@pytest.mark.tiny
def test_scratch_is_large_enough_for_every_size() -> None:
    for n_cells in {width * height for width in range(2, 7) for height in range(2, 7)}:
        n_groups, n_words = math.comb(n_cells - 1, 2), 0
        if n_cells <= MAX_CELLS_OF_TRIPLES:
            n_groups += math.comb(n_cells - 1, 3)
            n_words = -(-(n_cells - 3) * n_cells // WORD_BITS)
        assert 5 * n_cells + n_words + 2 * n_groups <= SCRATCH_WORDS
