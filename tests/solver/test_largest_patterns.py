"""Patterns as large as a build accepts, also those whose tables fit no test machine."""

import random
import warnings
from collections import Counter
from functools import lru_cache
from itertools import islice
from math import comb
from pathlib import Path

import pytest

from pdb_build import plan_build
from pdb_core.encoding import Encoding
from pdb_core.errors import PartitionError
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import BoardSize, Tiles, blank_last
from pdb_core.table_spec import most_pattern_tiles
from pdb_query import open_database
from solver import GraphSolver, Solver, replay
from tests.naive import boards_and_tables as naive
from tests.sparse_tables import boards_read, descends, sparse_table_file

_LONGEST = 10
# Cell sets of a table in bits that are listed in a second.
_MOST_SETS = 9_000_000


@lru_cache
def easy_boards(size: BoardSize) -> dict[Tiles, int]:
    """Return boards at most `_LONGEST` moves from the goal, in random order, and the lengths of optimal solutions."""
    lengths, layer = {blank_last(size): 0}, [blank_last(size)]
    for length in range(1, _LONGEST + 1):
        near = {board for parent in layer for _tile, board in naive.naive_moves(parent, size)}
        layer = sorted(near - lengths.keys())
        lengths |= dict.fromkeys(layer, length)
    boards = sorted(lengths)
    random.Random(str(size)).shuffle(boards)
    return {board: lengths[board] for board in boards}


def random_partition(size: BoardSize, rng: random.Random) -> str:
    tiles = list(range(1, size.n_cells))
    rng.shuffle(tiles)
    patterns = []
    while tiles:
        n = rng.choice((rng.randint(1, 10), most_pattern_tiles(size)))
        patterns.append(sorted(tiles[:n]))
        tiles = tiles[n:]
    return "/".join(",".join(map(str, pattern)) for pattern in patterns)


def check(text: str, size: BoardSize, encoding: Encoding, path: Path, n_boards: int) -> str:
    """Plan the build of a partition. If it is accepted, solve easy boards by IDA* and A*. Return the outcome.

    A partition in bits is not tried if too few boards can be looked up, see `sparse_tables`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan_build(size, blank_last(size), parse_partition(text, size), path, encoding=encoding)
    except PartitionError:
        return "refused"
    partition = parse_partition(text, size)
    boards = islice(
        (board for board in easy_boards(size) if encoding == "bytes" or descends(board, partition)), n_boards
    )
    lengths = {board: easy_boards(size)[board] for board in boards}
    if len(lengths) < n_boards:
        return "not tried"
    # The goal and its neighbours are looked up when a solver is made.
    goal = blank_last(size)
    roots = [goal, *(near for _tile, near in naive.naive_moves(goal, size)), *lengths]
    read = [boards_read(board, length, size) for board, length in lengths.items()]
    sparse_table_file(path, partition, encoding, roots, boards_read(goal, 2, size).union(*read))
    with open_database(path) as database:
        solver = Solver(database)
        graph_solver = GraphSolver(size, goal, search="a-star", databases=[database])
        for board, length in lengths.items():
            for solution in (solver.solve(board), graph_solver.solve(board)):
                assert solution.tiles is not None
                assert (solution.length, solution.is_optimal) == (length, True), (text, encoding, board)
                replay(board, solution.tiles, goal, size)
    path.unlink()
    return "solved"


@pytest.mark.parametrize(
    ("size", "n_tiles", "encoding"),
    [
        (BoardSize(6, 6), 7, "bytes"), (BoardSize(6, 6), 8, "bytes"), (BoardSize(3, 6), 10, "bits"),
        (BoardSize(5, 5), 9, "bytes"), (BoardSize(4, 6), 9, "bits"), (BoardSize(4, 5), 10, "bytes"),
        pytest.param(BoardSize(6, 6), 7, "bits", marks=pytest.mark.slow),
    ],
    ids=str,
)  # fmt: skip
def test_boards_are_solved_with_the_largest_patterns(
    size: BoardSize, n_tiles: int, encoding: Encoding, tmp_path: Path
) -> None:
    first, rest = range(1, n_tiles + 1), range(n_tiles + 1, size.n_cells)
    text = "/".join([",".join(map(str, first)), *map(str, rest)])
    assert check(text, size, encoding, tmp_path / "a.h5", 20) == "solved"


def test_larger_patterns_are_refused(tmp_path: Path) -> None:
    size = BoardSize(6, 6)
    tiles = ",".join(map(str, range(1, 10)))
    text = f"{tiles}/" + "/".join(map(str, range(10, 36)))
    with pytest.raises(PartitionError, match="has 9 tiles; on a 6x6 board a pattern has at most 8, split it"):
        plan_build(size, blank_last(size), parse_partition(text, size), tmp_path / "a.h5")


@pytest.mark.slow
def test_random_partitions_are_solved_or_refused(tmp_path: Path) -> None:
    rng = random.Random(1)
    counts: Counter[str] = Counter()
    while counts.total() - counts["not tried"] < 100:
        size = rng.choice(
            [BoardSize(6, 6)] * 3 + [BoardSize(*sides) for sides in ((3, 6), (4, 5), (4, 6), (5, 5), (5, 6))]
        )
        text = random_partition(size, rng)
        n_tiles = max(len(pattern.split(",")) for pattern in text.split("/"))
        encoding: Encoding = rng.choice(("bits", "bytes")) if comb(size.n_cells, n_tiles) < _MOST_SETS else "bytes"
        counts[check(text, size, encoding, tmp_path / "a.h5", 50)] += 1
    print(dict(counts))
    assert counts["refused"] >= 10
    assert counts["solved"] >= 50
