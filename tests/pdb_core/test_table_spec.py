"""TableSpec: the sizes of tables, and the values that it rejects."""

import pytest

from pdb_core.encoding import ENCODINGS, Cost, Encoding
from pdb_core.errors import BoardError, InputError, PartitionError
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import BoardSize, blank_last
from pdb_core.table_spec import DatabaseSpec, TableSpec
from tests.naive import boards_and_tables as naive
from tests.naive.standard_tables import naive_every_move_distances

SIZE = BoardSize(3, 3)
GOAL = blank_last(SIZE)


@pytest.mark.tiny
@pytest.mark.parametrize("cost", ["additive", "every-move"])
def test_sizes_equal_naive_counts(cost: Cost) -> None:
    pattern = Pattern((1, 2, 5))
    spec = TableSpec(SIZE, GOAL, pattern, "bits", cost)
    distances = (naive.naive_pattern_distances if cost == "additive" else naive_every_move_distances)(
        SIZE, GOAL, pattern.tiles
    )
    assert spec.n_entries == spec.n_states == len(distances) == spec.n_blocks * 6
    assert spec.n_bytes == spec.n_blocks
    assert spec.n_sets == 84
    blocks = pattern_blocks(SIZE, 3, cost)
    assert spec.n_transitions == len(block_transitions(blocks, 0, blocks.n_sets).sources)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("tiles", "encoding", "cost", "error", "match"),
    [
        ((7, 8, 9), "bits", "additive", PartitionError, "pattern 7,8,9 has tiles that are not on a 3x3 board"),
        ((0, 1), "bits", "additive", PartitionError, "pattern 0,1 has tiles that are not on a 3x3 board"),
        ((1, 2), "bytes", "every-move", InputError, "in bits, not in bytes"),
    ],
)
def test_wrong_specs_are_rejected(
    tiles: tuple[int, ...], encoding: Encoding, cost: Cost, error: type[InputError], match: str
) -> None:
    with pytest.raises(error, match=match):
        TableSpec(SIZE, GOAL, Pattern(tiles), encoding, cost)


@pytest.mark.tiny
def test_goal_of_another_size_is_rejected() -> None:
    with pytest.raises(BoardError):
        TableSpec(SIZE, blank_last(BoardSize(2, 3)), Pattern((1,)), "bits")
    with pytest.raises(InputError, match="6x6"):
        TableSpec(BoardSize(7, 7), blank_last(BoardSize(7, 7)), Pattern((1,)), "bits")


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_partition_has_a_table_for_each_pattern(encoding: Encoding) -> None:
    partition = parse_partition("1,2,5/3,4,6/7,8", SIZE)
    specs = DatabaseSpec(GOAL, partition, encoding).tables
    assert [spec.pattern for spec in specs] == list(partition.patterns)
    assert {(spec.size, spec.goal, spec.encoding, spec.cost) for spec in specs} == {(SIZE, GOAL, encoding, "additive")}
