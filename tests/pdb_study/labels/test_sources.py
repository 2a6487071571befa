"""Random boards and random walks: a board depends only on its seed and its index."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from pdb_core.board_size import BoardSize
from pdb_core.errors import BoardError
from pdb_core.puzzle import blank_last, random_boards, snail
from pdb_study.labels import BoardSource, GivenBoards, RandomBoards, RandomWalks
from pdb_study.labels.sources import BLOCK
from tests.naive.boards_and_tables import naive_distances

S2, S3 = BoardSize(2, 2), BoardSize(3, 3)
N = 2 * BLOCK + 100


def rows(source: BoardSource, first: int = 0) -> list[list[int]]:
    return np.concatenate([*source.blocks(first), np.empty((0, source.size.n_cells), np.uint8)]).tolist()


@pytest.mark.parametrize("kind", [RandomBoards, partial(RandomWalks, lengths=(3, 0, 7))])
def test_board_depends_only_on_the_seed_and_its_index(kind: Callable[..., BoardSource]) -> None:
    whole = rows(kind(S3, snail(S3), N, seed=1))
    assert len(whole) == N
    for first in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, N - 1, N):
        assert rows(kind(S3, snail(S3), N, seed=1), first) == whole[first:]
    assert rows(kind(S3, snail(S3), N, seed=2)) != whole


@pytest.mark.tiny
def test_walk_never_steps_back_at_once() -> None:
    """On 2x2 such a walk goes round a cycle of 12 boards."""
    lengths = tuple(range(25))
    distances = naive_distances(S2, blank_last(S2))
    boards = rows(RandomWalks(S2, "blank-last", 100, 1, lengths))
    found = [distances[tuple(board)] for board in boards]
    assert found == [min(index % 25 % 12, 12 - index % 25 % 12) for index in range(100)]


@pytest.mark.tiny
def test_other_given_boards_have_another_description() -> None:
    boards = np.array([blank_last(S3)], dtype=np.uint8)
    one, two = (GivenBoards(S3, blank_last(S3), array).describe() for array in (boards, boards[:, ::-1]))
    assert one != two


def test_row_that_is_no_board_is_named_before_anything_is_searched() -> None:
    boards = random_boards("3x3", "blank-last", 3000, 1).astype(np.int64)
    boards[2500, 4] = -7
    with pytest.raises(BoardError, match=r"row 2500: board .* -7 is out of range"):
        GivenBoards("3x3", "blank-last", boards)
