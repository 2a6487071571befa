"""Random boards and random walks: a board depends only on its seed and its index."""

import numpy as np
import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import BoardSize, Tiles, blank_last, is_solvable, snail
from pdb_study.labels import BoardSource, GivenBoards, RandomBoards, RandomWalks
from pdb_study.labels.sources import BLOCK, in_chunks
from tests.naive.boards_and_tables import naive_distances

S2, S3 = BoardSize(2, 2), BoardSize(3, 3)
N = 2 * BLOCK + 100


def rows(source: BoardSource, first: int = 0) -> list[list[int]]:
    return np.concatenate([*source.blocks(first), np.empty((0, source.size.n_cells), np.uint8)]).tolist()


def sources(n: int, size: BoardSize, goal: Tiles, seed: int = 1) -> list[BoardSource]:
    return [RandomBoards(size, goal, n, seed), RandomWalks(size, goal, n, seed, (3, 0, 7))]


def test_board_depends_only_on_the_seed_and_its_index() -> None:
    for source, other in zip(sources(N, S3, snail(S3)), sources(N, S3, snail(S3), seed=2), strict=True):
        whole = rows(source)
        assert len(whole) == N
        for first in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, N - 1, N):
            assert rows(source, first) == whole[first:]
        assert rows(other) != whole
    for source, shorter in zip(sources(N, S3, snail(S3)), sources(BLOCK + 5, S3, snail(S3)), strict=True):
        assert rows(shorter) == rows(source)[: BLOCK + 5]


@pytest.mark.tiny
def test_random_boards_are_solvable_and_different() -> None:
    goal = blank_last(S3)
    boards = rows(RandomBoards(S3, goal, 200, seed=1))
    assert all(is_solvable(tuple(board), goal, S3) for board in boards)
    assert len(set(map(tuple, boards))) > 190


@pytest.mark.tiny
def test_walk_never_steps_back_at_once() -> None:
    """On 2x2 such a walk goes round a cycle of 12 boards."""
    lengths = tuple(range(25))
    distances = naive_distances(S2, blank_last(S2))
    boards = rows(RandomWalks(S2, blank_last(S2), 100, 1, lengths))
    found = [distances[tuple(board)] for board in boards]
    assert found == [min(index % 25 % 12, 12 - index % 25 % 12) for index in range(100)]


@pytest.mark.tiny
def test_length_of_a_walk_bounds_the_distance() -> None:
    goal = snail(BoardSize(3, 2))
    distances = naive_distances(BoardSize(3, 2), goal)
    lengths = (0, 1, 5, 14, 40)
    boards = rows(RandomWalks(BoardSize(3, 2), goal, 200, 5, lengths))
    for index, board in enumerate(boards):
        length = lengths[index % len(lengths)]
        assert distances[tuple(board)] <= length
        assert (distances[tuple(board)] - length) % 2 == 0
    assert len({tuple(board) for board in boards}) > 60


@pytest.mark.tiny
def test_walk_does_not_depend_on_the_lengths_of_others() -> None:
    goal = blank_last(S3)
    assert rows(RandomWalks(S3, goal, 99, 1, (4, 9)))[::2] == rows(RandomWalks(S3, goal, 99, 1, (4, 2)))[::2]


@pytest.mark.tiny
def test_chunks_are_the_same_rows() -> None:
    boards = np.random.default_rng(1).permuted(np.tile(np.arange(9, dtype=np.uint8), (100, 1)), axis=1)
    for cuts in ([], [1, 2, 50], [33, 66, 99]):
        for n in (1, 7, 50, 100, 101):
            chunks = list(in_chunks(iter(np.split(boards, cuts)), n))
            assert [len(chunk) for chunk in chunks[:-1]] == [n] * (len(chunks) - 1)
            assert np.array_equal(np.concatenate(chunks), boards)
    assert list(in_chunks(iter([]), 5)) == []


@pytest.mark.tiny
def test_descriptions_differ_if_boards_may() -> None:
    boards = np.array([blank_last(S3)], dtype=np.uint8)
    given = [GivenBoards(S3, blank_last(S3), array) for array in (boards, boards[:, ::-1])]
    described = [str(source.describe()) for source in [*sources(5, S3, snail(S3)), *sources(6, S3, snail(S3)), *given]]
    assert len(set(described)) == 6


@pytest.mark.tiny
def test_impossible_sources_are_rejected() -> None:
    for lengths in ((), (-1,), (1, 10**6 + 1)):
        with pytest.raises(InputError, match="lengths of walks"):
            RandomWalks(S3, blank_last(S3), 1, 1, lengths)
    large = BoardSize(7, 7)
    with pytest.raises(InputError, match="6x6"):
        RandomBoards(large, blank_last(large), 1, 1)
