"""Find strong partitions of the 15-puzzle in two patterns, by measurement; docs/heuristics.md holds what came out.

    python scripts/find_partitions.py 8 --top 60 --boards 300
    python scripts/find_partitions.py 8 --top 60 --boards 300 --with 1,2,.../9,... [--with ...]

All ways to cut the board into two connected patterns of K and 15-K tiles, up to reflection, are ranked by how many
neighbours stay together; the first of them are built, in bits, and random boards solved with each, together with the
partitions of --with. Prints tiles, mean h, mean nodes and ms, the fewest nodes first.
"""

import argparse
import itertools
import time

import numpy as np

from pdb_build.search import search_pattern
from pdb_core.pattern import Partition, Pattern, parse_partition
from pdb_core.puzzle import BoardSize, blank_last, random_boards
from pdb_core.symmetry import goal_symmetries
from pdb_core.table_spec import TableSpec
from pdb_query.lookup import LookupTables, lookup_tables, sum_views
from solver.engine.database_engine import database_engine
from solver.engine.ida_star import IdaStar
from solver.engine.unit_tables import DatabaseSums
from solver.move_pruning.move_pruning import fsm_for

SIZE = BoardSize(4, 4)
GOAL = blank_last(SIZE)


def is_connected(cells: frozenset[int]) -> bool:
    reached, waiting = set(), [min(cells)]
    while waiting:
        cell = waiting.pop()
        if cell not in reached:
            reached.add(cell)
            waiting += [near for near in SIZE.neighbours[cell] if near in cells]
    return reached == cells


def n_together(cells: frozenset[int]) -> int:
    """Pairs of neighbours in one pattern."""
    return sum(near in cells for cell in cells for near in SIZE.neighbours[cell]) // 2


def candidates(k: int, top: int) -> list[Partition]:
    """Partitions into a connected pattern of k tiles and the rest, connected too; one of each pair of mirror images."""
    everything = frozenset(range(SIZE.n_cells - 1))
    reflection = goal_symmetries(GOAL, SIZE)[1].cell_map
    found: dict[frozenset[int], int] = {}
    for chosen in itertools.combinations(sorted(everything), k):
        first = frozenset(chosen)
        mirrored = frozenset(reflection[cell] for cell in first)
        if mirrored not in found and is_connected(first) and is_connected(everything - first):
            found[first] = n_together(first) + n_together(everything - first)
    best = sorted(found, key=lambda cells: (-found[cells], sorted(cells)))[:top]
    return [partition_of([[GOAL[c] for c in cells], [GOAL[c] for c in everything - cells]]) for cells in best]


def partition_of(patterns: list[list[int]]) -> Partition:
    return parse_partition("/".join(",".join(map(str, sorted(tiles))) for tiles in patterns), SIZE, GOAL)


def heuristic(partition: Partition, known: dict[Pattern, np.ndarray]) -> DatabaseSums:
    """The partition's sums, its tables built in memory; `known` keeps small tables."""
    tables = []
    for pattern in partition.patterns:
        table = known.get(pattern)
        if table is None:
            table = search_pattern(TableSpec(SIZE, GOAL, pattern, "bits"), n_threads=2).table
            if len(table) < 20_000_000:
                known[pattern] = table
        tables.append(table)
    memory = np.concatenate(tables)
    memory.flags.writeable = False
    starts = np.cumsum([0, *map(len, tables)])[:-1].tolist()
    lookup: LookupTables = lookup_tables(SIZE, GOAL, partition, "bits", memory, starts)
    return DatabaseSums(lookup, sum_views(SIZE, GOAL, partition, goal_symmetries(GOAL, SIZE)))


def measure(heuristics: list[DatabaseSums], boards: list[tuple[int, ...]]) -> tuple[float, float, float]:
    search = IdaStar(database_engine(SIZE, heuristics, fsm_for(SIZE)))
    search.search(boards[0])
    results = [search.search(board) for board in boards]
    n = len(boards)
    return (
        sum(result.h for result in results) / n,
        sum(result.generated for result in results) / n,
        1000 * sum(result.seconds for result in results) / n,
    )


def line(figures: tuple[float, float, float], name: str) -> str:
    h, nodes, ms = figures
    return f"{h:7.3f} h {nodes:9.1f} nodes {ms:7.3f} ms  {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("k", type=int, nargs="?", help="tiles of the first pattern; none: only those of --with")
    parser.add_argument("--top", type=int, default=60)
    parser.add_argument("--boards", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--with", dest="others", action="append", default=[], metavar="PARTITION")
    options = parser.parse_args()
    boards = [tuple(row.tolist()) for row in random_boards(SIZE, GOAL, options.boards, options.seed)]
    known: dict[Pattern, np.ndarray] = {}
    others = [heuristic(parse_partition(other, SIZE, GOAL), known) for other in options.others]
    if others:
        print(line(measure(others, boards), "alone"), flush=True)
    rows = []
    for partition in candidates(options.k, options.top) if options.k else []:
        start = time.perf_counter()
        figures = measure([*others, heuristic(partition, known)], boards)
        rows.append((figures[1], figures, str(partition)))
        print(line(figures, f"{partition} ({time.perf_counter() - start:.1f} s)"), flush=True)
    for _nodes, figures, name in sorted(rows)[:10]:
        print(line(figures, name))


if __name__ == "__main__":
    main()
