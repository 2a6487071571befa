"""The slow twin of the classic IDA*: recursion on tuples, and nodes counted one at a time."""

import itertools
from collections.abc import Callable, Iterable

from pdb_core.puzzle import Board, BoardSize
from tests.naive.boards_and_tables import naive_letter, naive_moves


def naive_classic_thresholds(
    board: Board, goal: Board, size: BoardSize, h: Callable[[Board], int], first: int, duplicates: Iterable[str]
) -> list[tuple[int, int, int]]:
    """(threshold, generated, expanded) of each iteration from threshold `first` on, the last one up to the goal.

    The blank moves up, left, right, down, in this order; no path holds one of `duplicates`. A node is generated when
    it is its turn, before its h is known.
    """
    refused = tuple(duplicates)

    def search(at: Board, path: str, threshold: int, counts: list[int]) -> bool:
        counts[1] += 1
        for _tile, near in naive_moves(at, size):
            longer = path + naive_letter(at, near)
            if longer.endswith(refused):
                continue
            counts[0] += 1
            if near == goal:
                return True
            if len(longer) + h(near) <= threshold and search(near, longer, threshold, counts):
                return True
        return False

    result = []
    for threshold in itertools.count(first, 2):
        counts = [0, 0]
        found = search(board, "", threshold, counts)
        result.append((threshold, *counts))
        if found:
            return result
    raise AssertionError
