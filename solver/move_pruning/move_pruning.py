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
from solver.move_pruning.move_pruning_kernels import GRID, play_sequences

UP, LEFT, RIGHT, DOWN = range(4)
REFUSED = -1
START = 0

# Longer duplicates prune ever less, and the machine outgrows the caches: see docs/decisions.
DEFAULT_LENGTH = 12
# Only that the last move is not undone: the search of the textbook.
UNDO_LENGTH = 2

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MoveMachine:
    """`successors[state, move]` is the state after a move of the blank, int16[n, 4], or REFUSED; START is the first
    one.
    """

    max_length: int
    successors: npt.NDArray[np.int16]

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
    if content is not None and len(content) % 8 == 0:
        successors = np.frombuffer(content, dtype=np.int16).reshape(-1, 4)
    else:
        successors = _minimised(_automaton(find_duplicates(max_length, keeps_equals=keeps_equals))).astype(np.int16)
        save_cached(path, successors.tobytes())
    successors.flags.writeable = False  # loaded and computed machines are then of one type to the compiler
    return MoveMachine(max_length, successors)


def find_duplicates(max_length: int, *, keeps_equals: bool = False) -> dict[int, Codes]:
    """The duplicates of each length that hold no shorter one, as codes of two bits a move, the first move highest."""
    keys = np.random.default_rng(1).integers(2**30, 2**31, 2 * GRID * GRID)
    grid = np.arange(GRID * GRID, dtype=np.int64)
    kept = np.zeros(1, dtype=np.int64)
    # Sequences kept so far, in the order in which they come first: effect, box.
    known_effects = np.zeros(1, dtype=np.int64)
    known_boxes = np.full((1, 4), GRID // 2, dtype=np.int64)
    duplicates: dict[int, Codes] = {}
    for length in range(1, max_length + 1):
        codes = (kept[:, None] * 4 + np.arange(4)).reshape(-1)
        for shorter, words in duplicates.items():
            codes = codes[~np.isin(codes & ((1 << 2 * shorter) - 1), words)]
        effects, boxes = np.empty(len(codes), dtype=np.int64), np.empty((len(codes), 4), dtype=np.int64)
        play_sequences(codes, length, keys, grid, effects, boxes)
        is_duplicate = _have_predecessor(known_effects, known_boxes, effects, boxes, keeps_equals=keeps_equals)
        if is_duplicate.any():
            duplicates[length] = codes[is_duplicate]
        kept = codes[~is_duplicate]
        known_effects = np.concatenate([known_effects, effects[~is_duplicate]])
        known_boxes = np.concatenate([known_boxes, boxes[~is_duplicate]])
    return duplicates


def _have_predecessor(
    known_effects: Codes, known_boxes: Codes, effects: Codes, boxes: Codes, *, keeps_equals: bool
) -> npt.NDArray[np.bool_]:
    """Which of the new sequences have the effect of a known one that stays inside their box, or, unless `keeps_equals`,
    of an earlier new one.
    """
    all_effects = np.concatenate([known_effects, effects])
    all_boxes = np.concatenate([known_boxes, boxes])
    order = np.argsort(all_effects, kind="stable")
    sorted_effects = all_effects[order]
    starts = np.flatnonzero(np.r_[True, sorted_effects[1:] != sorted_effects[:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    result = np.zeros(len(effects), dtype=bool)
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        kept: list[int] = []
        for place in order[start : start + size].tolist():
            new = place - len(known_effects)
            box = all_boxes[place]
            if new >= 0 and any(_is_inside(all_boxes[other], box) for other in kept):
                result[new] = True
            elif new < 0 or not keeps_equals:
                kept.append(place)
    return result


def _is_inside(inner: Codes, outer: Codes) -> bool:
    return bool(inner[0] >= outer[0] and inner[1] <= outer[1] and inner[2] >= outer[2] and inner[3] <= outer[3])


def _automaton(duplicates: dict[int, Codes]) -> npt.NDArray[np.int32]:
    """Aho and Corasick's automaton: a state for each proper prefix of a duplicate, that is the longest one just
    read.
    """
    successors: list[list[int]] = [[START] * 4]
    children: list[dict[int, int]] = [{}]
    refused: list[set[int]] = [set()]
    for length, codes in duplicates.items():
        for code in codes.tolist():
            state = START
            for step in range(length - 1, 0, -1):
                move = (code >> (2 * step)) & 3
                if move not in children[state]:
                    children[state][move] = len(children)
                    children.append({})
                    refused.append(set())
                    successors.append([START] * 4)
                state = children[state][move]
            refused[state].add(code & 3)
    # Breadth first, so that the state of the longest proper suffix is done before.
    suffix = [START] * len(children)
    queue = [START]
    for state in queue:
        for move in range(4):
            behind = successors[suffix[state]][move] if state != START else START
            child = children[state].get(move)
            if move in refused[state] or behind == REFUSED:
                successors[state][move] = REFUSED
            elif child is None:
                successors[state][move] = behind
            else:
                successors[state][move] = child
                suffix[child] = behind
                queue.append(child)
    return np.array(successors, dtype=np.int32)


def _minimised(successors: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The smallest machine that refuses the same sequences, by refining classes of states (Moore 1956)."""
    classes = np.zeros(len(successors) + 1, dtype=np.int64)
    classes[REFUSED] = 1
    while True:
        rows = np.column_stack([classes[:-1], classes[successors]])
        _rows, first, refined = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        refined = refined.reshape(-1)
        if len(first) == len(np.unique(classes[:-1])):
            break
        classes = np.r_[refined, len(first)]
    # Number the classes in the order of their first states, so that START stays 0.
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    smallest = rank[refined]
    representatives = np.sort(first)
    result = np.where(successors[representatives] == REFUSED, REFUSED, smallest[successors[representatives]])
    return np.ascontiguousarray(result, dtype=np.int32)
