"""Prove that a pattern may use the table of another, by code that shares nothing with what found it.

A cell map that takes neighbours to neighbours takes moves to moves. If it also takes the pattern's goal, its tiles'
cells and a place of the blank, to a state that is as far from everything as the other's goal, which it is where the
blank can go from one place to the other at no cost, then it takes each state to one of the same distance. So what
`deep_check` proves of the other's table holds of the pattern.
"""

from pdb_core.cost import Cost
from pdb_core.errors import TableFileDamagedError
from pdb_core.puzzle import BLANK, Board, BoardSize


def prove_use(
    size: BoardSize,
    goal: Board,
    tiles: tuple[int, ...],
    first_tiles: tuple[int, ...],
    cell_map: tuple[int, ...],
    cost: Cost,
) -> None:
    """Prove that the distances of the pattern `tiles` are those of `first_tiles` with cells mapped by `cell_map`.

    Raises `TableFileDamagedError` where they need not be.
    """
    n = size.n_cells
    pairs = {(cell, near) for cell in range(n) for near in size.neighbours[cell]}
    keeps_moves = sorted(cell_map) == list(range(n)) and {(cell_map[a], cell_map[b]) for a, b in pairs} == pairs
    taken = {goal.index(tile) for tile in first_tiles}
    if not keeps_moves or {cell_map[goal.index(tile)] for tile in tiles} != taken:
        raise _wrong_use(tiles, first_tiles)
    start, end = cell_map[goal.index(BLANK)], goal.index(BLANK)
    reached = {start}
    if cost == "additive":
        for _ in range(n):  # a way visits each cell once at most
            reached |= {b for a, b in pairs if a in reached and b not in taken}
    if end not in reached:
        raise _wrong_use(tiles, first_tiles)


def _wrong_use(tiles: tuple[int, ...], first_tiles: tuple[int, ...]) -> TableFileDamagedError:
    one, other = (",".join(map(str, pattern)) for pattern in (tiles, first_tiles))
    return TableFileDamagedError(
        f"pattern {one} has other distances than pattern {other}, whose table it uses; rebuild it with pdb build"
    )
