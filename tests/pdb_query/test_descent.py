"""Lookups in tables in bits: equal to a search of all states, and finite in tables with any content."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
import pytest

from pdb_core.encoding import Cost
from pdb_core.errors import TableFileDamagedError
from pdb_core.puzzle import BoardSize, Tiles, blank_last, parse_size
from pdb_core.symmetry import mappings_between
from pdb_query import Database, open_database
from tests.naive import boards_and_tables as naive
from tests.naive.standard_tables import naive_every_move_distances
from tests.solving import share
from tests.tables import table_file

# Each of these lists all states, so cache the result.
additive_distances = lru_cache(naive.naive_pattern_distances)
every_move_distances = lru_cache(naive_every_move_distances)


def naive_values(boards: list[Tiles], partition: str, size: BoardSize, cost: Cost) -> list[list[int]]:
    """Return the distance of each pattern in each board, from lists of all of them."""
    patterns = [tuple(map(int, names.split(","))) for names in partition.split("/")]
    search = every_move_distances if cost == "every-move" else additive_distances
    distances = [search(size, blank_last(size), tiles) for tiles in patterns]

    @cache
    def region_of(blank: int, cells: frozenset[int]) -> object:
        return blank if cost == "every-move" else naive.naive_region(blank, cells, size)

    values = []
    for board in boards:
        blank = board.index(0)
        places = [tuple(board.index(tile) for tile in tiles) for tiles in patterns]
        pairs = zip(distances, places, strict=True)
        values.append([known[cells, region_of(blank, frozenset(cells))] for known, cells in pairs])
    return values


def every_board(size: BoardSize) -> list[Tiles]:
    return list(naive.naive_distances(size, blank_last(size)))


@contextmanager
def with_table_bytes(database: Database, content: npt.NDArray[np.uint8]) -> Iterator[Database]:
    """Replace the memory of a database by other bytes for a while."""
    tables = database.lookup_tables
    content = content.copy()
    content.flags.writeable = False
    database._tables = tables._replace(memory=content)
    yield database
    database._tables = tables


@pytest.mark.tiny
@pytest.mark.parametrize("cost", ["additive", "every-move"])
@pytest.mark.parametrize(
    ("partition", "size"), [("1,2,3", "2x2"), ("1/2,3", "2x2"), ("1,2/3,4,5", "3x2"), ("1,2,3,4/5", "2x3")]
)
def test_distances_of_every_tiny_board_are_those_of_a_search(partition: str, size: str, cost: Cost) -> None:
    assert_equal_to_naive(partition, parse_size(size), cost)


@pytest.mark.parametrize("cost", ["additive", "every-move"])
def test_distances_of_every_3x3_board_are_those_of_a_search(cost: Cost) -> None:
    assert_equal_to_naive("1,2,3/4,7/5,6,8", BoardSize(3, 3), cost)


def assert_equal_to_naive(partition: str, size: BoardSize, cost: Cost) -> None:
    goal = blank_last(size)
    boards = every_board(size)
    with open_database(table_file(partition, str(size), encoding="bits", cost=cost)) as database:
        values = database.probe_batch(np.array(boards, dtype=np.uint8)).values
    expected = naive_values(boards, partition, size, cost)
    numbers = {board: number for number, board in enumerate(boards)}
    for at, mapping in enumerate(mappings_between(goal, goal, size)):
        mapped = [expected[numbers[mapping.apply(board)]] for board in boards]
        assert values[:, at].tolist() == mapped


@pytest.mark.tiny
def test_cycle_in_a_damaged_table_ends_and_raises() -> None:
    """The tile 1 moves around four cells, and each of its moves seems to lead nearer to the goal."""
    size = parse_size("3x2")
    along = (lambda i, j: size.cell(j, i)) if size.width == 3 else (lambda i, j: size.cell(i, j))
    content_of = {along(1, 0): 1, along(2, 0): 1, along(2, 1): 0, along(1, 1): 0}
    with open_database(table_file("1/2,3,4,5", "3x2", encoding="bits"), load="copy") as database:
        content = database.lookup_tables.memory.copy()
        start = database.header.patterns[0].offset
        for cell in range(size.n_cells):
            # One tile: a block is a cell, and holds one bit.
            content[start + cell] = content_of.get(cell, 0)
        with with_table_bytes(database, content):
            boards = [board for board in every_board(size) if board.index(1) in content_of]
            for board in share(boards[:20], 5):
                with pytest.raises(TableFileDamagedError, match=r"3x2.* is damaged: .*; build it again") as raised:
                    database.probe(board)
                assert str(database.path) in str(raised.value)
            with pytest.raises(TableFileDamagedError):
                database.probe_batch(np.array(boards, dtype=np.uint8))


@pytest.mark.tiny
@pytest.mark.parametrize("cost", ["additive", "every-move"])
def test_tables_of_any_content_end(cost: Cost) -> None:
    size = parse_size("3x2")
    boards = np.array(every_board(size), dtype=np.uint8)[::3]
    with open_database(table_file("1,2/3,4,5", "3x2", encoding="bits", cost=cost), load="copy") as database:
        right = database.probe_batch(boards).values
        n_bytes = len(database.lookup_tables.memory)
        random = np.random.default_rng(4)
        contents = [np.zeros(n_bytes, dtype=np.uint8), np.full(n_bytes, 255, dtype=np.uint8)]
        contents += [random.integers(0, 256, n_bytes, dtype=np.uint8) for _ in range(3)]
        for content in contents:
            with with_table_bytes(database, content), pytest.raises(TableFileDamagedError, match="no distance"):
                database.probe_batch(boards)
        assert (database.probe_batch(boards).values == right).all()
