"""Rows of tables: as in a file, or with a row for each arrangement, for searches of boards of up to 16 cells.

A table file has a row of bits for each block: its arrangements. A tile that slides sideways changes the block and not
the arrangement. So with a row for each arrangement, the bits of all blocks, the next bit is in the row of the last one,
and often in its cache line.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pdb_core.bit_kernels import transpose_rows
from pdb_core.board_size import BoardSize
from pdb_core.errors import MemoryLimitError
from pdb_core.resources import available_cores
from pdb_core.types import Bytes, Int64s, UInt64s
from pdb_query import records
from pdb_query.lookup import LookupTables
from pdb_query.private_memory import private_memory

# Blocks that are read together: their bits fill a cache line of each row that is written.
_GROUP = 512


class BitRows(NamedTuple):
    """Tables of a database. In bits, that of a state of pattern p is first_bits[p] + row * row_bits[p] + column.

    memory                        returns the memory that holds them, uint8[n]
    first_bits, row_bits, n_rows  int64[p]
    """

    memory: Callable[[], Bytes]
    first_bits: Int64s
    row_bits: Int64s
    n_rows: Int64s

    @property
    def last_bit(self) -> int:
        """The largest bit address in the rows."""
        return int((self.first_bits + self.row_bits * self.n_rows).max()) - 1


def block_rows(size: BoardSize, tables: LookupTables) -> BitRows:
    """Return tables as in a file: with a row for each block, in bytes for each cell set."""
    fields, n_tiles = tables.records.reshape(-1, records.RECORD_FIELDS), tables.n_tiles.tolist()
    n_rows = [tables.blocks(size, n).n_blocks if tables.is_bits else math.comb(size.n_cells, n) for n in n_tiles]
    return BitRows(lambda: tables.memory, fields[:, records.TABLE_BIT], fields[:, records.BLOCK_BITS], np.array(n_rows))


def arrangement_rows(size: BoardSize, tables: LookupTables, path: Path) -> BitRows:
    """Return tables in bits with a row for each arrangement, in which blocks are the columns. `path` is their file.

    The memory is a copy in huge pages, made at its first call, which raises `MemoryLimitError` if there is not enough.
    """
    pattern_records = tables.records.reshape(-1, records.RECORD_FIELDS)
    # Some patterns use the table of another.
    _, firsts, table_of = np.unique(pattern_records[:, records.TABLE_BIT], return_index=True, return_inverse=True)
    n_blocks = [tables.blocks(size, int(tables.n_tiles[p])).n_blocks for p in firsts]
    row_words = np.array([-(-n // _GROUP) * _GROUP // 64 for n in n_blocks])
    n_rows = np.array([math.factorial(tables.n_tiles[p]) for p in firsts])
    ends = np.cumsum(row_words * n_rows)
    starts = ends - row_words * n_rows

    @cache
    def copy() -> Bytes:
        try:
            words = private_memory(8 * int(ends[-1]), huge=True).view(np.uint64)
        except (MemoryError, OSError) as error:
            raise MemoryLimitError(
                f"{path} is in memory, and a second copy for fast searches does not fit; use the load mode map"
            ) from error
        with ThreadPoolExecutor(available_cores()) as pool:
            for p, n, start, end, width in zip(firsts, n_blocks, starts, ends, row_words, strict=True):
                begin, block_bytes = pattern_records[p, [records.TABLE_BIT, records.BLOCK_BITS]] // 8
                blocks = tables.memory[begin : begin + n * block_bytes].reshape(n, block_bytes)
                rows = words[start:end].reshape(-1, width)

                def write(first: int, blocks: Bytes = blocks, rows: UInt64s = rows) -> None:
                    part = blocks[first : first + _GROUP]
                    group = np.zeros((_GROUP, -(-part.shape[1] // 8) * 8), dtype=np.uint8)
                    group[: len(part), : part.shape[1]] = part
                    transpose_rows(group.view(np.uint64), rows, first // 64)

                list(pool.map(write, range(0, n, _GROUP)))
        return words.view(np.uint8)

    return BitRows(copy, 64 * starts[table_of], 64 * row_words[table_of], n_rows[table_of])
