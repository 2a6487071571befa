"""The deep check accepts right tables and refuses all others: its proof of the distances, and its comparison."""

import math
import time
from typing import Any

import numpy as np
import pytest

from pdb_build import search_pattern
from pdb_build.deep_check import Proof, prove_distances, prove_table, required_bytes
from pdb_core.encoding import UNREACHED, Cost, Encoding
from pdb_core.errors import TableFileDamagedError, WrongAnswerError
from pdb_core.table_spec import TableSpec
from pdb_core.types import Bytes
from tests import rows
from tests.naive import boards_and_tables as naive
from tests.pdb_build.test_search import KINDS, Kind, naive_search
from tests.tables import spec_of

# Size | goal | tiles of the pattern.
CASES = rows("""
3x3 | blank-last | 6
2x3 | blank-last | 2 4
2x3 | blank-last | 1 2 3 4 5
3x2 | blank-first | 1 3 4 5
4x2 | 7 3 0 5 1 6 2 4 | 2 5 7
3x3 | blank-last | 5 6 8
3x3 | snail | 2 4 8
3x4 | 1 2 3 4 0 5 6 7 8 9 10 11 | 1 5
""")
# Every wrong value of this table is tried, of other tables some.
SMALLEST = CASES[1]


def prove(spec: TableSpec, table: Bytes, **options: Any) -> Proof:
    return prove_table(spec, table, n_threads=1, **options)


def wrong_distances(right: int) -> set[int]:
    """Return wrong values of a distance: those near the right one, and those with a meaning of their own."""
    return ({(right + change) % 256 for change in (1, 2, -1, -2)} | {0, UNREACHED}) - {right}


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
@pytest.mark.parametrize(("size", "goal", "tiles"), CASES)
def test_right_tables_are_proved_and_wrong_ones_refused(size: str, goal: str, tiles: str, kind: Kind) -> None:
    spec = spec_of(size, goal, tiles, *kind)
    given = (spec.size, spec.goal, spec.pattern.tiles)
    content, _, states = naive_search(*given, kind)
    table = np.frombuffer(bytearray(content), dtype=np.uint8)
    proof = prove(spec, table)
    assert (proof.n_reached, proof.max_distance) == (len(states), max(states))
    assert (proof.n_entries, proof.n_transitions) == (spec.n_entries, spec.n_transitions * spec.n_orders)
    if spec.cost == "additive" and proof.n_reached == proof.n_states:
        distances = naive.naive_pattern_distances(*given)
        assert proof.n_transitions == sum(len(naive.naive_pattern_moves(state, spec.size)) for state in distances)
    step = 1 if [size, goal, tiles] == SMALLEST else len(table) // 4 + 1
    for at in {*range(0, len(table), step), len(table) - 1}:
        right = int(table[at])
        is_bits = spec.encoding == "bits"
        for wrong in {right ^ 1 << bit for bit in range(8)} if is_bits else wrong_distances(right):
            table[at] = wrong
            with pytest.raises(
                TableFileDamagedError, match=f"^byte {at} of .* {spec.pattern} is {wrong} where {right} "
            ):
                prove(spec, table)
        table[at] = right


@pytest.mark.slow
def test_complete_5x2_puzzle_has_its_published_size_and_diameter() -> None:
    # Nine tiles have more arrangements than 16 bits count. 55 moves: OEIS A090036 and A151944.
    spec = spec_of("5x2", "blank-last", "1 2 3 4 5 6 7 8 9")
    proof = prove(spec, search_pattern(spec, n_threads=2).table)
    assert (proof.n_reached, proof.max_distance) == (math.factorial(10) // 2, 55)


@pytest.mark.parametrize(
    ("size", "tiles", "encoding", "cost", "distances", "excess"),
    [
        # Blocks, and bytes of a block: k!. The rows of the search take a quarter of that; its layout counts most for
        # few tiles.
        ("4x4", "1 2 3 4 5 6 7 8", "bytes", "additive", 35_347 * 40_320, 1.3),
        ("5x5", "1 2 3 4 5 6", "bytes", "additive", 251_400 * 720, 1.9),
        ("4x4", "1 2 3 4 5 6 7", "bits", "every-move", 102_960 * 5_040, 1.35),
    ],
)
def test_required_memory_is_estimated(
    size: str, tiles: str, encoding: Encoding, cost: Cost, distances: int, excess: float
) -> None:
    spec = spec_of(size, "blank-last", tiles, encoding, cost)
    assert 1.25 < required_bytes(spec) / distances < excess


@pytest.mark.tiny
def test_progress_rises_to_the_end_of_every_stage_and_can_be_interrupted() -> None:
    seen: dict[str, list[float]] = {}
    spec = spec_of("3x3", "blank-last", "1 2")
    table = search_pattern(spec, n_threads=2).table
    prove(spec, table, progress=lambda stage, fraction: seen.setdefault(stage, []).append(fraction))
    assert [stage.split()[0] for stage in seen] == ["searching", "proving"]
    for stage, fractions in seen.items():
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1

        def interrupt(at: str, _fraction: float, stage: str = stage) -> None:
            if at == stage:
                raise KeyboardInterrupt

        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            prove(spec, table, progress=interrupt)
        assert time.perf_counter() - start < 2


# The proof of the distances, without which an error of the search would be in the table and in the check.


def distances_of(spec: TableSpec) -> Bytes:
    return search_pattern(spec, n_threads=2, zero_aware=True).table


def assert_refused(spec: TableSpec, table: Bytes, distances: Bytes) -> None:
    with pytest.raises(WrongAnswerError, match="fail their own proof"):
        prove_distances(spec, distances, table, n_threads=1)


@pytest.mark.tiny
def test_distances_to_either_of_two_goals_are_refused() -> None:
    # Smooth everywhere, with a second 0: only the count of zeros gives it away. The other goal has the same parity.
    one, other = (spec_of("3x3", goal, "5 6 8") for goal in ("blank-last", "6 5 3 4 1 2 7 8 0"))
    distances, others = distances_of(one), distances_of(other)
    assert distances[others == 0] % 2 == 0
    assert_refused(one, search_pattern(one, n_threads=2).table, np.minimum(distances, others))


@pytest.mark.tiny
def test_second_component_with_distances_of_its_own_is_refused() -> None:
    one, other = (spec_of("2x3", goal, "1 2 3 4 5") for goal in ("blank-last", "2 1 3 4 5 0"))
    table, distances, others = search_pattern(one, n_threads=2).table, distances_of(one), distances_of(other)
    assert ((others == UNREACHED) != (distances == UNREACHED)).all()
    assert_refused(one, table, others)
    for change in (0, 1, 2):
        raised = np.where(others == UNREACHED, others, others + np.uint8(change))
        assert_refused(one, table, np.minimum(distances, raised))


# With five tiles, half of the states are unreached.
@pytest.mark.parametrize(("tiles", "step"), [("2 4", 1), ("1 2 3 4 5", 13)])
def test_every_single_wrong_distance_is_refused(tiles: str, step: int) -> None:
    spec = spec_of("2x3", "blank-last", tiles)
    table, distances = search_pattern(spec, n_threads=2).table, distances_of(spec)
    for at in range(0, len(distances), step):
        right = int(distances[at])
        for wrong in wrong_distances(right):
            distances[at] = wrong
            assert_refused(spec, table, distances)
        distances[at] = right
