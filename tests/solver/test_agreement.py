"""All searches, tables, encodings and threads find the same lengths: those of breadth-first search on small boards.

A few boards of each kind in every run, many with --slow.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.encoding import Cost, Encoding
from pdb_core.puzzle import Tiles, parse_goal, random_boards
from pdb_query import Database, read_instances
from solver import GraphSolver, HeuristicSolver, Solution, Solver, find_suboptimal_solution
from solver.engine.worker_pool import in_parallel
from solver.graph_search.graph_search import GRAPH_SEARCHES
from tests import marked_rows, rows
from tests.naive.boards_and_tables import naive_distances
from tests.solving import database_for, divided_early, solver_for, walked


class Kind(NamedTuple):
    """Boards of a size and goal, and the tables they are solved with.

    bits, bytes  partitions of additive tables, in either encoding
    every_move   a partition of tables in which every move counts; alone they prune too little for large boards
    n_few, n_all  how many boards in every run, and with --slow; 0: only with --slow
    n_moves      the longest random walk from the goal that makes a board; 0: any board
    table_goal   the goal of the tables, if a symmetry maps it to the goal
    """

    size: str
    goal_text: str
    bits: str
    bytes: str
    every_move: str
    n_few: int
    n_all: int
    n_moves: int
    table_goal: str

    @property
    def board_size(self) -> BoardSize:
        return parse_size(self.size)

    @property
    def goal(self) -> Tiles:
        return parse_goal(self.goal_text, self.board_size)


# The size, with a word that tells kinds apart, and the fields.
KINDS = {
    name: Kind(name.split()[0], *texts, int(few), int(most), int(n_moves), table_goal)
    for name, *texts, few, most, n_moves, table_goal in rows("""
2x2 | blank-last | 1,2,3 | 1,2/3 | 1,2,3 | 8 | 200 | 0 |
2x3 | blank-last | 1,2,3/4,5 | 1,2,3,4,5 | 3/1,5 | 0 | 200 | 0 |
3x2 | snail | 1,2,3,4,5 | 1,2/3,4,5 | 1/4 | 8 | 200 | 0 |
3x3 | blank-last | 8 | 1,2,5/3,4,6/7,8 | 1,2,3,4/5,6,7,8 | 8 | 4500 | 0 |
3x3 snail | snail | 1,2,3,8/4,5,6,7 | 1,2,5/3,4,6/7,8 | 1,2,3,4,5 | 8 | 1000 | 0 |
3x3 edge | 1 2 3/4 5 6/7 0 8 | 1,2,5,6/3,4,7,8 | 1,2,5/3,4,6/7,8 | | 0 | 200 | 0 |
3x3 corner | 1 2 0/4 5 3/7 8 6 | 8 | 1,2,5/3,4,6/7,8 | | 8 | 200 | 0 | blank-last
2x4 | blank-last | 1,2,3/4,5,6,7 | 1,2,3,4,5,6,7 | | 0 | 200 | 0 |
5x2 | blank-last | 1,2,6,7/3,4,5,8,9 | 1,2,3/4,5,6/7,8,9 | 1,2,3,4,5,6 | 4 | 500 | 0 |
4x3 | blank-last | 1,2,5,6,9,10/3,4,7,8,11 | 1,2,3,4/5,6,7,8/9,10,11 | | 4 | 600 | 0 |
3x4 | blank-first | 1,2,3,4,5/6,7,8,9,10,11 | 1,2,4,5/3,6,9/7,8,10,11 | | 0 | 600 | 0 |
4x4 | blank-last | 663 | 555 | | 5 | 600 | 0 |
4x4 near | blank-last | 663 | 555 | fringe | 8 | 700 | 34 |
5x3 near | blank-last | auto | auto | | 4 | 200 | 30 |
2x6 near | blank-last | auto | auto | | 0 | 200 | 30 |
5x5 near | snail | | | | 3 | 200 | 30 |
6x6 near | snail | | | | 3 | 200 | 30 |
""")
}


def database_of(kind: Kind, which: str) -> Database:
    """Open one of the three databases of a kind."""
    options: dict[str, tuple[str, Encoding, Cost]] = {
        "bits": (kind.bits, "bits", "additive"),
        "bytes": (kind.bytes, "bytes", "additive"),
        "every-move": (kind.every_move, "bits", "every-move"),
    }
    partition, encoding, cost = options[which]
    return database_for(partition, kind.size, kind.table_goal or kind.goal_text, encoding, cost)


def boards_of(kind: Kind, n: int) -> list[Tiles]:
    size, goal = kind.board_size, kind.goal
    if not kind.n_moves:
        return [goal, *(tuple(row) for row in random_boards(size, goal, n - 1, 7).tolist())]
    generator = np.random.default_rng(7)
    return [walked(goal, size, int(generator.integers(kind.n_moves + 1)), generator) for _ in range(n)]


TUNED = divided_early(500, 5_000, 3, slice_nodes=300)


def searches_of(kind: Kind, databases: dict[str, Database]) -> dict[str, Callable[..., Solution]]:
    """Return every search of boards of this kind in reasonable time, by name."""
    size, goal = kind.board_size, kind.goal
    searches: dict[str, Callable[..., Solution]] = {}

    def by_tables(name: str, *which: str, **options: Any) -> None:
        searches[name] = partial(Solver(*(databases[at] for at in which), tuning=TUNED, **options).solve, goal=goal)

    def by_graph(search: str, *which: str, heuristics: tuple[str, ...] = ()) -> None:
        asked = [databases[at] for at in which]
        solver = GraphSolver(
            size, goal, algorithm=search, heuristics=heuristics, databases=asked, memory_limit_bytes=2_000_000_000
        )
        searches[" ".join((search, *which, *heuristics))] = lambda board, **_: solver.solve(board)

    def by_heuristics(*names: str) -> None:
        searches[f"ida-star {' '.join(names)}"] = HeuristicSolver(size, goal, names, tuning=TUNED).solve

    if databases:
        by_tables("bits", "bits")
        by_tables("bytes", "bytes")
        by_tables("bits plain", "bits", plain=True)
        by_tables("bytes not reflected", "bytes", reflects=False)
        by_tables("all tables", *databases)
    if kind.every_move:
        by_tables("every move", "every-move")
        by_graph("a-star", "every-move")
    if size.n_cells <= 9:
        by_graph("breadth-first")
        by_graph("a-star", "bits")
    if size.n_cells <= 6:
        searches["suboptimal"] = lambda board, **_: find_suboptimal_solution(board, goal, size)
    is_easy = kind.size != "4x4" or kind.n_moves
    if is_easy:
        by_heuristics("manhattan")
        by_heuristics("linear-conflict")
        by_graph("bidirectional")
        by_graph("a-star", heuristics=("manhattan",))
        by_heuristics("korf-taylor")
    if databases and is_easy:
        by_heuristics("linear-conflict", "walking-distance")
        by_graph("a-star", heuristics=("walking-distance", "last-move"))
        by_graph("a-star", "bytes", heuristics=("corner-tiles",))
    return searches


@pytest.mark.parametrize(
    ("name", "n_boards"),
    [
        *((name, kind.n_few) for name, kind in KINDS.items() if kind.n_few),
        *(pytest.param(name, kind.n_all, marks=pytest.mark.slow) for name, kind in KINDS.items()),
    ],
)
def test_all_searches_find_the_same_lengths(name: str, n_boards: int) -> None:
    """IDA* on one thread and on two; each solution was replayed. No threshold is too small to be divided."""
    kind = KINDS[name]
    size, goal, boards = kind.board_size, kind.goal, boards_of(kind, n_boards)
    databases = {at: database_of(kind, at) for at in ("bits", "bytes") if kind.bits}
    if kind.every_move:
        databases["every-move"] = database_of(kind, "every-move")
    expected: list[int | None] = []
    if size.n_cells <= 9:
        expected = [naive_distances(size, goal)[board] for board in boards]
    for search, solve in searches_of(kind, databases).items():
        # Searches that keep their nodes have a thread a board, whatever the number of threads.
        for n_threads in (2,) if search.startswith(tuple(GRAPH_SEARCHES)) else (1, 2):
            solutions = list(in_parallel(boards, lambda at, _, pool: solve(at, pool=pool), n_threads=n_threads))  # noqa: B023
            assert all(found.optimal and found.goal == goal for found in solutions), search
            assert all(found.h <= found.lower_bound == found.length for found in solutions), search
            lengths = [found.length for found in solutions]
            expected = expected or lengths
            assert lengths == expected, f"{search} on {n_threads} threads"
    for database in databases.values():
        database.close()


# The set random1000


def test_random1000_is_drawn_by_random_boards_with_seed_1() -> None:
    boards = [list(instance.board) for instance in read_instances("random1000", None)]
    assert boards == random_boards("4x4", seed=1).tolist()


PARTITIONS = """
663 | bits | 60 |
78 | bits | 1000 | slow
663 | bits | 1000 | slow
555 | bytes | 1000 | slow
"""


@pytest.mark.parametrize(("partition", "encoding", "n_boards"), marked_rows(PARTITIONS))
def test_lengths_of_random1000_are_those_of_the_file(partition: str, encoding: Encoding, n_boards: str) -> None:
    solver = solver_for(partition, "4x4", encoding)
    for instance in list(read_instances("random1000", None))[: int(n_boards)]:
        found = solver.solve(instance.board)
        assert (found.length, found.optimal) == (instance.optimal_length, True), instance
