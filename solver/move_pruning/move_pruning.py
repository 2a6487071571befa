"""Pruning duplicate moves with a finite-state machine (Taylor and Korf 1993).

Two sequences of moves that have the same effect lead to the same board; a search needs but one of them. A sequence is a
*duplicate* where another one has the same effect, is not longer, comes first (shorter, or as long and lexicographically
smaller), and stays inside the rectangle that the blank visits, so that it can be played wherever the duplicate can,
also at the borders of any board.

Why no shortest solution is lost: of all shortest solutions of a board take the first in lexicographic order. If it held
a duplicate, the sequence that comes before it could be played in its stead, and would give a solution that is shorter,
or as long and smaller. So it holds none. And as the heuristic is admissible, it prunes none of its nodes either.

Where all shortest solutions are wanted, a duplicate is only what a *shorter* sequence replaces: no shortest solution
holds one, since it could be made shorter.

The machine reads moves and refuses one that completes a duplicate. It is the automaton of Aho and Corasick (1975) for
the duplicates up to a length, minimised. Undoing the last move is the shortest of them. Neither the duplicates nor the
argument know the size of the board, the goal, or where the blank begins: one machine serves them all.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from solver.cache_file import cache_path, load_cached, save_cached
from solver.move_pruning.move_pruning_kernels import (
    GRID,
    NO_CHILD,
    NO_ENTRY,
    N_FILTER_BITS,
    add_words,
    fill_table,
    link_states,
    list_sequences,
    mark_duplicates,
    merge_states,
)

UP, LEFT, RIGHT, DOWN = range(4)
REFUSED = -1
START = 0

# Longer duplicates prune ever less, and the machine outgrows the caches: see docs/decisions.
DEFAULT_LENGTH = 12
# Only that the last move is not undone: the search of the textbook.
UNDO_LENGTH = 2

# Duplicates in larger boxes are rare. All those of up to 12 moves, and all on boards of 5x5, are within.
LONGEST_SIDE = 5

Codes = npt.NDArray[np.int64]
States = npt.NDArray[np.int32]

_NONE, _NO_FILTER = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class MoveMachine:
    """`successors[state, move]` is the state after a move of the blank, int32[n, 4], or REFUSED; START is the first
    one.
    """

    max_length: int
    successors: npt.NDArray[np.int32]

    @property
    def n_states(self) -> int:
        return len(self.successors)


@lru_cache(maxsize=4)
def move_machine(max_length: int = DEFAULT_LENGTH, *, keeps_equals: bool = False) -> MoveMachine:
    """The machine that refuses all duplicates of up to `max_length` moves, 2 to 12; kept in the cache folder once made.

    With `keeps_equals` it refuses only what a shorter sequence replaces.

    Raises `ValueError` for another length.
    """
    if not UNDO_LENGTH <= max_length <= DEFAULT_LENGTH:
        raise ValueError(
            f"duplicates are pruned up to a length of {UNDO_LENGTH} to {DEFAULT_LENGTH} moves, not {max_length}"
        )
    kind = "shorter" if keeps_equals else "earlier"
    sources = [Path(__file__), Path(__file__).with_name("move_pruning_kernels.py")]
    path = cache_path("machines", f"{kind}-{max_length}", sources)
    content = load_cached(path)
    if content is not None and len(content) % 16 == 0:
        successors = np.frombuffer(content, dtype=np.int32).reshape(-1, 4)
    else:
        successors = _minimised(_automaton(find_duplicates(max_length, keeps_equals=keeps_equals)))
        save_cached(path, successors.tobytes())
    successors.flags.writeable = False  # loaded and computed machines are then of one type to the compiler
    return MoveMachine(max_length, successors)


def find_duplicates(max_length: int, *, keeps_equals: bool = False) -> dict[int, Codes]:
    """Return the duplicates of each length that hold no shorter one and stay inside LONGEST_SIDE rows and columns.

    They are codes of two bits a move, the first move highest, in ascending order.
    """
    keys = np.random.default_rng(1).integers(2**30, 2**31, 2 * GRID * GRID)
    n_before = 1
    duplicates: dict[int, Codes] = {}
    for length in range(1, max_length + 1):
        successors = _automaton(duplicates)
        # Sequences grow by at most four moves; memory that is not written takes none.
        hashes = np.empty(4 * n_before + 1, dtype=np.int64)
        arguments = (successors, length, LONGEST_SIDE, keys)
        n_before = list_sequences(*arguments, _NO_FILTER, _NONE, hashes, _NONE, _NONE)
        # Most effects are those of one sequence: only the others are listed with their sequences.
        repeated, n_listed = _repeated(hashes[:n_before])
        del hashes
        listed = tuple(np.empty(n_listed, dtype=np.int64) for _ in range(3))
        n_listed = list_sequences(*arguments, *_table_of(repeated), *listed)
        hashes, codes, lengths = (column[:n_listed] for column in listed)
        order = np.lexsort((codes, lengths, hashes))
        hashes, codes, lengths = hashes[order], codes[order], lengths[order]
        is_duplicate = np.zeros(n_listed, dtype=bool)
        mark_duplicates(hashes, codes, lengths, length, keeps_equals, is_duplicate)
        if is_duplicate.any():
            duplicates[length] = np.sort(codes[is_duplicate])
    return duplicates


def _repeated(hashes: Codes) -> tuple[Codes, int]:
    """Return the hashes that occur more than once, and how often all of them occur together. Sorts `hashes`."""
    hashes.sort()
    is_repeated = hashes[1:] == hashes[:-1]
    repeated = np.unique(hashes[1:][is_repeated])
    return repeated, int(is_repeated.sum()) + len(repeated)


def _table_of(hashes: Codes) -> tuple[npt.NDArray[np.uint8], Codes]:
    """Return the filter and the table of hashes that `list_sequences` reads."""
    filter_bits = np.zeros(N_FILTER_BITS // 8, dtype=np.uint8)
    table = np.full(_table_size(len(hashes)), NO_ENTRY, dtype=np.int64)
    fill_table(hashes, filter_bits, table)
    return filter_bits, table


def _table_size(n_entries: int) -> int:
    """Return a power of two that leaves half of a hash table empty."""
    return 1 << (2 * n_entries + 1).bit_length()


def _automaton(duplicates: dict[int, Codes]) -> States:
    """Return the automaton of Aho and Corasick: a state for each proper prefix of a duplicate, the longest one just
    read. States are numbered breadth first, so that those visited most are near each other.
    """
    children = np.full((1 + sum((length - 1) * len(codes) for length, codes in duplicates.items()), 4), NO_CHILD)
    children = children.astype(np.int32)
    n_states = 1
    for length, codes in duplicates.items():
        n_states = add_words(codes, length, children, n_states)
    successors = np.empty((n_states, 4), dtype=np.int32)
    queue, suffixes = np.empty(n_states, dtype=np.int32), np.empty(n_states, dtype=np.int32)
    link_states(children[:n_states], queue, suffixes, successors)
    return successors


def _minimised(successors: States) -> States:
    """Return the smallest machine that refuses the same sequences."""
    classes = np.arange(len(successors), dtype=np.int32)
    table = np.empty(_table_size(len(successors)), dtype=np.int32)
    while merge_states(successors, classes, table):
        pass
    # Number the classes in the order of their first states, so that START stays 0.
    _, first, merged = np.unique(classes, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int32)
    number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    representatives = successors[np.sort(first)]
    return np.where(representatives < 0, REFUSED, number[merged][representatives]).astype(np.int32)
