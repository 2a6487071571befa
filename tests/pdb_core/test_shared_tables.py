"""Patterns that share a table: which ones do, and lookups that equal those of separate tables."""

import itertools
import json
from functools import lru_cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from pdb_build import build_database, plan_build
from pdb_build.deep_check import prove_use
from pdb_core.encoding import COSTS, ENCODINGS, Cost, Encoding
from pdb_core.errors import TableFileDamagedError
from pdb_core.pattern import Partition, Pattern, parse_partition
from pdb_core.puzzle import BoardSize, Tiles, blank_first, blank_last, parse_goal, parse_size, random_boards
from pdb_core.shared_tables import TableUse, shared_tables
from pdb_core.symmetry import symmetries
from pdb_core.table_spec import TableSpec
from pdb_query import Database, open_database
from solver.engine.database_engine import database_engine
from solver.engine.ida_star import IdaStar
from solver.engine.unit_tables import DatabaseSums
from solver.move_pruning.move_pruning import pruning_fsm
from tests.command_line import pdb, refused
from tests.naive import boards_and_tables as naive
from tests.naive.shared_tables import naive_cell_maps, naive_may_share
from tests.solving import node_counts
from tests.tables import rewrite_header, table_file

# Partition, size, goal: the blank in a corner, at an edge, in the centre.
CASES = [
    ("1,2/3,6/4,7/5,8", "3x3", "blank-last"),
    ("1,2/4,5/3", "3x2", "blank-last"),
    ("1,2/3,4/5", "3x2", "1 0 2/3 5 4"),
    ("1,2/3,4/5,6/7,8", "3x3", "snail"),
    ("1,2,3/4,5,6/7,8", "3x3", "1 2 3/7 0 8/4 5 6"),
    ("1,2,3/4,5,6/7,8", "3x3", "1 0 4/2 7 5/3 8 6"),
]
KINDS: list[tuple[Encoding, Cost]] = [("bytes", "additive"), ("bits", "additive"), ("bits", "every-move")]


def goal_of(text: str, size: BoardSize) -> Tiles:
    return blank_last(size) if text == "blank-last" else parse_goal(text, size)


@lru_cache(maxsize=64)
def separate_file(partition: str, size_text: str, goal_text: str, encoding: Encoding, cost: Cost) -> Path:
    """Build the table file of a partition without shared tables."""
    shared = table_file(partition, size_text, goal_text, encoding, cost)
    path = shared.with_name(f"separate-{shared.name}")
    size = parse_size(size_text)
    goal = goal_of(goal_text, size)
    parsed = parse_partition(partition, size, goal, cost)
    with patch("pdb_build.plan.shared_tables", lambda *_: [None] * len(parsed.patterns)):
        build_database(plan_build(size, goal, parsed, path, encoding=encoding))
    return path


def both(
    partition: str, size: str, goal: str, encoding: Encoding, cost: Cost = "additive"
) -> tuple[Database, Database]:
    """The database with shared tables and the one without."""
    shared = open_database(table_file(partition, size, goal, encoding, cost))
    assert any(entry.use is not None for entry in shared.header.patterns) or cost == "every-move"
    return shared, open_database(separate_file(partition, size, goal, encoding, cost))


def names_of(partition: str, size: str) -> list[int]:
    """Which table each pattern of a partition with the blank in the last cell uses."""
    parsed_size = parse_size(size)
    goal = blank_last(parsed_size)
    uses = shared_tables(parsed_size, goal, parse_partition(partition, parsed_size, goal))
    return [index if use is None else use.index for index, use in enumerate(uses)]


@pytest.mark.tiny
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(("partition", "size_text", "goal_text"), CASES)
def test_tables_are_shared_if_all_distances_are_equal(
    partition: str, size_text: str, goal_text: str, cost: Cost
) -> None:
    size = parse_size(size_text)
    goal = goal_of(goal_text, size)
    parsed = parse_partition(partition, size, goal, cost)
    maps = naive_cell_maps(size)
    in_order = list(symmetries(size).values())
    assert sorted(maps) == sorted(in_order)
    for index, use in enumerate(shared_tables(size, goal, parsed)):
        fitting = [
            (first, cell_map)
            for first in range(index)
            for cell_map in in_order
            if naive_may_share(
                size, goal, parsed.patterns[index].tiles, parsed.patterns[first].tiles, cell_map, parsed.cost
            )
        ]
        assert use == (TableUse(*fitting[0]) if fitting else None)


@pytest.mark.tiny
def test_congruent_patterns_whose_blank_regions_differ_have_tables_of_their_own() -> None:
    # 6,8 shut the blank into its corner; 2,4 shut it out of the other.
    assert names_of("2,4/6,8/1,3,5,7", "3x3") == [0, 1, 2]
    assert names_of("2,5/3,8/1,4,6,7,9,10,11", "4x3") == [0, 0, 2]
    size = BoardSize(3, 3)
    table = TableSpec(size, blank_last(size), Pattern((2, 4)), "bits")
    with pytest.raises(TableFileDamagedError, match="pattern 6,8 has other distances than pattern 2,4"):
        prove_use(Pattern((6, 8)), table, tuple(range(8, -1, -1)))


@pytest.mark.tiny
def test_named_partitions_share_known_tables() -> None:
    for name, expected in {
        "663": [0, 1, 2], "78": [0, 1], "78d": [0, 1], "555": [0, 1, 2], "96": [0, 1], "6666": [0, 1, 1, 1],
    }.items():  # fmt: skip
        assert names_of(name, "5x5" if name == "6666" else "4x4") == expected


@pytest.mark.parametrize(("encoding", "cost"), KINDS)
@pytest.mark.parametrize(("partition", "size", "goal"), CASES)
def test_lookups_of_every_state_equal_those_of_separate_tables(
    partition: str, size: str, goal: str, encoding: Encoding, cost: Cost
) -> None:
    shared, separate = both(partition, size, goal, encoding, cost)
    with shared, separate:
        assert_same_answers(shared, separate, boards_of_every_state(shared))


def boards_of_every_state(database: Database) -> np.ndarray:
    """Boards, also unsolvable ones, that show every placement of each pattern's tiles with the blank on every cell: of
    the patterns as they are, and as the last symmetry has them.
    """
    boards = []
    n_cells = database.size.n_cells
    views = database.views()
    for s in (0, views.n_sums - 1):
        for pattern in range(len(database.header.patterns)):
            tiles = [0, *views.tiles(s, pattern)]
            others = [tile for tile in range(n_cells) if tile not in tiles]
            for cells in itertools.permutations(range(n_cells), len(tiles)):
                rest = iter(others)
                boards.append([tiles[cells.index(c)] if c in cells else next(rest) for c in range(n_cells)])
    return np.array(boards, dtype=np.uint8)


def assert_same_answers(shared: Database, separate: Database, boards: np.ndarray) -> None:
    ours, theirs = shared.probe_batch(boards), separate.probe_batch(boards)
    assert (ours.values == theirs.values).all()
    assert (ours.sums == theirs.sums).all()
    assert (ours.maximum == theirs.maximum).all()


@pytest.mark.tiny
@pytest.mark.parametrize(("partition", "size", "goal"), CASES[:2])
def test_every_placement_is_found_in_the_table_that_a_pattern_uses(partition: str, size: str, goal: str) -> None:
    with open_database(table_file(partition, size, goal)) as database:
        for index, entry in enumerate(database.header.patterns):
            placements = naive.naive_placements(database.size.n_cells, entry.pattern.n_tiles)
            expected = naive.naive_additive_min(database.size, database.goal, entry.pattern.tiles)
            ranks = database.index(index).rank([database.table_cells(index, cells) for cells in placements])
            assert database.table(index)[ranks].tolist() == expected


def test_another_goal_is_served_by_shared_tables() -> None:
    shared, separate = both("1,2,5,6/3,4,7,8/9,10,13,14/11,12,15", "4x4", "blank-last", "bits")
    goal = blank_first(shared.size)
    boards = random_boards(shared.size, goal, 500, seed=8)
    with shared, separate:
        assert (shared.probe_batch(boards, goal).values == separate.probe_batch(boards, goal).values).all()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_searches_generate_the_same_nodes_with_shared_tables(encoding: Encoding) -> None:
    shared, separate = both(*CASES[0], encoding)
    boards = [tuple(row.tolist()) for row in random_boards(shared.size, shared.goal, 12, seed=2)]
    with shared, separate:
        searches = [
            IdaStar(database_engine(shared.size, [DatabaseSums(of.lookup_tables, of.views())], pruning_fsm()))
            for of in (shared, separate)
        ]
        for board in boards:
            ours, theirs = (search.search(board) for search in searches)
            assert (ours.tiles, node_counts(ours.iterations)) == (theirs.tiles, node_counts(theirs.iterations))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("index", "changes", "match"),
    [
        (1, {"same_as": 1}, "table of pattern 1, which is not before it"),
        (1, {"same_as": 3}, "table of pattern 3, which is not before it"),
        (1, {"same_as": -1}, "-1 is not a natural number"),
        (2, {"same_as": 1}, "pattern 4,7 uses the table of pattern 3,6, which has no table"),
        (1, {"cell_map": list(range(9))}, "pattern 3,6 cannot use the table of pattern 1,2"),
        (1, {"cell_map": [0] * 9}, "cannot use the table"),
        (1, {"cell_map": list(range(8))}, "cannot use the table"),
        (1, {"cell_map": [200] * 9}, "cannot use the table"),
        (1, {"cell_map": [1, 0, 2, 3, 4, 5, 6, 7, 8]}, "cannot use the table"),
        (1, {"tiles": [3, 5]}, "cannot use the table"),
        (1, {"tiles": [3, 60]}, "not on a 3x3 board"),
        (1, {"tiles": []}, "0 tiles"),
    ],
)
def test_invalid_uses_of_tables_are_refused(tmp_path: Path, index: int, changes: dict[str, object], match: str) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(table_file(*CASES[0]).read_bytes())
    rewrite_header(path, lambda fields: fields["patterns"][index].update(changes))
    with pytest.raises(TableFileDamagedError, match=match):
        open_database(path)


@pytest.mark.tiny
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(("partition", "size_text", "goal_text"), CASES)
def test_prove_use_accepts_only_valid_symmetries(partition: str, size_text: str, goal_text: str, cost: Cost) -> None:
    """`prove_use` accepts what sharing finds, and of all other symmetries just those that the twin accepts."""
    size = parse_size(size_text)
    goal = goal_of(goal_text, size)
    parsed: Partition = parse_partition(partition, size, goal, cost)
    for index, use in enumerate(shared_tables(size, goal, parsed)):
        pattern = parsed.patterns[index]
        table = TableSpec(size, goal, parsed.patterns[index if use is None else use.index], "bits", cost)
        for cell_map in naive_cell_maps(size):
            if naive_may_share(size, goal, pattern.tiles, table.pattern.tiles, cell_map, cost):
                prove_use(pattern, table, cell_map)
            else:
                with pytest.raises(TableFileDamagedError, match="rebuild it"):
                    prove_use(pattern, table, cell_map)
    swapped = (1, 0, *range(2, size.n_cells))
    with pytest.raises(TableFileDamagedError):
        prove_use(pattern, TableSpec(size, goal, pattern, "bits", cost), swapped)


# Plans, reports, and the command line.


def test_commands_name_shared_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    arguments = ("build", CASES[0][0], "--size", "3x3", "--out", str(path))
    planned = pdb(*arguments, "--dry-run")
    assert "pattern 3,6: the table of 1,2, by a symmetry of the board" in planned.stdout
    assert "pattern 3,6: the table of 1,2, by a symmetry of the board" in pdb(*arguments).stdout
    info = pdb("info", str(path)).stdout
    assert "B  the table of A, by the symmetry rotation by 270  tiles 3,6" in info
    verified = pdb("verify", "--deep", str(path)).stdout
    assert "2 digests and histograms over 160 entries agree" in verified
    assert "proved: pattern 4,7: the table of 1,2, by a symmetry of the board" in verified
    assert "pattern 3,6: the table of 1,2" in pdb("stats", str(path), "--boards", "100").stdout
    (record,) = json.loads(pdb("info", str(path), "--format", "json").stdout)
    assert [entry["same_as"] for entry in record["patterns"]] == [None, 0, 0, None]
    rewrite_header(path, lambda fields: fields["patterns"][1].update(same_as=2))
    refused(pdb("info", str(path)), 4, "which is not before it")
