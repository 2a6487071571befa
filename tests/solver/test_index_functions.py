"""All functions that find the entry of a placement in a table agree with lists of all placements and blocks.

States of patterns that move equal those computed anew. test_largest_patterns.py has larger patterns.
"""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest

from pdb_core.encoding import Encoding
from pdb_core.puzzle import BoardSize, Tiles, parse_size
from pdb_query import Database
from pdb_query.lookup import probe_boards
from pdb_query.lookup_kernels import move_state, state_address
from pdb_query.records import MOVE_FIELDS, RECORD_FIELDS, move_numbers
from solver.engine.unit_tables import DatabaseSums, sums_of, unit_tables
from tests.naive import boards_and_tables as naive
from tests.solving import database_for, solvable_boards


@lru_cache
def naive_blocks(size: BoardSize, n_tiles: int) -> dict[tuple[tuple[int, ...], int], int]:
    """Number the blocks in the order of docs/format.md, by cell set and lowest cell of the region."""
    blocks = []
    for cells in itertools.combinations(range(size.n_cells), n_tiles):
        free = [cell for cell in range(size.n_cells) if cell not in cells]
        regions = {min(naive.naive_region(cell, cells, size)) for cell in free}
        blocks += [(cells, region) for region in sorted(regions)]
    return {block: number for number, block in enumerate(blocks)}


def naive_entry(size: BoardSize, board: Tiles, tiles: tuple[int, ...], encoding: Encoding) -> int:
    """Return the index of a pattern's entry: that of a byte, or that of a bit."""
    cells = tuple(board.index(tile) for tile in tiles)
    rank = naive.naive_rank(cells, size.n_cells)
    if encoding == "bytes":
        return rank
    n_orders = math.factorial(len(tiles))
    region = min(naive.naive_region(board.index(0), cells, size))
    block = naive_blocks(size, len(tiles))[tuple(sorted(cells)), region]
    return block * 8 * -(-n_orders // 8) + rank % n_orders


def placed(database: Database, boards: list[Tiles]) -> np.ndarray:
    """Return the state of each pattern of each board, without symmetries."""
    views = database.views(reflects=False)
    return probe_boards(np.array(boards, dtype=np.uint8), database.lookup_tables, views)[0][:, 0]


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ["bytes", "bits"])
@pytest.mark.parametrize(
    ("partition", "size_text"), [("1,2,5/3,4,6/7,8", "3x3"), ("1,2,3,4/5", "2x3"), ("1,2,3/4,5,6,7/8,9", "5x2")]
)
def test_all_index_functions_agree(partition: str, size_text: str, encoding: Encoding) -> None:
    size = parse_size(size_text)
    with database_for(partition, size_text, encoding=encoding) as database:
        tables = database.lookup_tables
        units = unit_tables(size, sums_of([DatabaseSums(tables, database.views())]))
        boards = solvable_boards(size, database.goal, 20, 1)
        states = placed(database, boards)
        for row, board in enumerate(boards):
            for index, entry in enumerate(database.header.patterns):
                tiles = entry.pattern.tiles
                expected = naive_entry(size, board, tiles, encoding)
                # Lookups by addresses in the tables' memory, and searches by absolute ones.
                for read_by, first_byte in ((tables, 0), (units, tables.memory.ctypes.data)):
                    address = state_address(read_by, index * RECORD_FIELDS, int(states[row, index]), board.index(0))
                    first_bit = 8 * (first_byte + entry.offset)
                    assert address - first_bit == (expected if encoding == "bits" else 8 * expected)
            for tile, after in naive.naive_moves(board, size):
                (index,) = (i for i, entry in enumerate(database.header.patterns) if tile in entry.pattern.tiles)
                move = move_numbers(size)[board.index(tile), board.index(0)] * MOVE_FIELDS
                moved = move_state(tables, index * RECORD_FIELDS, move, int(states[row, index]))
                assert moved == placed(database, [after])[0, index]
