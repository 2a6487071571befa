"""Naive twin of walking distance: dictionaries of counts, searched from the goal's."""

from collections import deque
from functools import cache

from pdb_core.puzzle import Board, BoardSize

Counts = tuple[tuple[int, ...], ...]  # per line: the number of its tiles of each goal line


@cache
def naive_walking_distances(n_lines: int, n_in_line: int, blank_line: int) -> dict[Counts, int]:
    """The moves from all counts to the goal's."""
    goal = tuple(
        tuple((n_in_line - (line == blank_line)) * (line == goal_line) for goal_line in range(n_lines))
        for line in range(n_lines)
    )
    distances = {goal: 0}
    queue = deque([goal])
    while queue:
        counts = queue.popleft()
        for near in naive_walking_moves(counts, n_in_line).values():
            if near not in distances:
                distances[near] = distances[counts] + 1
                queue.append(near)
    return distances


def naive_walking_moves(counts: Counts, n_in_line: int) -> dict[tuple[int, int], Counts]:
    """Return the counts after each move: (line the tile comes from, its goal line) -> counts."""
    blank_line = next(line for line, row in enumerate(counts) if sum(row) < n_in_line)
    result = {}
    for line in (blank_line - 1, blank_line + 1):
        for goal_line in range(len(counts)):
            if 0 <= line < len(counts) and counts[line][goal_line] > 0:
                near = [list(row) for row in counts]
                near[line][goal_line] -= 1
                near[blank_line][goal_line] += 1
                result[line, goal_line] = tuple(map(tuple, near))
    return result


def naive_row_counts(board: Board, goal: Board, size: BoardSize) -> Counts:
    counts = [[0] * size.height for _ in range(size.height)]
    for cell, tile in enumerate(board):
        if tile != 0:
            counts[cell // size.width][goal.index(tile) // size.width] += 1
    return tuple(map(tuple, counts))


def naive_walking_distance(board: Board, goal: Board, size: BoardSize) -> int:
    """The moves that the rows need, and those that the rows of the transposed board need."""
    total = 0
    for width, height, turned, turned_goal in (
        (size.width, size.height, board, goal),
        (size.height, size.width, _transposed(board, size), _transposed(goal, size)),
    ):
        distances = naive_walking_distances(height, width, turned_goal.index(0) // width)
        total += distances[naive_row_counts(turned, turned_goal, BoardSize(width, height))]
    return total


def _transposed(board: Board, size: BoardSize) -> Board:
    return tuple(board[row * size.width + column] for column in range(size.width) for row in range(size.height))
