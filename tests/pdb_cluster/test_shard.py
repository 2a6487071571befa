"""Shards of a search, all in this process. Together they give the table of a local search."""

import pickle

import numpy as np
import pytest

from pdb_build.search import search_pattern
from pdb_cluster.sent_rows import sent_rows
from pdb_cluster.shard import LostError, Shard, divide
from pdb_core.encoding import Cost, Encoding
from pdb_core.pattern import Pattern
from pdb_core.puzzle import parse_goal, parse_size
from pdb_core.table_spec import TableSpec

SMALL: list[tuple[str, str, tuple[int, ...], Encoding, Cost]] = [
    ("2x2", "blank-last", (1, 2, 3), "bits", "additive"),
    ("2x3", "blank-first", (1, 2, 3, 4, 5), "bytes", "additive"),
    ("3x3", "blank-last", (1, 2, 4), "bits", "additive"),
    ("3x3", "snail", (3, 6, 7), "bytes", "additive"),
    ("3x3", "blank-last", (1, 2, 3), "bits", "every-move"),
]


def spec_of(
    size_text: str, tiles: tuple[int, ...], encoding: Encoding = "bits", goal_text: str = "blank-last",
    cost: Cost = "additive",
) -> TableSpec:  # fmt: skip
    size = parse_size(size_text)
    return TableSpec(size, parse_goal(goal_text, size), Pattern(tiles), encoding, cost)


def check_search(spec: TableSpec, n_shards: int, n_portions: int, n_threads: int = 1) -> None:
    """Search with all shards one after another. Compare the table and the counts with those of a local search."""
    shards = [Shard(spec, divide(spec, n_shards), number, n_threads) for number in range(n_shards)]
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


@pytest.mark.tiny
@pytest.mark.parametrize(("n_shards", "n_portions"), [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize(("size_text", "goal_text", "tiles", "encoding", "cost"), SMALL)
def test_shards_give_the_table_of_a_local_search(
    size_text: str,
    goal_text: str,
    tiles: tuple[int, ...],
    encoding: Encoding,
    cost: Cost,
    n_shards: int,
    n_portions: int,
) -> None:
    check_search(spec_of(size_text, tiles, encoding, goal_text, cost), n_shards, n_portions)


@pytest.mark.parametrize(
    ("size_text", "tiles", "encoding", "n_shards", "n_portions"),
    [
        ("4x4", (1, 2, 3, 4, 5, 6), "bytes", 3, 2),
        ("5x5", (1, 2, 6, 7), "bytes", 5, 3),
        ("5x5", (1, 2, 3, 6, 7), "bits", 2, 4),
    ],
)
def test_shards_of_larger_patterns_give_the_table_of_a_local_search(
    size_text: str, tiles: tuple[int, ...], encoding: Encoding, n_shards: int, n_portions: int
) -> None:
    check_search(spec_of(size_text, tiles, encoding), n_shards, n_portions, n_threads=2)


@pytest.mark.tiny
def test_some_of_many_shards_are_empty() -> None:
    check_search(spec_of("2x2", (1,)), 7, 2)


@pytest.mark.tiny
@pytest.mark.parametrize("n_shards", [1, 2, 3, 10, 100])
def test_blocks_are_divided_evenly(n_shards: int) -> None:
    bounds = divide(spec_of("3x3", (1, 2, 4)), n_shards)
    assert (bounds[0], bounds[-1]) == (0, 84)
    sizes = np.diff(bounds)
    assert sizes.min() >= 0
    assert sizes.max() <= -(-84 // n_shards) * 2


@pytest.mark.tiny
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_integers", [1, 40])
def test_rows_arrive_as_they_were_sent(dtype: type[np.uint8 | np.uint16], n_integers: int) -> None:
    generator = np.random.default_rng(1)
    bits = generator.random((200, n_integers * 64)) < generator.choice([0.0, 0.001, 0.1, 1.0], (200, 1))
    rows = np.packbits(bits, axis=1, bitorder="little").view(dtype)
    n_active = bits.sum(axis=1, dtype=np.int32)
    chosen = np.arange(3, 200, 2)
    sent = sent_rows(0, chosen, n_active, rows)
    assert (sent.n_active == n_active[chosen]).all()
    assert len(sent.words) == np.count_nonzero(rows[chosen]) + 1
    received = np.full((len(chosen) + 2, rows.shape[1]), 7, dtype=dtype)
    sent.write_to(received, 2)
    for row, arrived in zip(chosen, received[2:], strict=True):
        assert (arrived == (rows[row] if n_active[row] else 7)).all()


@pytest.mark.tiny
def test_shard_refuses_another_level_or_a_second_advance() -> None:
    spec = spec_of("3x3", (1, 2, 4))
    shards = [Shard(spec, divide(spec, 2), number) for number in range(2)]
    for shard in shards:
        shard.set_portions(1)
        shard.start()
    received = [shards[1].rows_for(0, 1, 0)]
    with pytest.raises(LostError, match="shard 0 was made anew, or got a task twice"):
        shards[0].rows_for(1, 3, 0)
    with pytest.raises(LostError):
        shards[0].advance(2, 0, received)
    shards[0].advance(1, 0, received)
    with pytest.raises(LostError):
        shards[0].advance(1, 0, received)  # a second time: its rows are of level 1 already
    with pytest.raises(LostError):
        shards[0].finish(4)
    with pytest.raises(LostError):
        shards[0].piece(0, 1)
    shards[0].finish(1)
    with pytest.raises(LostError):
        shards[0].finish(1)
    made_anew = Shard(spec, divide(spec, 2), 0)
    for task in (lambda: made_anew.rows_for(1, 1, 0), lambda: made_anew.advance(1, 0, [])):
        with pytest.raises(LostError):
            task()


@pytest.mark.tiny
def test_shard_cannot_be_pickled() -> None:
    shard = Shard(spec_of("2x2", (1,)), (0, 4), 0)
    with pytest.raises(TypeError, match="stays with its worker"):
        pickle.dumps(shard)
