"""Patterns as large as a build accepts, also those whose tables fit no test machine."""

import random
from itertools import islice
from pathlib import Path

import pytest

from pdb_core.board_size import parse_size
from pdb_core.encoding import Encoding
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import blank_last
from pdb_core.table_spec import most_pattern_tiles
from pdb_query import open_database
from solver import GraphSolver, Solver, replay
from tests import marked_rows
from tests.naive.boards_and_tables import naive_layers, naive_moves
from tests.sparse_tables import boards_read, descends, sparse_table_file

# Size | most tiles of a pattern; 7 are one less | encoding.
LARGEST = """
6x6 | 7 | bytes |
6x6 | 8 | bytes |
3x6 | 10 | bits |
5x5 | 9 | bytes |
4x6 | 9 | bits |
4x5 | 10 | bytes |
6x6 | 7 | bits | slow
"""


@pytest.mark.parametrize(("sides", "number", "encoding"), marked_rows(LARGEST))
def test_boards_are_solved_with_the_largest_patterns(
    sides: str, number: str, encoding: Encoding, tmp_path: Path
) -> None:
    size, n_tiles = parse_size(sides), int(number)
    assert n_tiles == most_pattern_tiles(size) - (n_tiles == 7)
    tiles = list(map(str, range(1, size.n_cells)))
    patterns = [",".join(tiles[first : first + n_tiles]) for first in range(0, len(tiles), n_tiles)]
    partition = parse_partition("/".join(patterns), size)
    goal = blank_last(size)
    lengths = {board: length for length, layer in enumerate(islice(naive_layers(size, goal), 11)) for board in layer}
    easy = random.Random(1).sample(sorted(lengths), len(lengths))
    boards = list(islice((board for board in easy if encoding == "bytes" or descends(board, partition)), 20))
    assert len(boards) == 20
    # The goal and its neighbours are looked up when a solver is made.
    roots = [goal, *(near for _tile, near in naive_moves(goal, size)), *boards]
    read = [boards_read(board, lengths[board], size) for board in boards]
    path = sparse_table_file(tmp_path / "a.h5", partition, encoding, roots, boards_read(goal, 2, size).union(*read))
    with open_database(path) as database:
        solver = Solver(database)
        graph_solver = GraphSolver(size, goal, algorithm="a-star", databases=[database])
        for board in boards:
            for solution in (solver.solve(board), graph_solver.solve(board)):
                assert (solution.length, solution.optimal) == (lengths[board], True)
                replay(board, solution.moves, goal, size)
