"""All searches, tables, encodings and threads find the same lengths, on boards of several sizes.

A few boards of each kind in every run, 10,000 in all with --slow.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from pdb_core.encoding import Encoding
from pdb_core.puzzle import BLANK, BoardSize, Tiles, blank_last, parse_goal, parse_size, random_boards
from pdb_query import Database, open_database, read_instances
from solver import GraphSolver, HeuristicSolver, Solution, Solver, WorkerPool
from solver.engine.worker_pool import in_parallel
from solver.graph_search.graph_search import GRAPH_SEARCHES
from tests.solving import S4
from tests.tables import table_file

Solve = Callable[[Tiles, WorkerPool | None], Solution]


@dataclass(frozen=True)
class Kind:
    """Boards of a size and goal, and the tables they are solved with.

    bits, bytes  partitions of additive tables, in either encoding
    every_move   a partition of tables in which every move counts; alone they prune too little for large boards
    n_few, n_all  how many boards in every run, and with --slow
    is_small     True if searches that prune little take little time
    n_moves      the longest random walk from the goal that makes a board; None: any board
    """

    size: str
    goal: str
    bits: str
    bytes: str
    n_few: int
    n_all: int
    every_move: str | None = None
    is_small: bool = False
    n_moves: int | None = None


KINDS = {
    "3x3": Kind("3x3", "blank-last", "8", "1,2,5/3,4,6/7,8", 30, 4500, "1,2,3,4/5,6,7,8", is_small=True),
    "3x3 snail": Kind("3x3", "snail", "1,2,3,8/4,5,6,7", "1,2,5/3,4,6/7,8", 30, 1000, "1,2,3,4,5", is_small=True),
    "5x2": Kind("5x2", "blank-last", "1,2,6,7/3,4,5,8,9", "1,2,3/4,5,6/7,8,9", 60, 2000, "1,2,3,4,5,6"),
    "4x3": Kind("4x3", "blank-last", "1,2,5,6,9,10/3,4,7,8,11", "1,2,3,4/5,6,7,8/9,10,11", 4, 600),
    "3x4": Kind("3x4", "blank-first", "1,2,3,4,5/6,7,8,9,10,11", "1,2,4,5/3,6,9/7,8,10,11", 4, 600),
    "4x4": Kind("4x4", "blank-last", "663", "555", 10, 600),
    "4x4 near": Kind("4x4", "blank-last", "663", "555", 15, 700, "fringe", n_moves=34),
}


def database_of(kind: Kind, which: str) -> Database:
    if which == "bits":
        return open_database(table_file(kind.bits, kind.size, kind.goal, "bits"))
    if which == "bytes":
        return open_database(table_file(kind.bytes, kind.size, kind.goal, "bytes"))
    assert kind.every_move is not None
    return open_database(table_file(kind.every_move, kind.size, kind.goal, "bits", "every-move"))


def boards_of(kind: Kind, n: int) -> list[Tiles]:
    size = parse_size(kind.size)
    goal = parse_goal(kind.goal, size)
    if kind.n_moves is None:
        return [tuple(row) for row in random_boards(size, goal, n, 7).tolist()]
    generator = np.random.default_rng(7)
    return [walked(goal, size, int(generator.integers(kind.n_moves + 1)), generator) for _ in range(n)]


def walked(goal: Tiles, size: BoardSize, n_moves: int, generator: np.random.Generator) -> Tiles:
    """Return the board after `n_moves` random moves. No move undoes the one before."""
    cells, blank, before = list(goal), goal.index(BLANK), -1
    for _ in range(n_moves):
        cell = int(generator.choice([near for near in size.neighbours[blank] if near != before]))
        cells[blank], cells[cell] = cells[cell], BLANK
        blank, before = cell, blank
    return tuple(cells)


def searches_of(kind: Kind, databases: dict[str, Database]) -> dict[str, Solve]:
    """Return every search of boards of this kind in reasonable time, by name."""
    size = parse_size(kind.size)
    goal = parse_goal(kind.goal, size)
    searches: dict[str, Solve] = {}

    def by_tables(name: str, *which: str, plain: bool = False, reflects: bool = True) -> None:
        solver = Solver(*(databases[at] for at in which), plain=plain, reflects=reflects)
        searches[name] = lambda board, pool: solver.solve(board, goal, pool=pool)

    def by_graph(search: str, *which: str, heuristics: tuple[str, ...] = ()) -> None:
        asked = [databases[at] for at in which]
        solver = GraphSolver(
            size, goal, search=search, heuristics=heuristics, databases=asked, memory_limit_bytes=2_000_000_000
        )
        searches[" ".join((search, *which, *heuristics))] = lambda board, pool: solver.solve(board, pool=pool)

    def by_heuristics(*names: str, plain: bool = False) -> None:
        solver = HeuristicSolver(size, goal, names, plain=plain)
        searches[" ".join(("ida-star", *names, *["plain"] * plain))] = lambda board, pool: solver.solve(
            board, pool=pool
        )

    by_tables("bits", "bits")
    by_tables("bytes", "bytes")
    by_tables("bits plain", "bits", plain=True)
    by_tables("bytes not reflected", "bytes", reflects=False)
    by_tables("all tables", *databases)
    is_near = kind.n_moves is not None
    if kind.every_move is not None:
        by_tables("every move", "every-move")
        by_graph("a-star", "every-move")
        by_heuristics("manhattan", plain=True)
    if kind.is_small:
        by_heuristics("misplaced")
        by_graph("breadth-first")
    if kind.size != "4x4" or is_near:
        by_heuristics("manhattan")
        by_heuristics("korf-taylor")
        by_heuristics("linear-conflict", "walking-distance")
        by_heuristics("pairs")
        by_graph("bidirectional")
        by_graph("a-star", heuristics=("walking-distance", "last-move"))
        by_graph("a-star", "bytes", heuristics=("corner-tiles",))
    return searches


def check_agreement(kind: Kind, n: int) -> None:
    """Check that all searches find the same lengths, IDA* on one thread and on two; each solution was replayed."""
    goal = parse_goal(kind.goal, parse_size(kind.size))
    boards = boards_of(kind, n)
    databases = {at: database_of(kind, at) for at in ("bits", "bytes", *["every-move"] * bool(kind.every_move))}
    expected: list[int | None] = []
    for name, solve in searches_of(kind, databases).items():
        # Searches that keep their nodes have a thread a board, whatever the number of threads.
        for n_threads in (2,) if name.startswith(tuple(GRAPH_SEARCHES)) else (1, 2):
            solutions = list(in_parallel(boards, lambda at, _, pool: solve(at, pool), n_threads=n_threads))  # noqa: B023
            assert all(found.is_optimal and found.goal == goal for found in solutions)
            lengths = [found.length for found in solutions]
            expected = expected or lengths
            assert lengths == expected, f"{name} on {n_threads} threads"
    assert len(expected) == n
    for database in databases.values():
        database.close()


@pytest.mark.parametrize("share", ["few", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_all_searches_find_the_same_lengths(kind: str, share: str) -> None:
    assert sum(at.n_all for at in KINDS.values()) == 10_000
    check_agreement(KINDS[kind], KINDS[kind].n_few if share == "few" else KINDS[kind].n_all)


# The set random1000


def test_random1000_is_drawn_by_random_boards_with_seed_1() -> None:
    boards = [list(instance.board) for instance in read_instances("random1000", None)]
    assert boards == random_boards(S4, blank_last(S4), 1000, 1).tolist()


@pytest.mark.parametrize(
    ("partition", "encoding", "n_boards"),
    [
        ("663", "bits", 60),
        ("555", "bytes", 15),
        *(
            pytest.param(partition, encoding, 1000, marks=pytest.mark.slow)
            for partition, encoding in (("78", "bits"), ("663", "bits"), ("663", "bytes"), ("555", "bytes"))
        ),
    ],
)
def test_lengths_of_random1000_are_those_of_the_file(partition: str, encoding: Encoding, n_boards: int) -> None:
    with open_database(table_file(partition, "4x4", encoding=encoding)) as database:
        solver = Solver(database)
        for instance in list(read_instances("random1000", None))[:n_boards]:
            found = solver.solve(instance.board)
            assert (found.length, found.is_optimal) == (instance.optimal_length, True), instance
