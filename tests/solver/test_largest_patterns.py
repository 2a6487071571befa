"""Patterns as large as a build accepts, whose tables fit no test machine.

A sparse file of up to terabytes holds Manhattan distances of the boards near the goal, and holes elsewhere. Near the
goal, they are the distances of patterns, so searches are exact as long as they read no hole.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from pdb_core.board_size import parse_size
from pdb_core.encoding import Encoding, block_bytes
from pdb_core.layout import pattern_blocks
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import Tiles, blank_last
from pdb_core.ranking import PatternIndex
from pdb_core.schema import PAGE_BYTES, Header, PatternHeader, user_block_bytes
from pdb_core.symmetry import mappings_between
from pdb_core.table_spec import DatabaseSpec, TableSpec, most_pattern_tiles
from pdb_core.types import Bytes
from pdb_query import open_database
from solver.graph_search.graph_search import GraphSolver
from solver.solve import Solver
from tests.naive import boards_and_tables as naive

# Boards up to this length are solved. A search from one of them reads boards up to twice as far from the goal.
LENGTH = 4


def value_of(state: naive.PatternState, spec: TableSpec) -> int:
    goal_cells = map(spec.goal.index, spec.pattern.tiles)
    return sum(naive.cell_distance(*cells, spec.size) for cells in zip(state[0], goal_cells, strict=True))


def states_of(boards: Iterable[Tiles], spec: TableSpec) -> set[naive.PatternState]:
    """Return the states of boards and of their reflections."""
    mappings = mappings_between(spec.goal, spec.goal, spec.size)
    images = [mapping.apply(board) for board in boards for mapping in mappings]
    placed = {(tuple(map(board.index, spec.pattern.tiles)), board.index(0)) for board in images}
    return {(cells, naive.naive_region(blank, cells, spec.size)) for cells, blank in placed}


def descents(board: Tiles, spec: TableSpec) -> set[naive.PatternState]:
    """Return the states that a lookup of a board in bits may read; none if tiles block each other on the way."""
    found, waiting = set(), states_of([board], spec)
    while waiting:
        state = waiting.pop()
        near = set(naive.naive_pattern_moves(state, spec.size))
        lower = {at for at in near if value_of(at, spec) < value_of(state, spec)}
        if not lower and (value_of(state, spec) or spec.goal.index(0) not in state[1]):
            return set()
        waiting |= lower - found
        found |= near | {state}
    return found


def fill(table: Bytes, spec: TableSpec, states: set[naive.PatternState]) -> None:
    values = np.array([value_of(state, spec) for state in states])
    ranks = PatternIndex(spec.size, spec.n_tiles).rank(np.array([cells for cells, _ in states], dtype=np.uint8))
    if spec.encoding == "bytes":
        table[ranks] = values
        return
    blocks = pattern_blocks(spec.size, spec.n_tiles)
    cell_sets, orders = np.divmod(ranks, spec.n_orders)
    regions = blocks.region_numbers[cell_sets, [min(region) for _, region in states]]
    bits = (blocks.first_block[cell_sets].astype(np.int64) + regions) * 8 * block_bytes(spec.n_tiles) + orders
    np.bitwise_or.at(table, bits >> 3, (((values >> 1) & 1) << (bits & 7)).astype(np.uint8))


def write_sparse_file(path: Path, spec: DatabaseSpec, searched: Iterable[Tiles], read: Iterable[Tiles]) -> None:
    """Write a table file for searches of some boards, which read others."""
    start, digest, entries = user_block_bytes(len(spec.tables)), hashlib.sha256().hexdigest(), []
    for table in spec.tables:
        entries.append(PatternHeader(table, start, (table.n_entries,), digest))
        start += -(-table.n_bytes // PAGE_BYTES) * PAGE_BYTES
    header = Header(spec, tuple(entries), start, digest)
    with path.open("xb") as file:
        file.write(header.to_user_block())
        file.truncate(header.file_bytes)
    content = np.memmap(path, dtype=np.uint8, mode="r+")
    for entry, table in zip(entries, spec.tables, strict=True):
        states = states_of(read, table).union(*(descents(board, table) for board in searched))
        fill(content[entry.offset : entry.offset + table.n_bytes], table, states)
    content.flush()


@pytest.mark.parametrize(
    ("sides", "n_tiles", "encoding"),
    [("6x6", 8, "bytes"), ("4x5", 10, "bytes"), ("3x6", 10, "bits"), ("4x6", 9, "bits")],
)
def test_boards_are_solved_with_the_largest_patterns(
    sides: str, n_tiles: int, encoding: Encoding, tmp_path: Path
) -> None:
    size = parse_size(sides)
    assert n_tiles == most_pattern_tiles(size)
    tiles = list(map(str, range(1, size.n_cells)))
    patterns = [",".join(tiles[first : first + n_tiles]) for first in range(0, len(tiles), n_tiles)]
    goal, path = blank_last(size), tmp_path / "a.h5"
    spec = DatabaseSpec(goal, parse_partition("/".join(patterns), size), encoding)
    distances = naive.naive_distances(size, goal, 2 * LENGTH + 1)
    lengths = {
        board: length
        for board, length in distances.items()
        if length <= LENGTH and (encoding == "bytes" or all(descents(board, table) for table in spec.tables))
    }
    assert len(lengths) > 20
    write_sparse_file(path, spec, lengths, distances)
    with open_database(path) as database:
        solver = Solver(database)
        graph_solver = GraphSolver(size, goal, algorithm="a-star", databases=[database])
        for board, length in lengths.items():
            assert solver.solve(board).length == graph_solver.solve(board).length == length
