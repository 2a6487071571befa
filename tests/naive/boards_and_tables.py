"""Naive twins of boards, tables and duplicates: slow and obviously right, with tuples and dictionaries."""

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TypeVar

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles

UNREACHED = 255
Placement = tuple[int, ...]
PatternState = tuple[Placement, frozenset[int]]  # the cell of each tile, and the cells the blank can roam
State = TypeVar("State")
Blank = TypeVar("Blank", int, frozenset[int])


def breadth_first(start: State, moves: Callable[[State], Iterable[State]], most: float = math.inf) -> dict[State, int]:
    """Return the distance of every state that moves lead to, up to the distance `most`, the nearest first."""
    distances = {start: 0}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for near in moves(state) if distances[state] < most else ():
            if near not in distances:
                distances[near] = distances[state] + 1
                queue.append(near)
    return distances


def naive_neighbours(cell: int, size: BoardSize) -> list[int]:
    row, column = divmod(cell, size.width)
    near = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
    return [r * size.width + c for r, c in near if 0 <= r < size.height and 0 <= c < size.width]


def cell_distance(cell: int, other: int, size: BoardSize) -> int:
    """Return the number of rows and columns between two cells."""
    return abs(cell // size.width - other // size.width) + abs(cell % size.width - other % size.width)


def naive_moves(board: Tiles, size: BoardSize) -> list[tuple[int, Tiles]]:
    """Return every legal move: the tile that moves, and the board after it. The blank goes up, left, right, down."""
    blank = board.index(0)
    result = []
    for cell in naive_neighbours(blank, size):
        cells = list(board)
        cells[blank], cells[cell] = cells[cell], 0
        result.append((board[cell], tuple(cells)))
    return result


@lru_cache(maxsize=8)
def naive_distances(size: BoardSize, goal: Tiles, most: float = math.inf) -> Mapping[Tiles, int]:
    """Return the distance of every solvable board, up to the distance `most`, the nearest first."""
    return MappingProxyType(breadth_first(goal, lambda board: [near for _tile, near in naive_moves(board, size)], most))


def naive_labels(board: Tiles, size: BoardSize, distances: Mapping[Tiles, int]) -> tuple[int, int, list[int]]:
    """Return the fields of `solver.labels.Labels` for a board: distance, mask of optimal first moves, distances after
    the blank moved up, left, right and down.
    """
    after = [-1] * 4
    if board not in distances:
        return -1, 0, after
    moves = {-size.width: 0, -1: 1, 1: 2, size.width: 3}
    for _tile, near in naive_moves(board, size):
        after[moves[near.index(0) - board.index(0)]] = distances[near]
    is_nearer = [0 <= distance < distances[board] for distance in after]
    return distances[board], sum(1 << move for move in range(4) if is_nearer[move]), after


def naive_shortest_solutions(size: BoardSize, goal: Tiles) -> dict[Tiles, int]:
    """Return the number of optimal solutions of each board: the sum over its neighbours that are one move nearer."""
    distances = naive_distances(size, goal)
    counts = {goal: 1}
    for board, distance in distances.items():  # in the order of a breadth-first search
        if board != goal:
            near = [other for _tile, other in naive_moves(board, size) if distances[other] == distance - 1]
            counts[board] = sum(counts[other] for other in near)
    return counts


def naive_manhattan(board: Tiles, goal: Tiles, size: BoardSize) -> int:
    """Return the sum of the rows and columns between each tile and its goal cell."""
    return sum(cell_distance(board.index(tile), goal.index(tile), size) for tile in range(1, size.n_cells))


def naive_turned_and_flipped(board: Tiles, size: BoardSize) -> list[Tiles]:
    """Return the board turned by 0, 90, 180, 270 degrees, each as it is and mirrored, if it keeps its shape."""
    grid = [board[row * size.width : (row + 1) * size.width] for row in range(size.height)]
    result = []
    for _ in range(4):
        if (len(grid[0]), len(grid)) == (size.width, size.height):
            result.append(tuple(tile for row in grid for tile in row))
            result.append(tuple(tile for row in grid for tile in reversed(row)))
        grid = list(zip(*reversed(grid), strict=True))
    return result


def naive_unrank(rank: int, n_cells: int, n_tiles: int) -> Placement:
    """Return the cells of the tiles, ascending, of an entry: by their cell set, then by their order on it."""
    set_rank, order = divmod(rank, math.factorial(n_tiles))
    cell_set = list(itertools.combinations(range(n_cells), n_tiles))[set_rank]
    labels = list(itertools.permutations(range(n_tiles)))[order]
    return tuple(cell_set[labels.index(label)] for label in range(n_tiles))


def naive_placements(n_cells: int, n_tiles: int) -> list[Placement]:
    """Return all placements in the order of their entries."""
    return [
        tuple(cell_set[labels.index(label)] for label in range(n_tiles))
        for cell_set in itertools.combinations(range(n_cells), n_tiles)
        for labels in itertools.permutations(range(n_tiles))
    ]


@lru_cache(maxsize=10_000)
def naive_region(blank: int, cells: Placement, size: BoardSize) -> frozenset[int]:
    """Return the cells that the blank reaches without moving a tile of the pattern."""
    return frozenset(breadth_first(blank, lambda cell: [at for at in naive_neighbours(cell, size) if at not in cells]))


def naive_pattern_moves(state: PatternState, size: BoardSize) -> list[PatternState]:
    """Return the states after each move of a pattern's tile into the blank's region."""
    cells, region = state
    result = []
    for label, cell in enumerate(cells):
        for target in naive_neighbours(cell, size):
            if target in region:
                moved = (*cells[:label], target, *cells[label + 1 :])
                result.append((moved, naive_region(cell, moved, size)))
    return result


def naive_pattern_distances(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> dict[PatternState, int]:
    """Return the zero-aware distances of each placement and blank region: only moves of the pattern's tiles count."""
    cells = tuple(goal.index(tile) for tile in tiles)
    start = (cells, naive_region(goal.index(0), cells, size))
    return breadth_first(start, lambda state: naive_pattern_moves(state, size))


@cache
def naive_least_distances(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> Mapping[Placement, int]:
    """Return the least distance of each placement over the blank regions."""
    least: dict[Placement, int] = {}
    for (cells, _region), distance in naive_pattern_distances(size, goal, tiles).items():
        least.setdefault(cells, distance)  # the nearest comes first
    return least


def naive_additive_min(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> list[int]:
    """Return the table of a pattern: the least distances, `UNREACHED` if there is none."""
    least = naive_least_distances(size, goal, tiles)
    return [least.get(cells, UNREACHED) for cells in naive_placements(size.n_cells, len(tiles))]


def bits_by_block(
    n_cells: int,
    n_tiles: int,
    blanks_of: Callable[[Placement, int], Blank],
    distances: Mapping[tuple[Placement, Blank], int],
) -> bytes:
    """Return a table in bits: by block, bit 1 of the distance of each arrangement, lowest bit first.

    The blocks of a set of cells are what `blanks_of` tells apart for the blank on the free cells, by the lowest cells.
    A block starts with a new byte.
    """
    table = b""
    for cells, placements in itertools.groupby(
        naive_placements(n_cells, n_tiles), lambda placed: tuple(sorted(placed))
    ):
        of_block = list(placements)
        for blank in dict.fromkeys(blanks_of(cells, cell) for cell in range(n_cells) if cell not in cells):
            bits = [distances.get((placement, blank), 0) >> 1 & 1 for placement in of_block]
            table += bytes(sum(bit << i for i, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8))
    return table


def naive_bits(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> bytes:
    """Return the table of a pattern in bits. The blocks of a set of cells are its blank regions."""
    return bits_by_block(
        size.n_cells,
        len(tiles),
        lambda cells, blank: naive_region(blank, cells, size),
        naive_pattern_distances(size, goal, tiles),
    )


Effect = tuple[tuple[tuple[int, int], tuple[int, int]], ...]


def naive_effect(word: str) -> tuple[Effect, tuple[int, int, int, int]]:
    """Return the effect of a sequence of moves of the blank (letters ULRD), the cell that each piece ends on, and the
    rows and columns visited.
    """
    steps = {"U": (-1, 0), "L": (0, -1), "R": (0, 1), "D": (1, 0)}
    blank, pieces, visited = (0, 0), {}, [(0, 0)]
    for letter in word:
        target = (blank[0] + steps[letter][0], blank[1] + steps[letter][1])
        pieces[blank], pieces[target] = pieces.get(target, target), pieces.get(blank, blank)
        blank = target
        visited.append(blank)
    rows, columns = [row for row, _ in visited], [column for _, column in visited]
    effect = tuple(sorted((piece, place) for place, piece in pieces.items() if piece != place))
    return effect, (min(rows), max(rows), min(columns), max(columns))


def naive_duplicates(max_length: int, *, keeps_equals: bool = False) -> list[str]:
    """Return the sequences that an earlier one with the same effect replaces, inside the same rectangle.

    No sequence contains another one. With `keeps_equals` the earlier one must be shorter.
    """
    known: dict[Effect, list[tuple[int, tuple[int, int, int, int]]]] = {}
    duplicates: list[str] = []
    for length in range(max_length + 1):
        for letters in itertools.product("ULRD", repeat=length):
            word = "".join(letters)
            if any(duplicate in word for duplicate in duplicates):
                continue
            effect, box = naive_effect(word)
            earlier = known.setdefault(effect, [])
            if any(
                (other < length or not keeps_equals)
                and o[0] >= box[0] and o[1] <= box[1] and o[2] >= box[2] and o[3] <= box[3]
                for other, o in earlier
            ):  # fmt: skip
                duplicates.append(word)
            else:
                earlier.append((length, box))
    return duplicates
