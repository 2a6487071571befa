"""TableSpec: the sizes of tables, and the values that it rejects. tests/pdb_build/test_search.py compares layouts."""

import pytest

from pdb_core.encoding import COSTS, Cost, Encoding
from pdb_core.errors import BoardError, InputError, PartitionError
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.pattern import Pattern
from pdb_core.puzzle import BoardSize, blank_last, parse_size
from pdb_core.table_spec import TableSpec
from tests.naive import boards_and_tables as naive
from tests.naive.standard_tables import naive_every_move_distances

SIZE = BoardSize(3, 3)


@pytest.mark.tiny
@pytest.mark.parametrize("cost", COSTS)
def test_sizes_of_tables_equal_naive_counts(cost: Cost) -> None:
    pattern = Pattern((1, 2, 5))
    spec = TableSpec(SIZE, blank_last(SIZE), pattern, "bits", cost)
    search = naive.naive_pattern_distances if cost == "additive" else naive_every_move_distances
    distances = search(SIZE, spec.goal, pattern.tiles)
    assert spec.n_entries == spec.n_states == len(distances) == spec.n_blocks * 6
    assert spec.n_bytes == spec.n_blocks
    assert spec.n_sets == 84
    blocks = pattern_blocks(SIZE, 3, cost)
    assert spec.n_transitions == len(block_transitions(blocks, 0, blocks.n_sets).sources)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("size", "goal_size", "tiles", "encoding", "cost", "error", "match"),
    [
        ("3x3", "3x3", (7, 8, 9), "bits", "additive", PartitionError, "has tiles that are not on a 3x3 board"),
        ("3x3", "3x3", (0, 1), "bits", "additive", PartitionError, "has tiles that are not on a 3x3 board"),
        ("3x3", "3x3", (1, 2), "bytes", "every-move", InputError, "in bits, not in bytes"),
        ("3x3", "2x3", (1,), "bits", "additive", BoardError, "where a 3x3 board"),
        ("7x7", "7x7", (1,), "bits", "additive", InputError, "6x6"),
    ],
)
def test_wrong_specs_are_rejected(
    size: str,
    goal_size: str,
    tiles: tuple[int, ...],
    encoding: Encoding,
    cost: Cost,
    error: type[InputError],
    match: str,
) -> None:
    with pytest.raises(error, match=match):
        TableSpec(parse_size(size), blank_last(parse_size(goal_size)), Pattern(tiles), encoding, cost)
