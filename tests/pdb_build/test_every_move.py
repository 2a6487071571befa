"""Standard PDBs, in which every move counts: search, proof, file, lookups and commands."""

import itertools
import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from pdb_build import plan_build, search_pattern
from pdb_core.errors import InputError, PartitionError, TableFileDamagedError
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import BoardSize, Tiles, blank_first, blank_last, parse_size, random_boards
from pdb_core.table_spec import TableSpec
from pdb_query import open_database, random_board_statistics, read_table_header
from tests.command_line import pdb
from tests.naive.standard_tables import naive_every_move_bits, naive_every_move_distances
from tests.pdb_build.test_deep_check import prove
from tests.tables import rewrite_header, table_file

SIZE = BoardSize(3, 3)
GOAL = blank_last(SIZE)
MIDDLE = (1, 2, 3, 8, 0, 4, 7, 6, 5)
# Of the pattern 1,2,3 on 4x4, by `naive_every_move_distances`.
GOLDEN_123 = (
    1, 2, 3, 4, 4, 6, 11, 20, 35, 55, 83, 125, 195, 307, 450, 616,
    838, 1106, 1396, 1725, 2090, 2475, 2788, 3016, 3184, 3320, 3385, 3203, 2898, 2524, 2126, 1747,
    1347, 982, 681, 434, 239, 139, 74, 32, 12, 2,
)  # fmt: skip


def file_of(partition: str, size: str, goal: str = "blank-last") -> Path:
    return table_file(partition, size, goal, "bits", "every-move")


def assert_found_and_proved(size: BoardSize, goal: Tiles, tiles: tuple[int, ...]) -> None:
    found = search_pattern(TableSpec(size, goal, Pattern(tiles), "bits", "every-move"), n_threads=2)
    distances = list(naive_every_move_distances(size, goal, tiles).values())
    assert found.table.tobytes() == naive_every_move_bits(size, goal, tiles)
    assert found.histogram == tuple(distances.count(d) for d in range(max(distances) + 1))
    proof = prove(size, goal, tiles, found.table, "bits", "every-move", n_threads=2)
    assert (proof.n_reached, proof.max_distance) == (len(distances), max(distances))
    assert proof.n_entries == found.spec.n_entries


@pytest.mark.tiny
@pytest.mark.parametrize("size", ["2x2", "2x3", "3x2"])
def test_every_pattern_of_a_small_board_is_as_naive(size: str) -> None:
    board_size = parse_size(size)
    tiles = range(1, board_size.n_cells)
    for n_tiles in tiles:
        for pattern in itertools.combinations(tiles, n_tiles):
            assert_found_and_proved(board_size, blank_last(board_size), pattern)


def test_histogram_of_a_4x4_pattern_is_as_on_record() -> None:
    """The record is of the naive search; there are 16! / 12! states."""
    size = BoardSize(4, 4)
    found = search_pattern(TableSpec(size, blank_last(size), Pattern((1, 2, 3)), "bits", "every-move"), n_threads=2)
    assert sum(found.histogram) == 43_680
    assert found.histogram == GOLDEN_123


@pytest.mark.tiny
def test_deep_check_finds_every_wrong_bit() -> None:
    size, tiles = BoardSize(2, 3), (1, 4)
    table = np.frombuffer(naive_every_move_bits(size, blank_last(size), tiles), dtype=np.uint8)
    prove(size, blank_last(size), tiles, table, "bits", "every-move", n_threads=1)
    for byte, bit in itertools.product(range(len(table)), range(8)):
        wrong = table.copy()
        wrong[byte] ^= 1 << bit
        with pytest.raises(TableFileDamagedError, match="is right; rebuild it"):
            prove(size, blank_last(size), tiles, wrong, "bits", "every-move", n_threads=1)
    with pytest.raises(InputError, match="in bits, not in bytes"):
        prove(size, blank_last(size), tiles, table, "bytes", "every-move", n_threads=1)


@pytest.mark.tiny
def test_file_names_its_cost_and_opens_again() -> None:
    path = file_of("1,2,5/3,4", "3x3")
    with h5py.File(path, "r") as file:
        assert file.attrs["cost"] == "every-move"
    header = read_table_header(path)
    assert (header.spec.cost, header.spec.encoding, str(header.spec.partition)) == ("every-move", "bits", "1,2,5/3,4")
    with open_database(path) as database:
        database.verify()
        assert database.table(1).tobytes() == naive_every_move_bits(SIZE, GOAL, (3, 4))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"cost": "odd-moves"}, "'odd-moves' is none of additive, every-move"),
        ({"cost": "additive"}, "bytes instead of"),
        ({"encoding": "bytes"}, "written in bits, not in bytes"),
    ],
)
def test_invalid_cost_or_encoding_is_refused(tmp_path: Path, changes: dict[str, str], match: str) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(file_of("1,2,5/3,4", "3x3").read_bytes())
    rewrite_header(path, lambda fields: fields.update(changes))
    with pytest.raises(TableFileDamagedError, match=match):
        open_database(path)


@pytest.mark.tiny
def test_patterns_are_combined_by_maximum() -> None:
    distances = {tiles: naive_every_move_distances(SIZE, MIDDLE, tiles) for tiles in ((1, 2, 5), (3, 4))}
    goal_text = " ".join(map(str, MIDDLE))
    with open_database(file_of("1,2,5/3,4", "3x3", goal_text)) as database:
        boards = random_boards(SIZE, MIDDLE, 50, seed=1)
        batch = database.probe_batch(boards)
        assert batch.sums.shape == (50, 8)
        assert (batch.sums == batch.values.max(axis=2)).all()
        assert (batch.maximum == batch.sums.max(axis=1)).all()
        for row, values in zip(boards.tolist(), batch.values, strict=True):
            expected = [of[tuple(map(row.index, tiles)), row.index(0)] for tiles, of in distances.items()]
            assert values[0].tolist() == expected
        statistics = random_board_statistics(database, n_boards=100)
        assert statistics.sums[0][0] < statistics.maximum[0] < 31


# Partitions and the command line.


@pytest.mark.tiny
def test_fringe_is_the_published_shape() -> None:
    size = BoardSize(4, 4)
    fringe = parse_partition("fringe", None)
    assert (fringe.cost, str(fringe)) == ("every-move", "1,2,3,4,5,9,13")
    assert str(parse_partition("fringe", size, blank_first(size))) == "3,7,11,12,13,14,15"
    assert plan_build(size, blank_last(size), fringe, Path("a.h5")).n_entries == 518_918_400


@pytest.mark.tiny
def test_patterns_may_leave_tiles_out_where_every_move_counts() -> None:
    partition = parse_partition("1,2,3,4,5,9,13", None, cost="every-move")
    assert partition.size == BoardSize(4, 4)
    assert parse_partition("663", None, cost="every-move").cost == "every-move"
    for text, size, match in [
        ("1,2/2,3", "3x3", "tiles 2 are in two patterns; .* at most one pattern"),
        ("1,9", "3x3", "tiles 9 are not on the board"),
        ("1,36", None, "1,36 fits no square board up to 6x6"),
    ]:
        with pytest.raises(PartitionError, match=match):
            parse_partition(text, None if size is None else parse_size(size), cost="every-move")
    with pytest.raises(PartitionError, match=r"in no pattern; .*or to none, with --cost every-move"):
        parse_partition("fringe", None, cost="additive")


def test_commands_build_describe_and_verify_a_standard_pdb(tmp_path: Path) -> None:
    built = pdb("build", "1,2,4,7/3,6", "--size", "3x3", "--cost", "every-move", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    path = str(tmp_path / "data" / "1-2-4-7_3-6-every-move.h5")
    assert "every move counts" in pdb("info", path).stdout
    assert "proved" in pdb("verify", path, "--deep").stdout
    assert "mean largest" in pdb("stats", path, "--boards", "50").stdout
    board = "8 6 7/2 5 4/3 0 1"
    record = json.loads(pdb("query", "--db", path, board, "--format", "ndjson").stdout)
    assert record["sums"] == [max(values) for values in record["values"]]
    assert "= max(" in pdb("query", "--db", path, board).stdout
    assert json.loads(pdb("solve", "--db", path, board, "--format", "ndjson").stdout)["length"] == 31
    assert "every move counts" in pdb("build", "fringe", "--dry-run").stdout
