"""The search: tables equal those of a naive search, and the published histograms."""

import csv
from collections.abc import Iterator

import numpy as np
import pytest

from pdb_build.search import search_pattern
from pdb_core.encoding import ENCODINGS, UNREACHED, Encoding
from pdb_core.layout import pattern_blocks
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import BoardSize, Tiles, blank_last, parse_goal, parse_size
from pdb_core.table_spec import TableSpec
from tests import ROOT
from tests.naive import boards_and_tables as naive

GOLDEN = ROOT / "tests" / "golden" / "histograms.csv"

SMALL = [
    ("2x2", "blank-last", (1,)),
    ("2x2", "blank-last", (1, 2, 3)),
    ("2x3", "blank-last", (1, 2)),
    ("2x3", "blank-first", (1, 2, 3, 4, 5)),
    ("3x2", "snail", (2, 4, 5)),
    ("3x2", "blank-last", (1, 2, 3, 4)),
    ("3x3", "blank-last", (1,)),
    ("3x3", "blank-last", (1, 2, 4)),
    ("3x3", "blank-first", (3, 6, 7, 8)),
    ("3x3", "1 2 3 8 0 4 7 6 5", (1, 3, 5)),
    ("3x3", "1 0 3 8 2 4 7 6 5", (2, 8)),
    ("4x2", "blank-last", (1, 4, 7)),
    ("2x5", "blank-last", (1, 2, 9)),
    ("6x2", "blank-first", (5, 6)),
    ("4x3", "blank-last", (2, 11)),
]


def histogram_rows() -> Iterator[dict[str, str]]:
    with GOLDEN.open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def naive_table(size: BoardSize, goal: Tiles, tiles: tuple[int, ...], encoding: Encoding) -> tuple[bytes, list[int]]:
    """The table, and the distances that its histogram counts: of the entries reached, or of the states."""
    if encoding == "bits":
        distances = naive.naive_pattern_distances(size, goal, tiles)
        return naive.naive_bits(size, goal, tiles), list(distances.values())
    table = naive.naive_additive_min(size, goal, tiles)
    return bytes(table), [distance for distance in table if distance != UNREACHED]


@pytest.mark.tiny
@pytest.mark.parametrize(("encoding", "n_threads"), [("bytes", 1), ("bits", 2)])
@pytest.mark.parametrize(("size_text", "goal_text", "tiles"), SMALL)
def test_small_tables_equal_naive(
    size_text: str, goal_text: str, tiles: tuple[int, ...], encoding: Encoding, n_threads: int
) -> None:
    size = parse_size(size_text)
    goal = parse_goal(goal_text, size)
    found = search_pattern(TableSpec(size, goal, Pattern(tiles), encoding), n_threads=n_threads)
    table, distances = naive_table(size, goal, tiles, encoding)
    assert found.table.tobytes() == table
    assert list(found.histogram) == [distances.count(d) for d in range(max(distances) + 1)]
    assert sum(found.histogram) == len(distances)
    states = list(naive.naive_pattern_distances(size, goal, tiles).values())
    assert list(found.states_per_depth) == [states.count(d) for d in range(max(states) + 1)]


@pytest.mark.parametrize("row", list(histogram_rows()), ids=lambda row: row["pattern_tiles"].replace(" ", ","))
def test_histogram_equals_published(row: dict[str, str]) -> None:
    size = parse_size(row["board"])
    tiles = tuple(map(int, row["pattern_tiles"].split()))
    found = search_pattern(TableSpec(size, parse_goal(row["goal"], size), Pattern(tiles), "bytes"), n_threads=2)
    assert found.histogram == tuple(map(int, row["histogram"].split()))
    assert len(found.histogram) - 1 == int(row["max"])
    assert len(found.table) == int(row["n_entries"])
    counts = sum(np.bincount(piece, minlength=256) for piece in np.array_split(found.table, 200))
    assert tuple(counts[: len(found.histogram)].tolist()) == found.histogram
    assert counts.sum() == sum(found.histogram)


def test_8_puzzle_table_holds_known_distribution() -> None:
    """All 181,440 boards by distance; 221 at 30 moves and 2 at 31 (Reinefeld 1993). The table counts blank-less
    placements, of which half cannot be reached.
    """
    size = BoardSize(3, 3)
    found = search_pattern(
        TableSpec(size, blank_last(size), parse_partition("8", size).patterns[0], "bytes"), n_threads=2
    )
    assert found.histogram == (
        1, 2, 4, 8, 16, 20, 39, 62, 116, 152, 286, 396, 748, 1024, 1893, 2512, 4485, 5638, 9529, 10878, 16993, 17110,
        23952, 20224, 24047, 15578, 14560, 6274, 3910, 760, 221, 2,
    )  # fmt: skip
    assert sum(found.histogram) == 181_440


@pytest.mark.parametrize("tiles", [(1, 5, 6, 9, 10, 13), (2, 3, 4), (9, 10, 11, 12, 13, 14, 15)])
def test_bits_have_the_minimum_of_the_bytes(tiles: tuple[int, ...]) -> None:
    """The least depth at which a placement has a state is its additive minimum; bits tell depths modulo 4."""
    size = BoardSize(4, 4)
    as_bytes, as_bits = (
        search_pattern(TableSpec(size, blank_last(size), Pattern(tiles), encoding), n_threads=2)
        for encoding in ENCODINGS
    )
    assert as_bits.states_per_depth == as_bytes.states_per_depth == as_bits.histogram
    blocks = pattern_blocks(size, len(tiles))
    bits = np.unpackbits(as_bits.table.reshape(blocks.n_blocks, -1), axis=1, bitorder="little")[:, : blocks.n_orders]
    minimum = as_bytes.table.reshape(blocks.n_sets, blocks.n_orders)
    # Where there is one region only, its states are the minimum.
    alone = np.flatnonzero(np.diff(blocks.first_block) == 1)
    assert (bits[blocks.first_block[alone]] == (minimum[alone] >> 1) & 1).all()


@pytest.mark.tiny
def test_progress_reaches_the_number_of_states() -> None:
    size = BoardSize(3, 3)
    told: list[tuple[int, int, int]] = []
    search_pattern(
        TableSpec(size, blank_last(size), Pattern((1, 2)), "bytes"),
        n_threads=1,
        progress=lambda depth, n, total: told.append((depth, n, total)),
    )
    assert told[-1][1] == told[-1][2]
    assert [n for _depth, n, _total in told] == sorted(n for _depth, n, _total in told)
