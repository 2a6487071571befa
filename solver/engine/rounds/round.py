"""What the kinds of rounds with databases share: their interface, and what several of them arrange."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.layout import Blocks
from pdb_core.ranking import label_bits_of
from pdb_core.types import Bytes, Int64s, UInt16s, UInt32s
from pdb_query.lookup import LookupTables
from solver.engine.engine import KeptArrays
from solver.engine.layout import EngineTables
from solver.engine.rounds.shared_kernels import (
    DIGIT_BITS,
    FIRST_BLOCK_MASK,
    FIRST_REGION,
    MAX_DIGITS,
    MAX_REGIONS,
    SET_BYTES,
    lehmer_digits,
)
from solver.engine.sums import DatabaseSums, Sum

# Returns the states and distances of units of boards, int64[m, units] each, by database, view and patterns.
Probe = Callable[[DatabaseSums, int, Sequence[int]], tuple[Int64s, Int64s]]


class Arranged(NamedTuple):
    """Tables of databases, arranged for a kind of rounds.

    round_tables  those of its kernels
    sums          int64[s, k], and the columns of nodes and lists: see `EngineTables`
    """

    round_tables: Any
    sums: Int64s
    n_columns: int
    list_columns: int
    board_column: int = 0


class Width(NamedTuple):
    """Largest number that kernels would store in a field, and the largest one that it holds.

    What a kind of rounds cannot search at all is a number that must be 0.
    """

    field: str
    largest: int
    most: int


@dataclass(frozen=True)
class Round:
    """Kind of rounds with databases.

    widths   yields the widths of its fields for boards of a size and some sums, of cheap ones first; each may rely on
             those before
    arrange  arranges the tables of sums for its kernels, which are kept with the arrays
    fill     fills what nodes, uint32[m, n_columns], have of boards, uint8[m, n_cells], and of their units
    """

    name: str
    widths: Callable[[BoardSize, Sequence[Sum]], Iterable[Width]]
    arrange: Callable[[BoardSize, Sequence[Sum], KeptArrays], Arranged]
    fill: Callable[[EngineTables, Any, Sequence[Sum], Bytes, Probe, UInt32s], None]

    def suits(self, size: BoardSize, sums: Sequence[Sum]) -> bool:
        """Return whether all numbers fit, so that it can search boards of a size with some sums."""
        return all(width.largest <= width.most for width in self.widths(size, sums))


def databases_of(sums: Sequence[Sum]) -> list[DatabaseSums]:
    """Return each database of some sums once."""
    return list({id(heuristic): heuristic for heuristic, _, _ in sums}.values())


def block_widths(
    size: BoardSize, tables: LookupTables, most_block: int = FIRST_BLOCK_MASK, most_regions: int = MAX_REGIONS
) -> Iterator[Width]:
    """Yield the widths of records of cell sets of tables in bits; by default those of `cell_set_records`."""
    for n_tiles in np.unique(tables.n_tiles).tolist():
        first_blocks = tables.blocks(size, n_tiles).first_block
        yield Width("first block of a cell set", int(first_blocks[-2]), most_block)
        yield Width("regions of a cell set", int(np.diff(first_blocks).max()), most_regions)


def units_of(
    tables: EngineTables, sums: Sequence[Sum], probe: Probe
) -> Iterator[tuple[Int64s, LookupTables, int, int, Int64s, Int64s]]:
    """Yield each unit of each sum: the row of the sum, the tables, the unit's number in the sum, its pattern, and its
    states and distances, int64[m] each.
    """
    for row, (heuristic, view, patterns) in zip(tables.sums, sums, strict=True):
        states, values = probe(heuristic, view, patterns)
        for unit, pattern in enumerate(patterns):
            yield row, heuristic.tables, unit, pattern, states[:, unit], values[:, unit]


def cells_and_digits(tables: LookupTables, pattern: int, states: Int64s, n_cells: int) -> tuple[Int64s, Int64s]:
    """Return the cell sets and the Lehmer digits of the states of a unit, int64[m] each."""
    n_tiles, digits = int(tables.n_tiles[pattern]), np.empty(len(states), dtype=np.int64)
    lehmer_digits(states >> n_cells, n_tiles, label_bits_of(n_tiles), digits)
    return states & ((1 << n_cells) - 1), digits


def first_digit(n_tiles: int) -> int:
    """Return the bit at which the Lehmer digits of a unit begin: the last one is at the same bit in all units."""
    return DIGIT_BITS * (MAX_DIGITS - n_tiles)


def jumps(width: int) -> UInt16s:
    """Return the changes of Lehmer digits when a tile jumps over less than `width` others: digits before XOR digits
    after.

    A tile at position a that passes the next one leaves digits p, r: r, p - 1 if p > r, else r + 1, p.
    """
    upward_half = 1 << (DIGIT_BITS * width + 1)
    jumps = np.zeros(2 * upward_half, dtype=np.uint16)
    for n in range(width):
        before = np.arange(1 << DIGIT_BITS * (n + 1))
        marker = 1 << DIGIT_BITS * (n + 1)
        for upward in range(2):
            digits = [(before >> DIGIT_BITS * i) & 7 for i in range(n + 1)]
            for a in range(n) if upward else range(n - 1, -1, -1):
                p, r = digits[a], digits[a + 1]
                digits[a], digits[a + 1] = np.where(p > r, r, r + 1), np.where(p > r, p - 1, p)
            after = sum((digit & 7) << DIGIT_BITS * i for i, digit in enumerate(digits))
            jumps[upward * upward_half + marker + before] = before ^ after
    return jumps


@lru_cache(maxsize=8)
def cell_set_records(blocks: Blocks) -> Bytes:
    """Return the records of the cell sets of a pattern: uint8[n_sets, SET_BYTES]."""
    records = np.zeros((blocks.n_sets, SET_BYTES), dtype=np.uint8)
    records[:, :4] = blocks.first_block[:-1].astype(np.uint32).view(np.uint8).reshape(blocks.n_sets, -1)
    # Occupied cells have a number, too: a blank is never there.
    numbers = blocks.region_numbers & (MAX_REGIONS - 1)
    n_cells = blocks.size.n_cells
    records[:, FIRST_REGION : FIRST_REGION + (n_cells + 1) // 2] = numbers[:, ::2]
    records[:, FIRST_REGION : FIRST_REGION + n_cells // 2] |= numbers[:, 1::2] << 4
    return records
