"""Table files of any size that hold Manhattan distances near some boards, and holes elsewhere.

Manhattan distance is a lower bound that changes by one with each move, so a search with such tables is exact as long as
it reads no hole. A file of a terabyte takes a few megabytes of disk.

Lookups in bits descend to the goal, and may end at a state whose tiles block each other: see `descends`.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import Encoding, block_bytes
from pdb_core.layout import pattern_blocks
from pdb_core.pattern import Partition
from pdb_core.puzzle import BLANK, BoardSize, Tiles, blank_last
from pdb_core.ranking import PatternIndex
from pdb_core.schema import PAGE_BYTES, Header, PatternHeader, user_block_bytes
from pdb_core.symmetry import mappings_between
from pdb_core.table_spec import DatabaseSpec, TableSpec
from tests.naive import boards_and_tables as naive

# The cells of a pattern's tiles, and the blank's cell.
_State = tuple[tuple[int, ...], int]


@lru_cache(maxsize=10_000)
def boards_read(board: Tiles, length: int, size: BoardSize) -> frozenset[Tiles]:
    """Return the boards that IDA* with Manhattan distance may look up up to threshold `length`."""
    goal = blank_last(size)
    found, layer = {board}, {board}
    for g in range(length):
        layer = {
            near
            for parent in layer
            if g + manhattan(parent, goal, size) <= length
            for _tile, near in naive.naive_moves(parent, size)
        }
        found |= layer
    return frozenset(found)


def manhattan(board: Tiles, goal: Tiles, size: BoardSize) -> int:
    return sum(_distance(board.index(tile), goal.index(tile), size) for tile in range(1, size.n_cells))


def descends(board: Tiles, partition: Partition) -> bool:
    """Return whether each descent from a board, in tables in bits, ends at the goal."""
    spec = DatabaseSpec(blank_last(partition.size), partition, "bits")
    return all(_descent(state, table) is not None for table in spec.tables for state in _states([board], table))


def sparse_table_file(
    path: Path, partition: Partition, encoding: Encoding, roots: Iterable[Tiles], boards: Iterable[Tiles]
) -> Path:
    """Write a table file that serves lookups of some boards and of searches from some roots, with reflection."""
    size = partition.size
    goal = blank_last(size)
    spec = DatabaseSpec(goal, partition, encoding)
    start = user_block_bytes(len(partition.patterns))
    entries = []
    for table in spec.tables:
        entries.append(PatternHeader(table, start, (table.n_entries,), hashlib.sha256().hexdigest()))
        start += -(-table.n_bytes // PAGE_BYTES) * PAGE_BYTES
    header = Header(spec, tuple(entries), start, hashlib.sha256().hexdigest())
    with path.open("xb") as file:
        file.write(header.to_user_block())
        file.truncate(header.file_bytes)
    content = np.memmap(path, dtype=np.uint8, mode="r+")
    for entry in header.patterns:
        states = _states(boards, entry.spec)
        if encoding == "bits":
            for root in _states(roots, entry.spec):
                states |= _descent(root, entry.spec) or set()
        _fill(content[entry.offset : entry.offset + entry.n_bytes], entry.spec, states)
    content.flush()
    return path


def _states(boards: Iterable[Tiles], spec: TableSpec) -> set[_State]:
    """Return the states of a pattern on some boards and on their reflections."""
    states = set()
    for mapping in mappings_between(spec.goal, spec.goal, spec.size):
        for board in boards:
            cell_of = {mapping.tile_map[tile]: mapping.cell_map[cell] for cell, tile in enumerate(board)}
            states.add((tuple(cell_of[tile] for tile in spec.pattern.tiles), cell_of[BLANK]))
    return states


def _fill(table: npt.NDArray[np.uint8], spec: TableSpec, states: set[_State]) -> None:
    values = np.array([_value(state, spec) for state in states], dtype=np.int64)
    ranks = PatternIndex(spec.size, spec.n_tiles).rank(np.array([cells for cells, _ in states], dtype=np.uint8))
    if spec.encoding == "bytes":
        table[ranks] = values
        return
    blocks = pattern_blocks(spec.size, spec.n_tiles)
    cell_sets, orders = np.divmod(ranks, blocks.n_orders)
    regions = blocks.region_numbers[cell_sets, [blank for _, blank in states]]
    bits = (blocks.first_block[cell_sets].astype(np.int64) + regions) * 8 * block_bytes(spec.n_tiles) + orders
    np.bitwise_or.at(table, bits >> 3, (((values >> 1) & 1) << (bits & 7)).astype(np.uint8))


def _descent(start: _State, spec: TableSpec) -> set[_State] | None:
    """Return the states that a descent may look at; None if it may end before the goal."""
    found, expanded, waiting = {start}, set(), {start}
    while waiting:
        state = waiting.pop()
        expanded.add(state)
        neighbours = set(_neighbours(state, spec.size))
        nearer = {near for near in neighbours if _value(near, spec) < _value(state, spec)}
        is_goal = _value(state, spec) == 0 and spec.goal.index(BLANK) in _region(state, spec.size)
        if not nearer and not is_goal:
            return None
        waiting |= nearer - expanded
        found |= neighbours
    return found


def _region(state: _State, size: BoardSize) -> set[int]:
    """Return the cells that the blank can reach while the tiles of the pattern stay."""
    cells, blank = state
    region, waiting = {blank}, [blank]
    while waiting:
        for near in size.neighbours[waiting.pop()]:
            if near not in region and near not in cells:
                region.add(near)
                waiting.append(near)
    return region


def _neighbours(state: _State, size: BoardSize) -> Iterator[_State]:
    cells, region = state[0], _region(state, size)
    for at, cell in enumerate(cells):
        for near in size.neighbours[cell]:
            if near in region:
                yield (*cells[:at], near, *cells[at + 1 :]), cell


def _value(state: _State, spec: TableSpec) -> int:
    pairs = zip(state[0], spec.pattern.tiles, strict=True)
    return sum(_distance(cell, spec.goal.index(tile), spec.size) for cell, tile in pairs)


def _distance(cell: int, other: int, size: BoardSize) -> int:
    (row, column), (other_row, other_column) = size.row_and_column(cell), size.row_and_column(other)
    return abs(row - other_row) + abs(column - other_column)
