"""The moves of tiles as words and records, see `records`."""

from collections.abc import Sequence

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.encoding import Cost
from pdb_core.moves import blank_steps
from pdb_core.puzzle import cell_distances
from pdb_core.types import Int64s
from pdb_query.records import BOTH_CELLS, KEPT, MOVE_FIELDS, WORD_BITS


def n_words_of(n_cells: int) -> int:
    """Return the number of words of a set of moves."""
    return 1 if 4 * n_cells <= WORD_BITS else 2 if 2 * n_cells <= WORD_BITS else 4


def move_numbers(size: BoardSize) -> dict[tuple[int, int], int]:
    """Return the number of each move (source, target): WORD_BITS * its word + its bit."""
    directions = blank_steps(size)
    per_word = len(directions) // n_words_of(size.n_cells)
    numbers = {}
    for source, near in enumerate(size.neighbours):
        for target in near:
            word, place = divmod(directions.index(target - source), per_word)
            numbers[source, target] = WORD_BITS * word + size.n_cells * place + source
    return numbers


def moves_toward_goal(size: BoardSize, goal_cells: Sequence[int]) -> Int64s:
    """Return the moves that bring a tile on a cell nearer to its goal cell, by Manhattan distance.

    int64[labels, n_cells, n_words]; `goal_cells` has the goal cell of each label.
    """
    distances = cell_distances(size)[list(goal_cells)]
    words = np.zeros((len(goal_cells), size.n_cells, n_words_of(size.n_cells)), dtype=np.int64)
    for (source, target), number in move_numbers(size).items():
        is_nearer = (distances[:, target] < distances[:, source]).astype(np.int64)
        words[:, source, number // WORD_BITS] |= is_nearer << number % WORD_BITS
    return words


def move_records(size: BoardSize, cost: Cost) -> Int64s:
    """Return the record of each move by its number, int64[WORD_BITS * n_words, MOVE_FIELDS]. Rows without a move are 0.

    If every move counts, each move affects all others, because it moves the blank.
    """
    numbers = move_numbers(size)
    records = np.zeros((WORD_BITS * n_words_of(size.n_cells), MOVE_FIELDS), dtype=np.int64)
    for (source, target), number in numbers.items():
        lower, upper = sorted((source, target))
        records[number, :KEPT] = (
            source, target, 1 << source | 1 << target, (1 << lower) - 1, (1 << upper) - (2 << lower), target > source,
            numbers[target, source],
        )  # fmt: skip
    if cost == "additive":
        cells = records[:, BOTH_CELLS]
        is_kept = ((cells[:, None] & cells) == 0) & (cells != 0)
        words = is_kept.reshape(len(records), -1, WORD_BITS) << np.arange(WORD_BITS)
        records[:, KEPT : KEPT + words.shape[1]] = words.sum(axis=2)
    return records
