"""Table files of any size that hold Manhattan distances near some boards, and holes elsewhere.

Manhattan distance is a lower bound that changes by one with each move, so a search with such tables is exact as long as
it reads no hole. A file of a terabyte takes a few megabytes of disk.

Lookups in bits descend to the goal, and may end at a state whose tiles block each other: see `descends`.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.encoding import Encoding, block_bytes
from pdb_core.layout import pattern_blocks
from pdb_core.pattern import Partition
from pdb_core.puzzle import Tiles, blank_last
from pdb_core.ranking import PatternIndex
from pdb_core.schema import PAGE_BYTES, Header, PatternHeader, user_block_bytes
from pdb_core.symmetry import mappings_between
from pdb_core.table_spec import DatabaseSpec, TableSpec
from pdb_core.types import BLANK, Bytes
from tests.naive import boards_and_tables as naive


@lru_cache(maxsize=10_000)
def boards_read(board: Tiles, length: int, size: BoardSize) -> frozenset[Tiles]:
    """Return the boards that IDA* with Manhattan distance may look up up to threshold `length`."""
    goal = blank_last(size)
    found, layer = {board}, {board}
    for g in range(length):
        layer = {
            near
            for parent in layer
            if g + naive.naive_manhattan(parent, goal, size) <= length
            for _tile, near in naive.naive_moves(parent, size)
        }
        found |= layer
    return frozenset(found)


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
        for root in _states(roots, entry.spec):
            states |= _descent(root, entry.spec) or set()
        _fill(content[entry.offset : entry.offset + entry.n_bytes], entry.spec, states)
    content.flush()
    return path


def _states(boards: Iterable[Tiles], spec: TableSpec) -> set[naive.PatternState]:
    """Return the states of a pattern on some boards and on their reflections."""
    states = set()
    for mapping in mappings_between(spec.goal, spec.goal, spec.size):
        for board in map(mapping.apply, boards):
            cells = tuple(map(board.index, spec.pattern.tiles))
            is_bits = spec.encoding == "bits"  # in bytes all regions have one entry
            states.add((cells, naive.naive_region(board.index(BLANK), cells, spec.size) if is_bits else frozenset()))
    return states


def _fill(table: Bytes, spec: TableSpec, states: set[naive.PatternState]) -> None:
    values = np.array([_value(state, spec) for state in states], dtype=np.int64)
    ranks = PatternIndex(spec.size, spec.n_tiles).rank(np.array([cells for cells, _ in states], dtype=np.uint8))
    if spec.encoding == "bytes":
        table[ranks] = values
        return
    blocks = pattern_blocks(spec.size, spec.n_tiles)
    cell_sets, orders = np.divmod(ranks, spec.n_orders)
    regions = blocks.region_numbers[cell_sets, [min(region) for _, region in states]]
    bits = (blocks.first_block[cell_sets].astype(np.int64) + regions) * 8 * block_bytes(spec.n_tiles) + orders
    np.bitwise_or.at(table, bits >> 3, (((values >> 1) & 1) << (bits & 7)).astype(np.uint8))


def _descent(start: naive.PatternState, spec: TableSpec) -> set[naive.PatternState] | None:
    """Return the states that a descent may look at; None if it may end before the goal, as in bytes."""
    found, expanded, waiting = {start}, set(), {start}
    while waiting:
        state = waiting.pop()
        expanded.add(state)
        neighbours = set(naive.naive_pattern_moves(state, spec.size))
        nearer = {near for near in neighbours if _value(near, spec) < _value(state, spec)}
        if not nearer and (_value(state, spec) or spec.goal.index(BLANK) not in state[1]):
            return None
        waiting |= nearer - expanded
        found |= neighbours
    return found


def _value(state: naive.PatternState, spec: TableSpec) -> int:
    goal_cells = map(spec.goal.index, spec.pattern.tiles)
    return sum(naive.cell_distance(*cells, spec.size) for cells in zip(state[0], goal_cells, strict=True))
