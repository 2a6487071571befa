"""Walking distance: the distances of all counts, the steps between them, the files in the cache folder."""

from collections import Counter
from pathlib import Path

import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, BoardSize, blank_first, blank_last, random_boards, snail
from solver.cache_file import load_cached, save_cached
from solver.heuristics import heuristic_tables
from solver.heuristics.evaluate_kernels import evaluate
from solver.heuristics.walking_distance import WalkingTable, walking_table
from tests.naive.walking_distance import naive_walking_distance, naive_walking_distances

TINY = [(2, 2, 0), (2, 3, 1), (3, 2, 1), (3, 3, 2)]
CASES = [*(pytest.param(case, marks=pytest.mark.tiny) for case in TINY), (4, 4, 3), (4, 4, 1), (5, 2, 0), (4, 3, 2)]


def histogram(table: WalkingTable) -> dict[int, int]:
    return dict(Counter(table.distances.tolist()))


@pytest.mark.parametrize("case", CASES)
def test_distances_are_those_of_the_naive_search(case: tuple[int, int, int]) -> None:
    assert histogram(walking_table(*case)) == Counter(naive_walking_distances(*case).values())


def test_fifteen_puzzle_has_the_states_of_takahashi() -> None:
    table = walking_table(4, 4, 3)
    assert len(table.distances) == 24_964
    assert table.distances.max() == 35


@pytest.mark.parametrize("goal", [blank_last, blank_first, snail])
@pytest.mark.parametrize("size", [BoardSize(4, 4), BoardSize(4, 3), BoardSize(2, 5)], ids=str)
def test_walking_distance_of_random_boards_is_that_of_the_naive_twin(size: BoardSize, goal: object) -> None:
    goal_board: Board = goal(size)  # type: ignore[operator]
    tables = heuristic_tables(("walking-distance",), size, goal_board)
    for board in random_boards(size, goal_board, 100, 1):
        assert evaluate(tables, board) == naive_walking_distance(tuple(board.tolist()), goal_board, size)


@pytest.mark.tiny
@pytest.mark.parametrize("size", ["6x6", "6x5", "4x6"])
def test_sizes_with_too_many_states_are_rejected(size: str) -> None:
    width, height = map(int, size.split("x"))
    with pytest.raises(InputError, match=f"not for {size}"):
        heuristic_tables(("walking-distance",), BoardSize(width, height), blank_last(BoardSize(width, height)))


@pytest.mark.slow
@pytest.mark.parametrize(("case", "n_states"), [((5, 5, 4), 65_650_495), ((6, 3, 5), 50_388_240)])
def test_largest_tables_reach_every_state(case: tuple[int, int, int], n_states: int) -> None:
    table = walking_table(*case)
    assert len(table.distances) == n_states
    assert table.distances.max() < 255


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
    expected, sound = histogram(walking_table(3, 3, 2)), kept.read_bytes()
    for damaged in (b"", sound[:-1], sound[:40] + bytes([sound[40] ^ 1]) + sound[41:]):
        kept.write_bytes(damaged)
        assert walking_file(tmp_path) == kept
        assert histogram(walking_table(3, 3, 2)) == expected
        assert kept.read_bytes() == sound
    # A sound file of another table, and one of another length.
    save_cached(kept, bytes(5))
    assert load_cached(kept) == bytes(5)
    walking_file(tmp_path)
    assert kept.read_bytes() == sound
    other = kept.with_name("another.bin")
    save_cached(other, sound[32:])
    kept.write_bytes(other.read_bytes())
    other.unlink()
    assert load_cached(kept) is None
    walking_file(tmp_path)
    assert kept.read_bytes() == sound


@pytest.mark.tiny
def test_unwritable_cache_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path / "file" / "below"))
    (tmp_path / "file").write_bytes(b"")
    walking_table.cache_clear()
    assert walking_table(3, 3, 2).distances.max() > 0
