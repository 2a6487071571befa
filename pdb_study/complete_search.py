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

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, BoardSize, Tiles, permutation_is_odd
from pdb_core.threads import thread_pool
from pdb_study.complete_search_kernels import LINK_BITS, advance_words

# Called from the main thread after each level: (depth, boards reached).
Progress = Callable[[int, int], None]
Links = npt.NDArray[np.uint32]

MAX_CELLS = 12
# A slab is the work of a thread between two tasks, some milliseconds. A chunk of a slab fits the L1 cache.
_SLAB_WORDS = 1 << 18
_CHUNK_WORDS = 1 << 12


def complete_search_bytes(size: BoardSize) -> int:
    """Return the memory of a complete search in bytes."""
    n_words = _word_count(size.n_cells - 1)
    return n_words * (3 * size.n_cells + 8 * (size.n_cells - size.width))


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
            while n_new := rows.advance(len(counts), pool):
                counts.append(n_new)
                if progress is not None:
                    progress(len(counts) - 1, sum(counts))
            return tuple(counts), rows.boards_at(len(counts) - 1, max_antipodes)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _word_count(n_tiles: int) -> int:
    return math.factorial(n_tiles) >> (n_tiles // 2)


def _all_words(n_tiles: int) -> npt.NDArray[np.uint8]:
    """Return the pair of the label at each position of each word, uint8[n_words, n_tiles], in lexicographic order."""
    # With an odd number of tiles, the last pair has one label.
    left = np.array([[2] * (n_tiles // 2) + [1] * (n_tiles % 2)], dtype=np.uint8)
    words = np.zeros((1, 0), dtype=np.uint8)
    for _ in range(n_tiles):
        before, pair = np.nonzero(left)
        words, left = np.column_stack([words[before], pair.astype(np.uint8)]), left[before]
        left[np.arange(len(left)), pair] -= 1
    return words


def _link_words(words: npt.NDArray[np.uint8], first: int, width: int) -> tuple[Links, Links]:
    """Return the words from which a vertical move between cell `first` and the cell below leads to each word.

    The first array is for a blank that arrives on the lower cell, the second for one that arrives on `first`. The pair
    that the move swaps, plus one, is in the upper 8 bits.
    """
    n_tiles, last = words.shape[1], first + width - 1
    # The move up puts the label at position `last` before those from `first` on.
    keys = np.zeros(len(words), dtype=np.int64)
    for column in (*range(first), last, *range(first, last), *range(last + 1, n_tiles)):
        keys = 8 * keys + words[:, column]
    order = np.argsort(keys)
    moved = words[:, last]
    passes_partner = (words[:, first:last] == moved[:, None]).any(axis=1)
    pair = np.where(passes_partner & (moved < n_tiles // 2 - 1), moved + 1, 0)
    swapped = pair.astype(np.uint32) << np.uint32(LINK_BITS)
    from_below = np.empty(len(words), dtype=np.uint32)
    from_below[order] = np.arange(len(words), dtype=np.uint32)
    return order.astype(np.uint32) | swapped[order], from_below | swapped


class _Rows:
    """Bits of all boards, a row for each cell of the blank."""

    def __init__(self, size: BoardSize, goal: Tiles, pool: ThreadPoolExecutor) -> None:
        self._size, self._goal = size, goal
        self._n_pairs = (size.n_cells - 1) // 2
        self._words = _all_words(size.n_cells - 1)
        n_wide = -(-len(self._words) // 4)
        self._wide_rows = np.zeros((size.n_cells, n_wide), dtype=np.uint64)
        self._rows = self._wide_rows.view(np.uint16)
        self._slabs = [(at, min(at + _SLAB_WORDS, 4 * n_wide)) for at in range(0, 4 * n_wide, _SLAB_WORDS)]
        links = pool.map(lambda first: _link_words(self._words, first, size.width), range(size.n_cells - size.width))
        self._from_above, self._from_below = map(np.array, zip(*links, strict=True))
        self._set_goal()

    def advance(self, level: int, pool: ThreadPoolExecutor) -> int:
        """Advance from `level` - 1 to `level`, and return its number of boards."""
        cells = self._cells_of(level)
        tasks = [pool.submit(self._advance_slab, slab, cell) for cell in cells for slab in self._slabs]
        return sum(task.result() for task in tasks)

    def _cells_of(self, level: int) -> list[int]:
        """Return the cells that the blank can be on at a level."""
        size = self._size
        is_dark = size.is_dark(self._goal.index(BLANK)) != (level % 2 == 1)
        return [cell for cell in range(size.n_cells) if size.is_dark(cell) == is_dark]

    def boards_at(self, level: int, n_boards: int) -> tuple[Tiles, ...]:
        """Return the first boards of one of the last two levels."""
        boards: list[Tiles] = []
        for cell in self._cells_of(level):
            for word in np.flatnonzero(self._rows[cell])[: n_boards - len(boards)].tolist():
                bits = int(self._rows[cell, word])
                boards += [self._board(cell, word, bit) for bit in range(16) if bits >> bit & 1]
        return tuple(boards[:n_boards])

    def _set_goal(self) -> None:
        order = [tile - 1 for tile in self._goal if tile != BLANK]
        word = np.flatnonzero((self._words == np.array(order) // 2).all(axis=1))[0]
        bit = sum((order.index(2 * pair + 1) < order.index(2 * pair)) << pair for pair in range(self._n_pairs - 1))
        self._rows[self._goal.index(BLANK), word] = 1 << bit

    def _advance_slab(self, slab: tuple[int, int], cell: int) -> int:
        width, neighbours = self._size.width, self._size.neighbours[cell]
        near = [at if at in neighbours else -1 for at in (cell - 1, cell + 1, cell - width, cell + width)]
        received = np.empty(_CHUNK_WORDS // 4, dtype=np.uint64)
        return advance_words(
            *slab, cell, near[0], near[1], near[2], near[3], self._rows, self._wide_rows,
            self._from_above, self._from_below,
            received.view(np.uint16), received,
        )  # fmt: skip

    def _board(self, cell: int, word: int, bit: int) -> Tiles:
        """Return a board of a word; the parity decides the swap of the last pair."""
        size, last = self._size, self._n_pairs - 1
        goal_order = [tile - 1 for tile in self._goal if tile != BLANK]
        # For each row, the blank has passed width - 1 tiles.
        n_rows = abs(cell // size.width - self._goal.index(BLANK) // size.width)
        is_odd = permutation_is_odd(goal_order) != (n_rows * (size.width - 1) % 2 == 1)
        for bits in (bit, bit | 1 << last):
            left = [[2 * pair, 2 * pair + 1][:: -1 if bits >> pair & 1 else 1] for pair in range(last + 2)]
            order = [left[pair].pop(0) for pair in self._words[word].tolist()]
            if permutation_is_odd(order) == is_odd:
                break
        tiles = [label + 1 for label in order]
        return (*tiles[:cell], BLANK, *tiles[cell:])
