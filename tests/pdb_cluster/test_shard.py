"""Shards of a search, all in this process. Together they give the table of a local search."""

from collections.abc import Callable

import numpy as np
import pytest

from pdb_build.search import search_pattern
from pdb_cluster.build.shard import LostError, PatternShard, divide
from tests import rows
from tests.tables import spec_of

pytestmark = pytest.mark.tiny

# Size | goal | tiles | encoding | cost | number of shards, in the first row more than cell sets | number of portions.
# Words of eight tiles have 16 bits.
SPECS = rows("""
2x2 | blank-last | 1 | bits | additive | 7 | 2
2x2 | blank-last | 1 2 3 | bits | additive | 1 | 1
2x3 | blank-first | 1 2 3 4 5 | bytes | additive | 2 | 1
3x3 | blank-last | 1 2 4 | bits | additive | 3 | 2
3x3 | snail | 3 6 7 | bytes | additive | 3 | 2
3x3 | blank-last | 1 2 3 | bits | every-move | 3 | 2
3x3 | blank-last | 1 2 3 4 5 6 7 8 | bits | additive | 2 | 3
4x4 | blank-last | 1 2 3 4 5 6 | bytes | additive | 3 | 2
5x5 | blank-last | 1 2 3 6 7 | bits | additive | 2 | 4
""")


@pytest.mark.parametrize("row", SPECS, ids=" ".join)
def test_shards_give_the_table_of_a_local_search(row: list[str]) -> None:
    """Search with all shards one after another."""
    spec, (n_shards, n_portions) = spec_of(*row[:5]), map(int, row[5:])
    shards = [PatternShard(spec, divide(spec, n_shards), number, n_threads=2) for number in range(n_shards)]
    for shard in shards:
        shard.set_portions(n_portions)
    levels = [[shard.start() for shard in shards]]
    while sum(done[0] for done in levels[-1]):
        level = len(levels)
        levels.append([
            target.advance(
                level, portion, [shard.rows_for(number, level, portion) for shard in shards if shard is not target]
            )
            for portion in range(n_portions)
            for number, target in enumerate(shards)
        ])  # fmt: skip
    states, entries, _sent = np.array([np.sum(level, axis=0) for level in levels]).T.tolist()
    tables = [shard.finish(len(levels) - 1) for shard in shards]
    expected = search_pattern(spec, n_threads=1)
    assert b"".join(table.tobytes() for table in tables) == expected.table.tobytes()
    assert states[:-1] == list(expected.states_per_depth)
    assert entries[: len(expected.histogram)] == list(expected.histogram)


def test_shard_refuses_another_level_or_a_second_advance() -> None:
    spec = spec_of("3x3", "blank-last", "1 2 4")
    shards = [PatternShard(spec, divide(spec, 2), number) for number in range(2)]
    for shard in shards:
        shard.set_portions(1)
        shard.start()
    shard, made_anew = shards[0], PatternShard(spec, divide(spec, 2), 0)
    received = [shards[1].rows_for(0, 1, 0)]

    def check_refused(*tasks: Callable[[], object]) -> None:
        for task in tasks:
            with pytest.raises(LostError, match="shard 0 was made anew, or got a task twice"):
                task()

    check_refused(lambda: shard.rows_for(1, 3, 0), lambda: shard.advance(2, 0, received))
    check_refused(lambda: made_anew.rows_for(1, 1, 0), lambda: made_anew.advance(1, 0, []))
    shard.advance(1, 0, received)
    check_refused(lambda: shard.advance(1, 0, received), lambda: shard.finish(4), lambda: shard.piece(0, 1))
    shard.finish(1)
    check_refused(lambda: shard.finish(1))
