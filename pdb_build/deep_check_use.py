"""Prove that a pattern may use the table of another, by code that shares nothing with what found it.

A cell map that takes neighbours to neighbours takes moves to moves. If it also takes the pattern's goal, its tiles'
cells and a place of the blank, to a state that is as far from everything as the other's goal, which it is where the
blank can go from one place to the other at no cost, then it takes each state to one of the same distance. So what
`deep_check` proves of the other's table holds of the pattern.
"""

from pdb_core.errors import TableFileDamagedError
from pdb_core.pattern import Pattern
from pdb_core.puzzle import BLANK
from pdb_core.table_spec import TableSpec


def prove_use(pattern: Pattern, table: TableSpec, cell_map: tuple[int, ...]) -> None:
    """Prove that the distances of `pattern` are those of `table` with cells mapped by `cell_map`.

    Raises `TableFileDamagedError` if they need not be.
    """
    goal, n = table.goal, table.size.n_cells
    pairs = {(cell, near) for cell in range(n) for near in table.size.neighbours[cell]}
    keeps_moves = sorted(cell_map) == list(range(n)) and {(cell_map[a], cell_map[b]) for a, b in pairs} == pairs
    taken = {goal.index(tile) for tile in table.pattern.tiles}
    if not keeps_moves or {cell_map[goal.index(tile)] for tile in pattern.tiles} != taken:
        raise _wrong_use(pattern, table.pattern)
    start, end = cell_map[goal.index(BLANK)], goal.index(BLANK)
    reached = {start}
    if table.cost == "additive":
        for _ in range(n):  # a way visits each cell once at most
            reached |= {b for a, b in pairs if a in reached and b not in taken}
    if end not in reached:
        raise _wrong_use(pattern, table.pattern)


def _wrong_use(pattern: Pattern, first: Pattern) -> TableFileDamagedError:
    return TableFileDamagedError(
        f"pattern {pattern} has other distances than pattern {first}, whose table it uses; rebuild it with pdb build"
    )
