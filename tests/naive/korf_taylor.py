"""Slow, obviously right twins of the heuristics of Korf and Taylor 1996: last moves, corner tiles, and all together."""

import itertools

from pdb_core.puzzle import Board, BoardSize
from tests.naive.boards_and_tables import naive_linear_conflict, naive_manhattan, naive_moves, naive_neighbours


def naive_boards_two_moves_off(goal: Board, size: BoardSize) -> list[Board]:
    """The boards whose solution takes two moves: one of them is passed by every solution that takes two or more."""
    one_off = [near for _tile, near in naive_moves(goal, size)]
    return [near for board in one_off for _tile, near in naive_moves(board, size) if near != goal]


def naive_last_move(board: Board, goal: Board, size: BoardSize) -> int:
    """Manhattan to the board two moves before the goal that is nearest, and the two moves."""
    if board == goal or goal in [near for _tile, near in naive_moves(board, size)]:
        return naive_manhattan(board, goal, size)
    return min(naive_manhattan(board, end, size) + 2 for end in naive_boards_two_moves_off(goal, size))


def naive_tiles_beside_corners(board: Board, goal: Board, size: BoardSize) -> set[int]:
    """The tiles in their place beside a corner that holds a tile, though not its own, and will hold one in the goal."""
    return {
        board[beside]
        for corner in (0, size.width - 1, size.n_cells - size.width, size.n_cells - 1)
        for beside in naive_neighbours(corner, size)
        if board[beside] == goal[beside] and board[corner] != goal[corner]
        if 0 not in (board[beside], board[corner], goal[corner])
    }


def naive_corner_tiles(board: Board, goal: Board, size: BoardSize) -> int:
    """Manhattan, and two moves for each tile that has to make way for a corner."""
    return naive_manhattan(board, goal, size) + 2 * len(naive_tiles_beside_corners(board, goal, size))


def naive_conflicts(board: Board, goal: Board, size: BoardSize) -> set[tuple[int, str]]:
    """The tiles that are in a linear conflict, each with the way in which it would leave the line."""
    found = set()
    for one, other in itertools.permutations([tile for tile in board if tile != 0], 2):
        rows = {place.index(tile) // size.width for place in (board, goal) for tile in (one, other)}
        columns = {place.index(tile) % size.width for place in (board, goal) for tile in (one, other)}
        if board.index(one) < board.index(other) and goal.index(one) > goal.index(other):
            if len(rows) == 1:
                found |= {(one, "up or down"), (other, "up or down")}
            if len(columns) == 1:
                found |= {(one, "sideways"), (other, "sideways")}
    return found


def naive_korf_taylor(board: Board, goal: Board, size: BoardSize) -> int:
    """Linear conflicts; tiles beside corners, if in none; the last two moves of tiles for which nothing else counts."""
    if board == goal or goal in [near for _tile, near in naive_moves(board, size)]:
        return naive_manhattan(board, goal, size)
    conflicts = naive_conflicts(board, goal, size)
    make_way = naive_tiles_beside_corners(board, goal, size) - {tile for tile, _way in conflicts}
    least = 4
    for end in naive_boards_two_moves_off(goal, size):
        added = 0
        for tile in range(1, size.n_cells):
            at, through, place = board.index(tile), end.index(tile), goal.index(tile)
            if through == place:
                continue
            way = "sideways" if through // size.width == place // size.width else "up or down"
            if tile not in make_way and (tile, way) not in conflicts:
                added += _distance(at, through, size) + 1 - _distance(at, place, size)
        least = min(least, added)
    return naive_linear_conflict(board, goal, size) + 2 * len(make_way) + least


def _distance(cell: int, other: int, size: BoardSize) -> int:
    return abs(cell // size.width - other // size.width) + abs(cell % size.width - other % size.width)
