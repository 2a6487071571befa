"""Slow, obviously right twins of heuristics."""

import itertools
from collections.abc import Sequence
from functools import cache

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles
from tests.naive.boards_and_tables import (
    breadth_first,
    cell_distance,
    naive_distances,
    naive_least_distances,
    naive_manhattan,
    naive_neighbours,
)


def naive_misplaced(board: Tiles, goal: Tiles, size: BoardSize) -> int:  # noqa: ARG001 (as all heuristics)
    """Return the number of tiles that are not on their goal cell."""
    return sum(tile not in (0, place) for tile, place in zip(board, goal, strict=True))


def naive_linear_conflict(board: Tiles, goal: Tiles, size: BoardSize) -> int:
    """Return Manhattan distance plus two moves for each tile that must leave its line, so that the others of the line
    are in the goal's order; by trying all sets.
    """
    rows = [[row * size.width + column for column in range(size.width)] for row in range(size.height)]
    columns = [[row[column] for row in rows] for column in range(size.width)]
    total = naive_manhattan(board, goal, size)
    for line in rows + columns:
        goal_order = [goal[cell] for cell in line]
        tiles = [board[cell] for cell in line if board[cell] != 0 and board[cell] in goal_order]
        for n_lifted in range(len(tiles) + 1):
            rests = itertools.combinations(tiles, len(tiles) - n_lifted)
            if any(rest == tuple(tile for tile in goal_order if tile in rest) for rest in rests):
                total += 2 * n_lifted
                break
    return total


# Last moves, corner tiles, and both with linear conflicts (Korf and Taylor 1996)


def naive_boards_two_moves_off(goal: Tiles, size: BoardSize) -> list[Tiles]:
    """The boards whose solution takes two moves: one of them is passed by every solution that takes two or more."""
    return [board for board, distance in naive_distances(size, goal, 2).items() if distance == 2]


def naive_last_move(board: Tiles, goal: Tiles, size: BoardSize) -> int:
    """Manhattan to the board two moves before the goal that is nearest, and the two moves."""
    if board in naive_distances(size, goal, 1):
        return naive_manhattan(board, goal, size)
    return min(naive_manhattan(board, end, size) + 2 for end in naive_boards_two_moves_off(goal, size))


def naive_tiles_beside_corners(board: Tiles, goal: Tiles, size: BoardSize) -> set[int]:
    """The tiles in their place beside a corner that holds a tile, though not its own, and will hold one in the goal."""
    return {
        board[beside]
        for corner in (0, size.width - 1, size.n_cells - size.width, size.n_cells - 1)
        for beside in naive_neighbours(corner, size)
        if board[beside] == goal[beside] and board[corner] != goal[corner]
        if 0 not in (board[beside], board[corner], goal[corner])
    }


def naive_corner_tiles(board: Tiles, goal: Tiles, size: BoardSize) -> int:
    """Manhattan, and two moves for each tile that has to make way for a corner."""
    return naive_manhattan(board, goal, size) + 2 * len(naive_tiles_beside_corners(board, goal, size))


def naive_conflicts(board: Tiles, goal: Tiles, size: BoardSize) -> set[tuple[int, str]]:
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


def naive_korf_taylor(board: Tiles, goal: Tiles, size: BoardSize) -> int:
    """Linear conflicts; tiles beside corners, if in none; the last two moves of tiles for which nothing else counts."""
    if board in naive_distances(size, goal, 1):
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
                added += cell_distance(at, through, size) + 1 - cell_distance(at, place, size)
        least = min(least, added)
    return naive_linear_conflict(board, goal, size) + 2 * len(make_way) + least


# Pairs: the best of all choices of pairs that share no tile, by the moves of each pair


def naive_pairs(board: Tiles, goal: Tiles, size: BoardSize) -> int:
    """Return the most that the tiles need in pairs; a tile alone needs its Manhattan distance."""
    alone = {tile: cell_distance(board.index(tile), goal.index(tile), size) for tile in range(1, size.n_cells)}
    excesses = [
        (
            frozenset(tiles),
            naive_least_distances(size, goal, tiles)[tuple(map(board.index, tiles))]
            - sum(alone[tile] for tile in tiles),
        )
        for tiles in itertools.combinations(alone, 2)
    ]
    return sum(alone.values()) + naive_best_packing([group for group in excesses if group[1] > 0])


def naive_best_packing(groups: Sequence[tuple[frozenset[int], int]]) -> int:
    """Return the largest sum of weights of groups that share nothing, by trying all sets of them."""
    if not groups:
        return 0
    (tiles, weight), *others = groups
    return max(
        naive_best_packing(others), weight + naive_best_packing([group for group in others if not group[0] & tiles])
    )


# Walking distance: the goal lines of the tiles of each line, searched from the goal's

Lines = tuple[tuple[int, ...], ...]


@cache
def naive_walking_distances(of_goal: Lines) -> dict[Lines, int]:
    """Return the moves from all lines to the goal's."""
    return breadth_first(of_goal, naive_walking_moves)


def naive_walking_moves(lines: Lines) -> list[Lines]:
    """Return the lines after each move into the shortest one, which has the blank."""
    blank = min(range(len(lines)), key=lambda line: len(lines[line]))
    result = []
    for near in (blank - 1, blank + 1):
        for goal_line in set(lines[near]) if 0 <= near < len(lines) else ():
            after = list(map(list, lines))
            after[near].remove(goal_line)
            after[blank].append(goal_line)
            result.append(tuple(tuple(sorted(line)) for line in after))
    return result


def naive_lines(board: Tiles, goal: Tiles, line_of: Sequence[int]) -> Lines:
    """Return the goal lines of the tiles of each line; `line_of` has the line of each cell."""
    lines: list[list[int]] = [[] for _ in set(line_of)]
    for cell, tile in enumerate(board):
        if tile != 0:
            lines[line_of[cell]].append(line_of[goal.index(tile)])
    return tuple(tuple(sorted(line)) for line in lines)


def naive_walking_distance(board: Tiles, goal: Tiles, size: BoardSize) -> int:
    """The moves that the rows need, and those that the columns need."""
    rows, columns = zip(*(divmod(cell, size.width) for cell in range(size.n_cells)), strict=True)
    return sum(
        naive_walking_distances(naive_lines(goal, goal, line_of))[naive_lines(board, goal, line_of)]
        for line_of in (rows, columns)
    )
