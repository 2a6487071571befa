"""The search: tables equal those of a naive search, and the histograms on record."""

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pdb_build.search import search_pattern
from pdb_core.board_size import BoardSize, parse_size
from pdb_core.encoding import UNREACHED, Cost, Encoding
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Tiles, parse_goal
from pdb_core.table_spec import TableSpec
from pdb_query import read_table_header
from tests import rows
from tests.naive import boards_and_tables as naive
from tests.naive.standard_tables import naive_every_move_bits, naive_every_move_distances
from tests.solving import golden_rows
from tests.tables import spec_of, table_file

Kind = tuple[Encoding, Cost]
KINDS: list[Kind] = [("bits", "every-move"), ("bytes", "additive"), ("bits", "additive")]


def every_pattern(size: BoardSize) -> list[tuple[int, ...]]:
    tiles = range(1, size.n_cells)
    return [pattern for n_tiles in tiles for pattern in itertools.combinations(tiles, n_tiles)]


def naive_search(
    size: BoardSize, goal: Tiles, tiles: tuple[int, ...], kind: Kind
) -> tuple[bytes, list[int], list[int]]:
    """Return the table, the distances that its histogram counts, and the distance of each state."""
    if kind == ("bits", "every-move"):
        every_move = list(naive_every_move_distances(size, goal, tiles).values())
        return naive_every_move_bits(size, goal, tiles), every_move, every_move
    distances = list(naive.naive_pattern_distances(size, goal, tiles).values())
    if kind == ("bits", "additive"):
        return naive.naive_bits(size, goal, tiles), distances, distances
    table = naive.naive_additive_min(size, goal, tiles)
    return bytes(table), [distance for distance in table if distance != UNREACHED], distances


def counts(distances: list[int]) -> tuple[int, ...]:
    of = Counter(distances)
    return tuple(of[distance] for distance in range(max(of) + 1))


# Size | goal | patterns, by default every one of the board.
TABLES = rows("""
2x2 | blank-last |
2x3 | blank-first |
3x2 | snail |
3x3 | blank-last | 1 1,2,4
3x3 | blank-first | 3,6,7,8
3x3 | 1 2 3 8 0 4 7 6 5 | 1,3,5
3x3 | 1 0 3 8 2 4 7 6 5 | 2,8
4x2 | blank-last | 1,4,7
2x5 | blank-last | 1,2,9
6x2 | blank-first | 5,6
4x3 | blank-last | 2,11
""")


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
@pytest.mark.parametrize(("size_text", "goal_text", "patterns"), TABLES)
def test_small_tables_equal_naive(size_text: str, goal_text: str, patterns: str, kind: Kind) -> None:
    size = parse_size(size_text)
    goal = parse_goal(goal_text, size)
    given = [tuple(map(int, pattern.split(","))) for pattern in patterns.split()]
    for tiles in given or every_pattern(size):
        told: list[tuple[int, int]] = []
        found = search_pattern(
            TableSpec(size, goal, Pattern(tiles), *kind),
            n_threads=1 + len(tiles) % 2,
            progress=lambda _depth, n, total, told=told: told.append((n, total)),  # type: ignore[misc]
        )
        table, distances, states = naive_search(size, goal, tiles, kind)
        assert found.table.tobytes() == table
        assert found.histogram == counts(distances)
        assert found.states_per_depth == counts(states)
        assert told == sorted(told)
        assert told[-1][0] == told[-1][1]


def golden_histograms() -> Iterator[Any]:
    """Yield tables with their histograms: those in bytes are published, the others agree with them or the naive search.

    The search of eight tiles in bytes is slow; the histograms of the 78 tables in bits are compared in every run.
    """
    for row in golden_rows("histograms.csv"):
        histogram = tuple(map(int, row["histogram"].split()))
        spec = spec_of(row["board"], "blank-last", row["tiles"], row["encoding"], row["cost"])  # type: ignore[arg-type]
        is_slow = spec.encoding == "bytes" and sum(histogram) > 10**8
        name = f"{spec.size}-{spec.pattern}-{spec.encoding}-{spec.cost}"
        yield pytest.param(spec, histogram, id=name, marks=[pytest.mark.slow] if is_slow else [])


@pytest.mark.parametrize(("spec", "histogram"), list(golden_histograms()))
def test_histograms_are_those_on_record(spec: TableSpec, histogram: tuple[int, ...]) -> None:
    if (spec.encoding, spec.cost) == ("bits", "additive"):
        header = read_table_header(table_file("78", "4x4", encoding="bits"))
        assert {entry.pattern: entry.histogram for entry in header.patterns}[spec.pattern] == histogram
        return
    found = search_pattern(spec, n_threads=2)
    assert found.histogram == histogram
    if spec.encoding == "bytes":
        in_table = sum(np.bincount(piece, minlength=256) for piece in np.array_split(found.table, 200))
        assert tuple(in_table[: len(histogram)]) == histogram
        assert sum(histogram) + in_table[UNREACHED] == len(found.table) == spec.n_entries
