"""Patterns that share a table. tests/pdb_query/test_lookup.py compares lookups in shared tables with naive ones."""

import pytest

from pdb_core.encoding import COSTS, Cost
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import Board
from pdb_core.shared_tables import TableUse, shared_tables
from pdb_core.symmetry import symmetries
from tests import rows
from tests.naive.shared_tables import naive_may_share

# Partition | goal. In the last, 6,8 shut the blank into its corner; 2,4 shut it out of the other.
SHARED = """
1,2/3,6/4,7/5,8 | 1 2 3/4 5 6/7 8 0
1,2/4,5/3 | 1 2 3/4 5 0
1,2/3,4/5 | 1 0 2/3 5 4
1,2/3,4/5,6,7,8 | 1 2 3/8 0 4/7 6 5
1,2,3/4,5,6/7,8 | 1 2 3/7 0 8/4 5 6
1,2,3/4,5,6/7,8 | 1 0 4/2 7 5/3 8 6
2,4/6,8/1,3/5,7 | 1 2 3/4 5 6/7 8 0
"""


@pytest.mark.tiny
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(("partition", "goal_text"), rows(SHARED))
def test_tables_are_shared_if_and_only_if_all_distances_are_equal(partition: str, goal_text: str, cost: Cost) -> None:
    goal = Board(goal_text)
    size = goal.size
    parsed = parse_partition(partition, size, goal, cost)
    for index, use in enumerate(shared_tables(size, goal, parsed)):
        fitting = (
            TableUse(first, cell_map)
            for first, of in enumerate(parsed.patterns[:index])
            for cell_map in symmetries(size).values()
            if naive_may_share(size, goal, parsed.patterns[index].tiles, of.tiles, cell_map, cost)
        )
        assert use == next(fitting, None)
