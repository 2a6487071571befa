"""The layout of the state space, and sizes of tables: regions and transitions, against naive ones."""

import math

import pytest

from pdb_core.encoding import COSTS, Cost, Encoding
from pdb_core.errors import BoardError, InputError, PartitionError
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.pattern import Pattern
from pdb_core.puzzle import BoardSize, blank_last, parse_size
from pdb_core.table_spec import TableSpec
from tests.naive import boards_and_tables as naive
from tests.naive.standard_tables import naive_every_move_distances

SMALL = [
    (text, n)
    for text in ("2x2", "2x3", "3x2", "3x3", "2x5", "5x2", "4x3")
    for n in (1, 2, 3, 4, 5)
    if n < parse_size(text).n_cells
]
SIZE = BoardSize(3, 3)


def cells_of(mask: int) -> tuple[int, ...]:
    return tuple(cell for cell in range(36) if mask >> cell & 1)


@pytest.mark.tiny
@pytest.mark.parametrize(("size_text", "n_tiles"), SMALL)
def test_regions_are_the_connected_free_cells(size_text: str, n_tiles: int) -> None:
    size = parse_size(size_text)
    blocks = pattern_blocks(size, n_tiles)
    assert blocks.n_sets == math.comb(size.n_cells, n_tiles)
    for s, mask in enumerate(blocks.cell_sets.tolist()):
        occupied = cells_of(mask)
        expected = {naive.naive_region(c, occupied, size) for c in range(size.n_cells) if c not in occupied}
        first, last = blocks.first_block[s], blocks.first_block[s + 1]
        regions = [cells_of(region) for region in blocks.regions[first:last].tolist()]
        assert {frozenset(region) for region in regions} == expected
        assert regions == sorted(regions)
        for region in regions:
            for cell in region:
                assert blocks.regions[first + blocks.region_numbers[s, cell]] == sum(1 << c for c in region)


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
