"""Sizes of tables. tests/pdb_query/test_table_file.py has the specifications that are refused."""

import pytest

from pdb_core.encoding import COSTS, Cost
from pdb_core.layout import block_transitions, pattern_blocks
from pdb_core.pattern import Pattern
from pdb_core.puzzle import BoardSize, blank_last
from pdb_core.table_spec import TableSpec


@pytest.mark.tiny
@pytest.mark.parametrize("cost", COSTS)
def test_transitions_are_counted_without_listing_them(cost: Cost) -> None:
    size = BoardSize(3, 3)
    spec = TableSpec(size, blank_last(size), Pattern((1, 2, 5)), "bits", cost)
    blocks = pattern_blocks(size, 3, cost)
    assert spec.n_transitions == len(block_transitions(blocks, 0, blocks.n_sets).sources)
