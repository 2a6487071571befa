"""Boards to label: random boards, random walks from the goal, and given boards.

Random boards are made in blocks. A block depends only on the seed and on its number, so a run can continue in the
middle. `BoardSource` is the interface of all three.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from pdb_core.errors import InputError
from pdb_core.messages import listed
from pdb_core.puzzle import (
    BLANK,
    BoardLike,
    Boards,
    BoardSize,
    Tiles,
    as_goal,
    as_size,
    check_table_size,
    random_boards,
)
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES, neighbours_by_move

# Boards per block. Another number would give other boards for the same seed.
BLOCK = 1024
# Directions of the blank, in the order of `neighbours_by_move`.
DIRECTIONS = ("up", "left", "right", "down")
MAX_WALK = 1_000_000


class BoardSource(ABC):
    """Boards of one size for one goal, in a fixed order: the interface of the sources."""

    size: BoardSize
    goal: Tiles
    n_boards: int

    @abstractmethod
    def blocks(self, first: int = 0) -> Iterator[Boards]:
        """Yield the boards from the one with index `first` on, in arrays uint8[k, n_cells]."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the values that determine the boards, as JSON values."""


class _Blocks(BoardSource):
    """Boards that are made in blocks."""

    @abstractmethod
    def _block(self, number: int) -> Boards:
        """Return block `number`: uint8[BLOCK, n_cells]."""

    def blocks(self, first: int = 0) -> Iterator[Boards]:
        for number in range(first // BLOCK, -(-self.n_boards // BLOCK)):
            start = number * BLOCK
            yield self._block(number)[max(0, first - start) : self.n_boards - start]


def _set_fields(source: BoardSource, size: BoardSize | str, goal: BoardLike, **others: Any) -> None:
    """Set the fields of a frozen source. `size` and `goal` may be texts."""
    board_size = as_size(size)
    check_table_size(board_size)
    for name, value in {"size": board_size, "goal": as_goal(goal, board_size), **others}.items():
        object.__setattr__(source, name, value)


@dataclass(frozen=True, init=False)
class RandomBoards(_Blocks):
    """Boards drawn uniformly from the solvable ones. Board i depends only on `seed` and i.

    Raises `InputError` for boards larger than 6x6, `GoalError` for an invalid goal.

    >>> source = RandomBoards(BoardSize(2, 2), (1, 2, 3, 0), 3, seed=1)
    >>> [rows.tolist() for rows in source.blocks(first=2)] == [next(source.blocks())[2:].tolist()]
    True
    """

    size: BoardSize
    goal: Tiles
    n_boards: int
    seed: int

    def __init__(self, size: BoardSize | str, goal: BoardLike, n_boards: int, seed: int) -> None:
        _set_fields(self, size, goal, n_boards=n_boards, seed=seed)

    def _block(self, number: int) -> Boards:
        return random_boards(self.size, self.goal, BLOCK, _seed_of(self.seed, number)).astype(np.uint8)

    def describe(self) -> dict[str, Any]:
        return {"kind": "random", "n_boards": self.n_boards, "seed": self.seed}


@dataclass(frozen=True, init=False)
class RandomWalks(_Blocks):
    """Last boards of random walks from the goal. No move of a walk undoes the move before.

    The walk of board i has `lengths[i % len(lengths)]` moves. The distance of board i is at most that, and of the same
    parity. Board i depends only on `seed`, `lengths` and i.

    Raises `InputError` if there is no length or one is not from 0 to 1,000,000, and for boards larger than 6x6;
    `GoalError` for an invalid goal.
    """

    size: BoardSize
    goal: Tiles
    n_boards: int
    seed: int
    lengths: tuple[int, ...]

    def __init__(
        self, size: BoardSize | str, goal: BoardLike, n_boards: int, seed: int, lengths: Sequence[int]
    ) -> None:
        _set_fields(self, size, goal, n_boards=n_boards, seed=seed, lengths=tuple(lengths))
        if not self.lengths or not all(0 <= length <= MAX_WALK for length in self.lengths):
            raise InputError(
                f"lengths of walks [{listed(self.lengths)}] are not valid; give one or more from 0 to {MAX_WALK:,}"
            )

    def _block(self, number: int) -> Boards:
        generator = np.random.default_rng(_seed_of(self.seed, number))
        indices = np.arange(number * BLOCK, (number + 1) * BLOCK)
        lengths = np.array(self.lengths)[indices % len(self.lengths)]
        moves, counts = _moves_without_return(self.size)
        boards = np.tile(np.array(self.goal, dtype=np.uint8), (BLOCK, 1))
        blank = np.full(BLOCK, self.goal.index(BLANK))
        last = np.full(BLOCK, N_MOVES)  # no move before the first
        cells = neighbours_by_move(self.size)
        for step in range(int(lengths.max())):
            # Drawn for all rows: a row does not depend on the lengths of others.
            choice = (generator.random(BLOCK) * counts[blank, last]).astype(np.int64)
            rows = np.flatnonzero(step < lengths)
            direction = moves[blank[rows], last[rows], choice[rows]]
            cell = cells[blank[rows], direction]
            boards[rows, blank[rows]] = boards[rows, cell]
            boards[rows, cell] = BLANK
            blank[rows], last[rows] = cell, direction
        return boards

    def describe(self) -> dict[str, Any]:
        return {"kind": "walks", "n_boards": self.n_boards, "seed": self.seed, "lengths": lengths_text(self.lengths)}


@dataclass(frozen=True)
class GivenBoards(BoardSource):
    """Boards of a file or an array, uint8[m, n_cells]. `name` is their origin in the description of the dataset."""

    size: BoardSize
    goal: Tiles
    boards: Boards = field(repr=False)
    name: str = "array"

    @property
    def n_boards(self) -> int:  # type: ignore[override]
        return len(self.boards)

    def blocks(self, first: int = 0) -> Iterator[Boards]:
        yield self.boards[first:]

    def describe(self) -> dict[str, Any]:
        digest = hashlib.sha256(np.ascontiguousarray(self.boards).data).hexdigest()
        return {"kind": "boards", "n_boards": self.n_boards, "name": self.name, "sha256": digest}


@dataclass(frozen=True)
class Shard(BoardSource):
    """Every `n_shards`-th board of another source, beginning with the one with this number, from 1 on."""

    whole: BoardSource
    number: int
    n_shards: int

    @property
    def size(self) -> BoardSize:  # type: ignore[override]
        return self.whole.size

    @property
    def goal(self) -> Tiles:  # type: ignore[override]
        return self.whole.goal

    @property
    def n_boards(self) -> int:  # type: ignore[override]
        return len(range(self.number - 1, self.whole.n_boards, self.n_shards))

    def blocks(self, first: int = 0) -> Iterator[Boards]:
        skipped = 0
        for block in self.whole.blocks(self.number - 1 + first * self.n_shards):
            yield block[skipped :: self.n_shards]
            skipped = (skipped - len(block)) % self.n_shards

    def describe(self) -> dict[str, Any]:
        return self.whole.describe() | {"shard": f"{self.number}/{self.n_shards}"}


def lengths_text(lengths: Sequence[int]) -> str:
    """Return lengths of walks as numbers and ranges.

    >>> lengths_text((10, 1, 2, 3))
    '10,1-3'
    """
    parts = []
    for _, group in groupby(enumerate(lengths), key=lambda item: item[1] - item[0]):
        numbers = [length for _, length in group]
        parts.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}")
    return ",".join(parts)


def in_chunks(blocks: Iterator[Boards], n: int) -> Iterator[Boards]:
    """Yield the rows of arrays again, in arrays of `n` rows; the last may have fewer."""
    waiting: list[Boards] = []
    n_waiting = 0
    for block in blocks:
        start = 0
        while start < len(block):
            part = block[start : start + n - n_waiting]
            start += len(part)
            waiting.append(part)
            n_waiting += len(part)
            if n_waiting == n:
                yield np.concatenate(waiting)
                waiting, n_waiting = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _moves_without_return(size: BoardSize) -> tuple[Int64s, Int64s]:
    """Return the directions that the blank can move in, by its cell and its last direction (4: none), and their number.

    int64[n_cells, 5, 4] and int64[n_cells, 5].
    """
    cells = neighbours_by_move(size)
    moves = np.zeros((size.n_cells, N_MOVES + 1, N_MOVES), dtype=np.int64)
    counts = np.zeros((size.n_cells, N_MOVES + 1), dtype=np.int64)
    for cell in range(size.n_cells):
        for last in range(N_MOVES + 1):
            # 3 - direction is the opposite one.
            allowed = [move for move in range(N_MOVES) if cells[cell, move] >= 0 and move != 3 - last]
            moves[cell, last, : len(allowed)] = allowed
            counts[cell, last] = len(allowed)
    return moves, counts


def _seed_of(seed: int, number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(number,))
