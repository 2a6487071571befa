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
from solver.approximate.suboptimal import find_suboptimal_solution
from solver.engine.worker_pool import in_parallel
from solver.graph_search.graph_search import GRAPH_SEARCHES, GraphSolver
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.solution import Solution
from solver.solve import Solver
from tests import marked_rows, rows
from tests.naive.boards_and_tables import naive_distances
from tests.solving import database_for, divided_early, solvable_boards, solver_for, walked


class Kind(NamedTuple):
    """Boards of a size and goal, and the tables they are solved with.

    walk        the longest random walk from the goal that makes a board; 0: any board
    n_few       how many boards in every run; 0: only with --slow
    n_all       how many boards with --slow
    table_goal  the goal of the tables, if a symmetry maps it to the goal
    bits, bytes  partitions of additive tables, in either encoding
    every_move  a partition of tables in which every move counts; alone they prune too little for large boards
    """

    size_text: str
    goal_text: str
    walk: str
    n_few: str
    n_all: str
    table_goal: str = ""
    bits: str = ""
    bytes: str = ""
    every_move: str = ""

    @property
    def size(self) -> BoardSize:
        return parse_size(self.size_text)

    @property
    def goal(self) -> Tiles:
        return parse_goal(self.goal_text, self.size)

    def databases(self) -> dict[str, Database]:
        """Open the database of each partition."""
        options: list[tuple[str, str, Encoding, Cost]] = [
            ("bits", self.bits, "bits", "additive"),
            ("bytes", self.bytes, "bytes", "additive"),
            ("every-move", self.every_move, "bits", "every-move"),
        ]
        return {
            name: database_for(partition, self.size_text, self.table_goal or self.goal_text, encoding, cost)
            for name, partition, encoding, cost in options
            if partition
        }

    def boards(self, n: int) -> list[Tiles]:
        if self.walk == "0":
            return [self.goal, *solvable_boards(self.size, n - 1, 7, self.goal)]
        generator = np.random.default_rng(7)
        return [walked(self.goal, self.size, int(generator.integers(int(self.walk) + 1)), generator) for _ in range(n)]


KINDS = [
    Kind(*row)
    for row in rows("""
2x2 | blank-last | 0 | 8 | 200 | | 1,2,3 | 1,2/3 | 1,2,3
2x3 | blank-last | 0 | 0 | 200 | | 1,2,3/4,5 | 1,2,3,4,5 | 3/1,5
3x2 | snail | 0 | 8 | 200 | | 1,2,3,4,5 | 1,2/3,4,5 | 1/4
3x3 | blank-last | 0 | 8 | 4500 | | 8 | 1,2,5/3,4,6/7,8 | 1,2,3,4/5,6,7,8
3x3 | snail | 0 | 8 | 1000 | | 1,2,3,8/4,5,6,7 | 1,2,5/3,4,6/7,8 | 1,2,3,4,5
3x3 | 1 2 3/4 5 6/7 0 8 | 0 | 0 | 200 | | 1,2,5,6/3,4,7,8 | 1,2,5/3,4,6/7,8
3x3 | 1 2 0/4 5 3/7 8 6 | 0 | 8 | 200 | blank-last | 8 | 1,2,5/3,4,6/7,8
2x4 | blank-last | 0 | 0 | 200 | | 1,2,3/4,5,6,7 | 1,2,3,4,5,6,7
5x2 | blank-last | 0 | 4 | 500 | | 1,2,6,7/3,4,5,8,9 | 1,2,3/4,5,6/7,8,9 | 1,2,3,4,5,6
4x3 | blank-last | 0 | 4 | 600 | | 1,2,5,6,9,10/3,4,7,8,11 | 1,2,3,4/5,6,7,8/9,10,11
3x4 | blank-first | 0 | 0 | 600 | | 1,2,3,4,5/6,7,8,9,10,11 | 1,2,4,5/3,6,9/7,8,10,11
4x4 | blank-last | 0 | 5 | 600 | | 663 | 555
4x4 | blank-last | 34 | 8 | 700 | | 663 | 555 | fringe
5x3 | blank-last | 30 | 4 | 200 | | auto | auto
2x6 | blank-last | 30 | 0 | 200 | | auto | auto
5x5 | snail | 30 | 3 | 200
6x6 | snail | 30 | 3 | 200
""")
]
TUNED = divided_early(500, 5_000, 3, slice_nodes=300)


def searches_of(kind: Kind, databases: dict[str, Database]) -> dict[str, Callable[..., Solution]]:
    """Return every search of boards of this kind in reasonable time, by name."""
    size, goal = kind.size, kind.goal
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
    if size.n_cells < 16 or kind.walk != "0":
        by_heuristics("manhattan")
        by_heuristics("linear-conflict")
        by_heuristics("korf-taylor")
        by_graph("bidirectional")
        by_graph("a-star", heuristics=("manhattan",))
        if databases:
            by_heuristics("linear-conflict", "walking-distance")
            by_graph("a-star", heuristics=("walking-distance", "last-move"))
            by_graph("a-star", "bytes", heuristics=("corner-tiles",))
    return searches


@pytest.mark.parametrize(
    ("kind", "n_boards"),
    [
        *((kind, int(kind.n_few)) for kind in KINDS if kind.n_few != "0"),
        *(pytest.param(kind, int(kind.n_all), marks=pytest.mark.slow) for kind in KINDS),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else " ".join(value[:3]),
)
def test_all_searches_find_the_same_lengths(kind: Kind, n_boards: int) -> None:
    """IDA* on one thread and on two; each solution was replayed. No threshold is too small to be divided."""
    boards, databases = kind.boards(n_boards), kind.databases()
    expected: list[int | None] = []
    if kind.size.n_cells <= 9:
        expected = [naive_distances(kind.size, kind.goal)[board] for board in boards]
    for search, solve in searches_of(kind, databases).items():
        # Searches that keep their nodes have a thread a board, whatever the number of threads.
        for n_threads in (2,) if search.startswith(tuple(GRAPH_SEARCHES)) else (1, 2):
            solutions = list(in_parallel(boards, lambda at, _, pool: solve(at, pool=pool), n_threads=n_threads))  # noqa: B023
            assert all(found.optimal and found.goal == kind.goal for found in solutions), search
            assert all(found.h <= found.lower_bound == found.length for found in solutions), search
            lengths = [found.length for found in solutions]
            expected = expected or lengths
            assert lengths == expected, f"{search} on {n_threads} threads"
    for database in databases.values():
        database.close()


# The set random1000


PARTITIONS = """
663 | bits | 60 |
78 | bits | 1000 | slow
663 | bits | 1000 | slow
555 | bytes | 1000 | slow
"""


@pytest.mark.parametrize(("partition", "encoding", "n_boards"), marked_rows(PARTITIONS))
def test_random1000_has_the_boards_of_seed_1_and_their_lengths(
    partition: str, encoding: Encoding, n_boards: str
) -> None:
    solver, instances = solver_for(partition, "4x4", encoding), list(read_instances("random1000", None))
    assert [list(instance.board) for instance in instances] == random_boards("4x4", seed=1).tolist()
    for instance in instances[: int(n_boards)]:
        found = solver.solve(instance.board)
        assert (found.length, found.optimal) == (instance.optimal_length, True), instance
