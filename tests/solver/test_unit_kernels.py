"""Kernels that move units."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from pdb_core.puzzle import BoardSize
from pdb_core.ranking import PatternIndex, arrangement_ranks
from pdb_core.ranking_kernels import cells_mask, pack_labels
from solver.engine.unit_kernels import move_unit
from solver.engine.unit_tables import (
    BOTH_CELLS,
    CELLS_BELOW,
    CELLS_BETWEEN,
    EDGE_FIELDS,
    IS_UPWARD,
    LABEL_BITS,
    UNIT_FIELDS,
)
from tests.naive import boards_and_tables as naive

Int64s = npt.NDArray[np.int64]


class MoveTables(NamedTuple):
    """Fields of `UnitTables` that `move_unit` reads, without a table, so that patterns may be of any size."""

    units: Int64s
    edges: Int64s
    n_cells: int


def moves_of(size: BoardSize) -> list[tuple[int, int]]:
    """(source, target) of every move of a tile."""
    return [(cell, near) for cell in range(size.n_cells) for near in naive.naive_neighbours(cell, size)]


def mask_of(cells: range | tuple[int, ...]) -> int:
    return sum(1 << cell for cell in cells)


def move_tables(size: BoardSize, n_tiles: int) -> MoveTables:
    """One pattern, the second of two units; one row of edges for each of `moves_of`, cell by cell."""
    units = np.zeros((2, UNIT_FIELDS), dtype=np.int64)
    units[:, LABEL_BITS] = -1, arrangement_ranks(n_tiles).label_bits
    edges = np.zeros((len(moves_of(size)), EDGE_FIELDS), dtype=np.int64)
    for row, (source, target) in zip(edges, moves_of(size), strict=True):
        lower, upper = sorted((source, target))
        row[BOTH_CELLS] = mask_of((lower, upper))
        row[CELLS_BETWEEN] = mask_of(range(lower + 1, upper))
        row[CELLS_BELOW] = mask_of(range(lower))
        row[IS_UPWARD] = target > source
    return MoveTables(units.reshape(-1), edges.reshape(-1), size.n_cells)


def word_of(cells: tuple[int, ...], size: BoardSize) -> int:
    """Return the state of a unit with its tiles on those cells, packed anew."""
    placement = np.array(cells, dtype=np.uint8)
    mask = int(cells_mask(placement))
    return mask | int(pack_labels(placement, mask, arrangement_ranks(len(cells)).label_bits)) << size.n_cells


def assert_moves_agree(tables: MoveTables, size: BoardSize, cells: tuple[int, ...]) -> None:
    before = word_of(cells, size)
    for edge, (source, target) in enumerate(moves_of(size)):
        if source in cells and target not in cells:
            after = tuple(target if cell == source else cell for cell in cells)
            assert move_unit(tables, before, 1, edge * EDGE_FIELDS) == word_of(after, size)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("size", "n_tiles"),
    [
        (BoardSize(2, 2), 1), (BoardSize(2, 4), 3), (BoardSize(3, 3), 4), (BoardSize(4, 4), 8), (BoardSize(4, 4), 9),
        (BoardSize(4, 3), 10), (BoardSize(5, 5), 9), (BoardSize(6, 6), 8), (BoardSize(5, 6), 6),
    ],
    ids=str,
)  # fmt: skip
def test_moved_words_equal_those_packed_anew(size: BoardSize, n_tiles: int) -> None:
    tables = move_tables(size, n_tiles)
    index = PatternIndex(size, n_tiles)
    ranks = np.random.default_rng(2).integers(0, index.n_entries, 300)
    for cells in index.unrank(ranks if index.n_entries > 3000 else np.arange(index.n_entries)).tolist():
        assert_moves_agree(tables, size, tuple(cells))
