"""Complete breadth-first search with one bit per board, for up to 12 cells.

A board is the cell of the blank and the *order* of the tiles, read row by row. Three facts make the search fast.

1. A tile that moves sideways keeps the order. A tile that moves up or down passes width - 1 others, at the same
   positions in every order. So one pass moves all boards with the blank on one cell.
2. Renaming tiles commutes with moving them. Orders that differ only by swaps within the pairs of labels (0,1), (2,3),
   ... share one *word*, with one bit for each choice of swaps. A vertical move maps words to words, and swaps at most
   the pair of the moved tile. The cell of the blank determines the parity of the order, so the swap of the last pair
   follows from the others: with 11 tiles, 5 pairs, a word has 16 bits.
3. A move takes the blank to a cell of the other colour, so one row of bits per cell is enough. It has a level, and the
   level after next replaces it: the boards that arrive, without those of the row.

`pdb_build` searches patterns in the same way (docs/decisions/builder.md, state-spaces.md).
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from threading import local

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, BoardSize, Tiles, permutation_is_odd
from pdb_core.threads import thread_pool
from pdb_study.complete_search_kernels import advance_words, class_word, link_words

# Called from the main thread after each level: (depth, boards reached).
Progress = Callable[[int, int], None]

MAX_CELLS = 12
# A slab is the work of a thread between two tasks, some milliseconds. A chunk of a slab fits the L1 cache.
_SLAB_WORDS = 1 << 18
_CHUNK_WORDS = 1 << 12


def complete_search_bytes(size: BoardSize) -> int:
    """Return the memory of a complete search in bytes."""
    n_words = _word_count(size.n_cells - 1)
    return n_words * (2 * size.n_cells + 4 * (size.n_cells - size.width) * (1 if size.width == 2 else 2))


def search_completely(
    size: BoardSize, goal: Tiles, *, n_threads: int, max_antipodes: int, progress: Progress | None = None
) -> tuple[tuple[int, ...], tuple[Tiles, ...]]:
    """Return the number of boards at each distance, and the first `max_antipodes` boards at the largest one.

    For boards of at most `MAX_CELLS` cells. The result does not depend on `n_threads`.
    """
    with thread_pool(n_threads) as pool:
        try:
            rows = _Rows(size, goal, pool)
            counts = [1]
            while True:
                n_new = rows.advance(len(counts), pool)
                if n_new == 0:
                    return tuple(counts), rows.boards_at(len(counts) - 1, max_antipodes)
                counts.append(n_new)
                if progress is not None:
                    progress(len(counts) - 1, sum(counts))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _word_count(n_tiles: int) -> int:
    return math.factorial(n_tiles) >> (n_tiles // 2)


@dataclass(frozen=True, eq=False)
class _Words:
    """Lexicographic ranks of words by their classes. `link_words` describes the arrays."""

    n_tiles: int
    n_completions: npt.NDArray[np.int64]
    n_skipped: npt.NDArray[np.int64]

    @property
    def n_pairs(self) -> int:
        return self.n_tiles // 2

    @property
    def n_words(self) -> int:
        return _word_count(self.n_tiles)

    def classes(self, word: int) -> list[int]:
        classes = np.empty(self.n_tiles, dtype=np.int64)
        class_word(word, self.n_completions, self.n_skipped, classes)
        found: list[int] = classes.tolist()
        return found

    def word_of(self, classes: list[int]) -> int:
        left, word = len(self.n_completions) - 1, 0
        for pair in classes:
            word += int(self.n_skipped[left, pair])
            left -= 3**pair
        return word


def _number_words(n_tiles: int) -> _Words:
    # With an odd number of tiles, the last class has one tile.
    sizes = [2] * (n_tiles // 2) + [1] * (n_tiles % 2)
    full = sum(n * 3**pair for pair, n in enumerate(sizes))
    n_completions = np.zeros(full + 1, dtype=np.int64)
    n_skipped = np.zeros((full + 1, len(sizes)), dtype=np.int64)
    for numbers in product(*[range(n + 1) for n in sizes]):
        left = sum(n * 3**pair for pair, n in enumerate(numbers))
        n_completions[left] = math.factorial(sum(numbers)) // math.prod(map(math.factorial, numbers))
        # The share of words that begin with a class is its share of the remaining tiles.
        shares = [int(n_completions[left]) * n // max(1, sum(numbers)) for n in numbers]
        n_skipped[left] = [sum(shares[:pair]) for pair in range(len(sizes))]
    return _Words(n_tiles, n_completions, n_skipped)


class _Rows:
    """Bits of all boards, a row for each cell of the blank."""

    def __init__(self, size: BoardSize, goal: Tiles, pool: ThreadPoolExecutor) -> None:
        self._size = size
        self._goal = goal
        self._words = _number_words(size.n_cells - 1)
        n_wide = -(-self._words.n_words // 4)
        self._wide_rows = np.zeros((size.n_cells, n_wide), dtype=np.uint64)
        self._rows = self._wide_rows.view(np.uint16)
        self._n_active = [0] * size.n_cells
        self._scratch = local()
        self._slabs = [(at, min(at + _SLAB_WORDS, 4 * n_wide)) for at in range(0, 4 * n_wide, _SLAB_WORDS)]
        self._link(pool)
        self._set_goal()

    def advance(self, level: int, pool: ThreadPoolExecutor) -> int:
        """Advance from `level` - 1 to `level`, and return its number of boards."""
        near = {cell: self._active_neighbours(cell) for cell in self._cells_of(level)}
        tasks = {
            cell: [pool.submit(self._advance_slab, slab, cell, near[cell]) for slab in self._slabs]
            for cell in near
            if self._n_active[cell] or max(near[cell]) >= 0
        }
        n_new = {cell: sum(task.result() for task in of_cell) for cell, of_cell in tasks.items()}
        for cell, n in n_new.items():
            self._n_active[cell] = n
        return sum(n_new.values())

    def _cells_of(self, level: int) -> list[int]:
        """Return the cells that the blank can be on at a level."""
        size = self._size
        is_dark = size.is_dark(self._goal.index(BLANK)) != (level % 2 == 1)
        return [cell for cell in range(size.n_cells) if size.is_dark(cell) == is_dark]

    def boards_at(self, level: int, n_boards: int) -> tuple[Tiles, ...]:
        """Return the first boards of one of the last two levels."""
        boards: list[Tiles] = []
        for cell in self._cells_of(level):
            if self._n_active[cell] == 0:
                continue
            for word in np.flatnonzero(self._rows[cell])[: n_boards - len(boards)].tolist():
                bits = int(self._rows[cell, word])
                boards += [self._board(cell, word, bit) for bit in range(16) if bits >> bit & 1]
        return tuple(boards[:n_boards])

    def _link(self, pool: ThreadPoolExecutor) -> None:
        size, words = self._size, self._words
        self._from_above = np.empty((size.n_cells - size.width, words.n_words), dtype=np.uint32)
        # On boards of width 2, a tile passes one other: both directions exchange the same two.
        self._from_below = self._from_above if size.width == 2 else np.empty_like(self._from_above)

        def link(slab: tuple[int, int]) -> None:
            scratch = np.empty((3, words.n_tiles + 1), dtype=np.int64)
            link_words(
                slab[0], min(slab[1], words.n_words), size.width, words.n_pairs, words.n_completions, words.n_skipped,
                scratch[0, :-1], scratch[1], scratch[2], self._from_above, self._from_below,
            )  # fmt: skip

        list(pool.map(link, self._slabs))  # raises the error of a task

    def _set_goal(self) -> None:
        order = [tile - 1 for tile in self._goal if tile != BLANK]
        word = self._words.word_of([label // 2 for label in order])
        bit = sum(1 << pair for pair in range(self._words.n_pairs - 1) if _is_swapped(order, pair))
        cell = self._goal.index(BLANK)
        self._rows[cell, word] = 1 << bit
        self._n_active[cell] = 1

    def _active_neighbours(self, cell: int) -> tuple[int, int, int, int]:
        """Return the cells left, right, above and below that have boards, else -1."""
        width = self._size.width
        near = [
            other if other in self._size.neighbours[cell] and self._n_active[other] else -1
            for other in (cell - 1, cell + 1, cell - width, cell + width)
        ]
        return near[0], near[1], near[2], near[3]

    def _advance_slab(self, slab: tuple[int, int], cell: int, near: tuple[int, int, int, int]) -> int:
        if not hasattr(self._scratch, "received"):
            self._scratch.received = np.empty(_CHUNK_WORDS // 4, dtype=np.uint64)
        received = self._scratch.received
        return advance_words(
            *slab, cell, *near, self._rows, self._wide_rows, self._from_above, self._from_below,
            received.view(np.uint16), received,
        )  # fmt: skip

    def _board(self, cell: int, word: int, bit: int) -> Tiles:
        size, n_pairs = self._size, self._words.n_pairs
        first_met: set[int] = set()
        order = []
        for pair in self._words.classes(word):
            is_second = pair in first_met
            first_met.add(pair)
            order.append(2 * pair + (is_second != bool(pair < n_pairs - 1 and bit >> pair & 1)))
        # The parity decides the swap of the last pair: for each row, the blank has passed width - 1 tiles.
        goal_order = [tile - 1 for tile in self._goal if tile != BLANK]
        n_rows = abs(cell // size.width - self._goal.index(BLANK) // size.width)
        is_odd = permutation_is_odd(goal_order) != (n_rows * (size.width - 1) % 2 == 1)
        if permutation_is_odd(order) != is_odd:
            places = [order.index(2 * n_pairs - 2), order.index(2 * n_pairs - 1)]
            order[places[0]], order[places[1]] = order[places[1]], order[places[0]]
        tiles = [label + 1 for label in order]
        return (*tiles[:cell], BLANK, *tiles[cell:])


def _is_swapped(order: list[int], pair: int) -> bool:
    return order.index(2 * pair + 1) < order.index(2 * pair)
