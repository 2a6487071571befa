"""Lookups for searches that users compile with numba."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize
from pdb_core.moves import blank_steps
from pdb_core.types import Int64s
from pdb_query.compiled_kernels import N_DIRECTIONS, begin, expand
from pdb_query.lookup import LookupTables, SumViews
from pdb_query.move_records import move_numbers
from pdb_query.records import MOVE_FIELDS, RECORD_FIELDS


class SearchTables(NamedTuple):
    """Arrays that the functions of `CompiledLookups` read. For units see `pdb_query.lookup`."""

    lookup: LookupTables
    unit_maps: Int64s  # see `SumViews`
    is_in_sum: npt.NDArray[np.bool_]  # see `SumViews`
    records: Int64s  # [units] where the record of each unit's pattern begins in `lookup.records`
    changed_units: Int64s  # the units that a move of each tile changes
    first_unit: Int64s  # [n_cells + 1] where those of each tile begin in `changed_units`
    neighbours: Int64s  # [n_cells, 4] the cell above, left, right and below; -1 for none
    moves: Int64s  # [n_cells, n_cells] where the record of the move from a cell to another begins in `lookup.moves`


class CompiledLookups(NamedTuple):
    """Lookups for functions that you compile with `numba.njit`: `tables, begin, expand, n = database.compiled()`.

    A search keeps an array for each node, int64[n]: the state of its board and the distances. Boards are uint8[n_cells]
    with 0 for the blank. The functions check nothing: for a board that is invalid or cannot be solved, they give wrong
    bounds or end the process. Only compiled code can call `expand`.

    Attributes
    ----------
    tables
        The first argument of both functions. It keeps the tables in memory.
    begin
        `begin(tables, board, node)` writes the node of any board, and returns its lower bound.
    expand
        `expand(tables, board, blank, last, node, children, bounds)` writes the nodes after the blank's moves up, left,
        right and down to `children`, int64[4, n], and their lower bounds to `bounds`, int64[4]. `blank` is the blank's
        cell, and `last` its last move, 0 to 3, which is not undone, or -1. The bound of a move that is not made is -1.
    n
        Length of a node.
    """

    tables: SearchTables
    begin: Callable[..., int]
    expand: Callable[..., None]
    n: int


def compiled_lookups(size: BoardSize, tables: LookupTables, views: SumViews) -> CompiledLookups:
    """Return the compiled lookups of boards with the goal of `views`."""
    n_sums, n_patterns = views.view_of_unit.shape
    tiles = [views.tiles(s, p) for s in range(n_sums) for p in range(n_patterns)]
    changed = [
        [unit for unit, own in enumerate(tiles) if tile in own or tables.counts_every_move]
        for tile in range(size.n_cells)
    ]
    neighbours, moves = np.full((size.n_cells, N_DIRECTIONS), -1), np.zeros((size.n_cells, size.n_cells), np.int64)
    steps = blank_steps(size)
    for (source, target), number in move_numbers(size).items():
        neighbours[source, steps.index(target - source)] = target
        moves[source, target] = number * MOVE_FIELDS
    search_tables = SearchTables(
        tables,
        views.unit_maps,
        views.is_in_sum,
        records=np.arange(len(tiles)) % n_patterns * RECORD_FIELDS,
        changed_units=np.concatenate(changed).astype(np.int64),
        first_unit=np.cumsum([0, *map(len, changed)]),
        neighbours=neighbours,
        moves=moves,
    )
    return CompiledLookups(search_tables, begin, expand, 2 * len(tiles))
