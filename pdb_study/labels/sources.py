"""Boards to label: random boards, random walks from the goal, and given boards.

Random boards are made in blocks. A block depends only on the seed and on its number, so a run can continue in the
middle. `BoardSource` is the interface of all three.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import as_all, as_count, refusal
from pdb_core.board_size import SizeLike, as_size, check_table_size
from pdb_core.puzzle import BoardLike, Boards, as_goal, random_boards
from pdb_core.types import BLANK, N_MOVES
from pdb_query.board_rows import checked_rows
from solver.board_arrays import blank_moved, neighbours_by_move

# Boards per block. Another number would give other boards for the same seed.
BLOCK = 1024
# Directions of the blank, in the order of `neighbours_by_move`.
DIRECTIONS = ("up", "left", "right", "down")
MAX_WALK = 1_000_000
_WALKS = f"one or more lengths of walks from 0 to {MAX_WALK:,}"


class BoardSource(ABC):
    """Boards of one size for one goal, in a fixed order: the interface of the sources.

    Its attributes are `size`, `goal` and `n_boards`.
    """

    def __init__(self, size: SizeLike, goal: BoardLike, n_boards: int) -> None:
        self.size, self.n_boards = as_size(size), as_count(n_boards, "n_boards")
        check_table_size(self.size)
        self.goal = as_goal(goal, self.size)

    @abstractmethod
    def blocks(self, first: int = 0) -> Iterator[Boards]:
        """Yield the boards from the one with index `first` on, in arrays uint8[k, n_cells]."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the values that determine the boards, as JSON values."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.describe()})"


class RandomBoards(BoardSource):
    """Boards drawn uniformly from the solvable ones. Board i depends only on `seed` and i.

    Raises `InputError` for boards larger than 6x6, `GoalError` for an invalid goal.

    >>> source = RandomBoards("2x2", n_boards=3)
    >>> [rows.tolist() for rows in source.blocks(first=2)] == [next(source.blocks())[2:].tolist()]
    True
    """

    def __init__(self, size: SizeLike, goal: BoardLike = "blank-last", n_boards: int = 1000, seed: int = 0) -> None:
        super().__init__(size, goal, n_boards)
        self.seed = as_count(seed, "seed")

    def blocks(self, first: int = 0) -> Iterator[Boards]:
        first = as_count(first, "first")
        for number in range(first // BLOCK, -(-self.n_boards // BLOCK)):
            start = number * BLOCK
            seed = np.random.SeedSequence(self.seed, spawn_key=(number,))
            yield self._block(number, seed)[max(0, first - start) : self.n_boards - start]

    def _block(self, _number: int, seed: np.random.SeedSequence) -> Boards:
        """Return block `number`: uint8[BLOCK, n_cells]."""
        return random_boards(self.size, self.goal, BLOCK, seed).astype(np.uint8)

    def describe(self) -> dict[str, Any]:
        return {"kind": "random", "n_boards": self.n_boards, "seed": self.seed}


class RandomWalks(RandomBoards):
    """Last boards of random walks from the goal. No move of a walk undoes the move before.

    The walk of board i has `lengths[i % len(lengths)]` moves. The distance of board i is at most that, and of the same
    parity. Board i depends only on `seed`, `lengths` and i.

    Raises `InputError` if there is no length or one is not from 0 to 1,000,000, and for boards larger than 6x6;
    `GoalError` for an invalid goal.
    """

    def __init__(
        self,
        size: SizeLike,
        goal: BoardLike = "blank-last",
        n_boards: int = 1000,
        seed: int = 0,
        lengths: int | Sequence[int] = range(1, 101),
    ) -> None:
        super().__init__(size, goal, n_boards, seed)
        self.lengths = tuple(
            as_count(length, "length of a walk", 0, MAX_WALK) for length in as_all(lengths, Integral, "lengths", _WALKS)
        )
        if not self.lengths:
            raise refusal(lengths, "lengths", _WALKS)

    def _block(self, number: int, seed: np.random.SeedSequence) -> Boards:
        generator = np.random.default_rng(seed)
        indices = np.arange(number * BLOCK, (number + 1) * BLOCK)
        lengths = np.array(self.lengths)[indices % len(self.lengths)]
        cells = neighbours_by_move(self.size)
        # By the cell of the blank and its last direction (4: none). 3 - direction is the opposite one.
        is_allowed = (cells >= 0)[:, None] & (np.arange(N_MOVES) != 3 - np.arange(N_MOVES + 1)[:, None])
        moves, counts = np.argsort(~is_allowed, axis=2, kind="stable"), is_allowed.sum(axis=2)
        boards = np.tile(np.array(self.goal, dtype=np.uint8), (BLOCK, 1))
        blank = np.full(BLOCK, self.goal.index(BLANK))
        last = np.full(BLOCK, N_MOVES)  # no move before the first
        for step in range(int(lengths.max())):
            # Drawn for all rows: a row does not depend on the lengths of others.
            choice = (generator.random(BLOCK) * counts[blank, last]).astype(np.int64)
            rows = np.flatnonzero(step < lengths)
            direction = moves[blank[rows], last[rows], choice[rows]]
            cell = cells[blank[rows], direction]
            boards[rows] = blank_moved(boards[rows], cell)
            blank[rows], last[rows] = cell, direction
        return boards

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"kind": "walks", "lengths": list(self.lengths)}


class GivenBoards(BoardSource):
    """Boards of a file or an array.

    `boards` are integers of shape (m, n_cells) or (m, height, width), or a sequence of strings.

    Raises `BoardError` for a row that is not a board, `GoalError` and `InputError`.
    """

    def __init__(self, size: SizeLike, goal: BoardLike, boards: npt.ArrayLike) -> None:
        super().__init__(size, goal, 0)
        self.boards, _ = checked_rows(boards, self.size, self.goal)
        self.n_boards = len(self.boards)

    def blocks(self, first: int = 0) -> Iterator[Boards]:
        yield self.boards[as_count(first, "first") :]

    def describe(self) -> dict[str, Any]:
        digest = hashlib.sha256(np.ascontiguousarray(self.boards).data).hexdigest()
        return {"kind": "boards", "n_boards": self.n_boards, "sha256": digest}


class Shard(BoardSource):
    """Every `n_shards`-th board of another source, beginning with the one with this number, from 1 on."""

    def __init__(self, whole: BoardSource, number: int, n_shards: int) -> None:
        super().__init__(whole.size, whole.goal, len(range(number - 1, whole.n_boards, n_shards)))
        self._whole, self._number, self._n_shards = whole, number, n_shards

    def blocks(self, first: int = 0) -> Iterator[Boards]:
        skipped = 0
        for block in self._whole.blocks(self._number - 1 + first * self._n_shards):
            yield block[skipped :: self._n_shards]
            skipped = (skipped - len(block)) % self._n_shards

    def describe(self) -> dict[str, Any]:
        return self._whole.describe() | {"shard": f"{self._number}/{self._n_shards}"}


def in_chunks(blocks: Iterator[Boards], n: int) -> Iterator[Boards]:
    """Yield the rows of arrays again, in arrays of `n` rows; the last may have fewer."""
    waiting: Boards | None = None
    for block in blocks:
        waiting = block if waiting is None else np.concatenate([waiting, block])
        while len(waiting) > n:
            yield waiting[:n]
            waiting = waiting[n:]
    if waiting is not None and len(waiting):
        yield waiting
