"""Pruning of duplicate operator sequences with a finite-state machine, an FSM (Taylor and Korf 1993).

A sequence of moves is a *duplicate* if another one has the same effect, comes first (shorter, or as long and
lexicographically smaller), and stays inside the rectangle that the blank visits. So the other one can be played
wherever the duplicate can, on any board.

No optimal solution is lost: the lexicographically first of all optimal solutions of a board contains no duplicate. If
all optimal solutions are wanted, a duplicate is only a sequence that a *shorter* one replaces.

Of a board that is its own image, only some first moves are searched (`mirrored_moves`). The FSM could replace a
solution by one that begins with another move. So it goes on after the first move as from a root, and prunes only the
move back.

The FSM is the automaton of Aho and Corasick (1975) for the duplicates up to a length. They are found by
length: list all sequences that contain no shorter duplicate, sort them by the hashes of their effects, and compare the
effects and boxes of those with equal hashes.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.types import N_MOVES, Bytes, Int64s
from solver.cache_file import cached_array
from solver.pruning.fsm_kernels import (
    GRID,
    NO_CHILD,
    States,
    add_words,
    link_states,
    list_sequences,
    mark_duplicates,
)

PRUNED = -1
START = 0

# Longer duplicates prune ever less, and the FSM outgrows the caches: see docs/design/pruning.md.
DEFAULT_LENGTH, LARGE_BOARD_LENGTH = 12, 17
MOST_CELLS_OF_DEFAULT = 16
# Prunes only moves that undo the last one, as the textbook does.
UNDO_LENGTH = 2

# All duplicates of up to 12 moves, and all on boards of 5x5, stay inside a box of 5x5 cells.
LONGEST_SIDE = 5


@dataclass(frozen=True, eq=False)
class PruningFsm:
    """Finite-state machine that prunes operator sequences.

    successors  int32[n, 4]: the state after each state and move of the blank, or PRUNED; START is the first state
    own_image   state at the root of a board that is its own image; START if such boards are searched like others
    """

    successors: States
    own_image: int = START

    @cached_property
    def allowed_moves(self) -> Bytes:
        """The mask of moves that each state allows, uint8[n]."""
        return np.packbits(self.successors >= 0, axis=1, bitorder="little")[:, 0]

    @property
    def n_states(self) -> int:
        return len(self.successors)


def fsm_for(size: BoardSize, *, plain: bool, keeps_equals: bool = False) -> PruningFsm:
    """Return the FSM for searches of boards of a size; with `plain` it prunes only moves that undo the last one.

    With `keeps_equals` it prunes only sequences that a shorter one replaces.
    """
    if plain:
        return pruning_fsm(UNDO_LENGTH, keeps_equals=keeps_equals)
    is_large = size.n_cells > MOST_CELLS_OF_DEFAULT and not keeps_equals
    fsm = pruning_fsm(LARGE_BOARD_LENGTH if is_large else DEFAULT_LENGTH, keeps_equals=keeps_equals)
    return fsm if keeps_equals else _for_own_images(fsm)


@lru_cache(maxsize=4)
def _for_own_images(fsm: PruningFsm) -> PruningFsm:
    """Return the FSM with the state `own_image`, and a state after each first move from there."""
    own_image = fsm.n_states
    first = own_image + 1 + np.arange(N_MOVES, dtype=np.int32)
    after = np.tile(fsm.successors[START], (N_MOVES, 1))
    after[np.arange(N_MOVES), N_MOVES - 1 - np.arange(N_MOVES)] = PRUNED
    return PruningFsm(np.vstack([fsm.successors, first, after]), own_image)


@lru_cache(maxsize=4)
def pruning_fsm(max_length: int, *, keeps_equals: bool = False) -> PruningFsm:
    """Return the FSM that prunes all duplicates of up to `max_length` moves, 2 to 18, inside a box of 5x5 cells.

    With `keeps_equals` it prunes only sequences that a shorter one replaces.
    """
    kind = "shorter" if keeps_equals else "earlier"
    successors = cached_array(
        f"machines/{kind}-{max_length}",
        __file__,
        np.int32,
        lambda: _automaton(find_duplicates(max_length, keeps_equals=keeps_equals)),
    ).reshape(-1, N_MOVES)
    return PruningFsm(successors)


def find_duplicates(max_length: int, *, keeps_equals: bool = False) -> dict[int, Int64s]:
    """Return the duplicates of each length that contain no shorter one, in at most LONGEST_SIDE rows and columns.

    They are codes of two bits a move, the first move highest, in ascending order.
    """
    duplicates: dict[int, Int64s] = {}
    keys = np.random.default_rng(1).integers(2**30, 2**31, 2 * GRID * GRID)
    n_sequences = 1
    for length in range(1, max_length + 1):
        # A sequence has at most four continuations. Memory that is not written is not taken.
        entries = np.empty(4 * n_sequences + 1, dtype=np.int64)
        # No sequence that the FSM so far accepts contains a shorter duplicate.
        n_sequences = list_sequences(_automaton(duplicates), length, LONGEST_SIDE, keys, entries)
        entries = entries[:n_sequences]
        entries.sort()
        mark_duplicates(entries, length, keeps_equals)
        codes = ~entries[entries < 0] & ((1 << (2 * length)) - 1)
        if len(codes):
            duplicates[length] = np.sort(codes)
    return duplicates


def _automaton(duplicates: dict[int, Int64s]) -> States:
    """Return the automaton of Aho and Corasick, states numbered breadth first."""
    most_states = 1 + sum((length - 1) * len(codes) for length, codes in duplicates.items())
    children = np.full((most_states, 4), NO_CHILD, dtype=np.int32)
    n_states = 1
    for length, codes in duplicates.items():
        n_states = add_words(codes, length, children, n_states)
    successors = np.empty((n_states, 4), dtype=np.int32)
    link_states(children[:n_states], successors)
    return successors
