"""Lookups: distances of every board equal naive ones, and lookups in tables with any content end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.encoding import COSTS, Cost, Encoding
from pdb_core.errors import TableFileDamagedError
from pdb_core.puzzle import Board, Tiles, format_board
from pdb_core.types import Bytes
from pdb_query import Database, open_database
from tests import rows
from tests.naive import boards_and_tables as naive
from tests.naive.standard_tables import naive_every_move_distances
from tests.solving import S4, database_for, solvable_boards
from tests.tables import table_file

KINDS: list[tuple[Encoding, Cost]] = [("bytes", "additive"), ("bits", "additive"), ("bits", "every-move")]


def naive_distance(
    size: BoardSize, goal: Tiles, tiles: tuple[int, ...], encoding: Encoding, cost: Cost
) -> Callable[[Tiles], int]:
    """Return a function from boards to the distance of a pattern, which reads a list of all its states."""
    least = naive.naive_least_distances(size, goal, tiles)
    moves = naive_every_move_distances(size, goal, tiles) if cost == "every-move" else {}
    states = naive.naive_pattern_distances(size, goal, tiles)

    @cache
    def find(cells: tuple[int, ...], blank: int) -> int:
        if encoding == "bytes":
            return least[cells]
        return moves[cells, blank] if moves else states[cells, naive.naive_region(blank, cells, size)]

    return lambda board: find(tuple(map(board.index, tiles)), board.index(0))


def assert_equal_to_naive(partition: str, goal_text: str, encoding: Encoding, cost: Cost, n_boards: int = 0) -> None:
    """Compare lookups of every board, or of `n_boards` random ones, for the goal and for the goal read backwards."""
    goal = Board(goal_text)
    combine = max if cost == "every-move" else sum
    with database_for(partition, str(goal.size), format_board(goal, goal.size), encoding, cost) as database:
        patterns = [
            naive_distance(goal.size, goal, pattern.tiles, encoding, cost) for pattern in database.partition.patterns
        ]
        for asked in (goal, goal[::-1]):
            mappings = database.mappings(asked)
            distances = {} if n_boards else naive.naive_distances(goal.size, asked)
            boards = list(distances) or solvable_boards(goal.size, n_boards, 1, asked)
            batch = database.probe_batch(np.array(boards, dtype=np.uint8), asked)
            for at, board in enumerate(boards):
                images = [mapping.apply(board) for mapping in mappings]
                values = [[distance_of(image) for distance_of in patterns] for image in images]
                assert batch.values[at].tolist() == values
                sums = [combine(of[p] for p in places) for of in values for places in database.partition.sums]
                assert batch.sums[at].tolist() == sums
                assert batch.h[at] == max(sums) <= distances.get(board, 31)


# Partition | goal. In 1,2/4,5/3 patterns share tables.
TINY = """
1,2,3 | 1 2/3 0
1/2,3 | 1 2/3 0
1,2/3,4,5 | 1 2 3/4 5 0
1,2,3,4/5 | 1 2/3 4/5 0
1,2/4,5/3 | 1 2 3/4 5 0
1,2/3,4/5 | 1 0 2/3 5 4
"""


@pytest.mark.tiny
@pytest.mark.parametrize(("encoding", "cost"), KINDS)
@pytest.mark.parametrize(("partition", "goal"), rows(TINY))
def test_lookups_of_every_tiny_board_equal_naive(partition: str, goal: str, encoding: Encoding, cost: Cost) -> None:
    assert_equal_to_naive(partition, goal, encoding, cost)


@pytest.mark.parametrize(
    ("partition", "goal", "encoding", "cost"),
    rows("""
1,2,3/4,7/5,6,8 | 1 2 3/4 5 6/7 8 0 | bytes | additive
1,2,3/4,7/5,6,8 | 1 2 3/4 5 6/7 8 0 | bits | additive
1,2,3/4,7/5,6,8 | 1 2 3/4 5 6/7 8 0 | bits | every-move
1,2/3,6/4,7/5,8 | 1 2 3/4 5 6/7 8 0 | bytes | additive
1,2/3,6/4,7/5,8 | 1 2 3/4 5 6/7 8 0 | bits | additive
1,2/3,6/4,7/5,8 | 1 2 3/4 5 6/7 8 0 | bits | every-move
1,2,3/4,5,6/7,8 | 1 0 4/2 7 5/3 8 6 | bits | additive
1,2,3,4/5,6,7,8+1,2,3,4/5,6/7,8+1,2/3,4,5/6,7,8 | 1 2 3/4 5 6/7 8 0 | bits | additive
1,2,3,4/5,6/7,8+1,4,7/2,3,5/6,8 | 1 2 3/4 0 5/6 7 8 | bits | additive
"""),
)
def test_lookups_of_3x3_boards_equal_naive(partition: str, goal: str, encoding: Encoding, cost: Cost) -> None:
    assert_equal_to_naive(partition, goal, encoding, cost, n_boards=6000)


def test_batch_is_looked_up_in_slices_by_threads() -> None:
    with database_for("663", "4x4", encoding="bits") as database:
        boards = np.array(solvable_boards(S4, 500, 3) * 200, dtype=np.uint8)
        expected = [database.probe(board).h for board in boards[:500]] * 200
        for n_threads in (1, 3):
            assert database.probe_batch(boards, n_threads=n_threads).h.tolist() == expected
        with pytest.raises(ValueError, match="n_threads is 0"):
            database.probe_batch(boards, n_threads=0)


# Tables with any content


@contextmanager
def with_table_bytes(database: Database, content: Bytes) -> Iterator[Database]:
    """Replace the memory of a database by other bytes for a while."""
    tables = database.lookup_tables
    content = content.copy()
    content.flags.writeable = False
    database._tables = tables._replace(memory=content)
    yield database
    database._tables = tables


def every_board(size: BoardSize) -> list[Tiles]:
    return list(naive.naive_distances(size, (*range(1, size.n_cells), 0)))


@pytest.mark.tiny
@pytest.mark.parametrize("cost", COSTS)
def test_tables_of_any_content_end(cost: Cost) -> None:
    boards = np.array(every_board(parse_size("3x2")), dtype=np.uint8)[::3]
    with open_database(table_file("1,2/3,4,5", "3x2", encoding="bits", cost=cost), load="copy") as database:
        n_bytes = len(database.lookup_tables.memory)
        random = np.random.default_rng(4).integers(0, 256, n_bytes, dtype=np.uint8)
        for content in (np.full(n_bytes, 0, np.uint8), np.full(n_bytes, 255, np.uint8), random):
            with with_table_bytes(database, content), pytest.raises(TableFileDamagedError, match="no distance"):
                database.probe_batch(boards)
