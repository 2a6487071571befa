"""The deep check accepts right tables and refuses everything else."""

import math
import time

import numpy as np
import pytest

from pdb_build.deep_check import required_bytes
from pdb_build.deep_check_kernels import UNREACHED
from pdb_build.deep_check_space import Bytes
from pdb_core.errors import TableFileDamagedError
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Board, BoardSize, blank_last
from pdb_core.table_spec import TableSpec
from tests.naive import boards_and_tables as naive
from tests.pdb_build.deep_check_cases import (
    CASES,
    LAST_23,
    LAST_33,
    MIDDLE_33,
    SIZE_23,
    SIZE_33,
    Cells,
    changed_values,
    prove,
)


def naive_table(size: BoardSize, goal: Board, tiles: Cells) -> Bytes:
    return np.array(naive.naive_additive_min(size, goal, tiles), dtype=np.uint8)


def naive_bits(size: BoardSize, goal: Board, tiles: Cells) -> Bytes:
    return np.frombuffer(naive.naive_bits(size, goal, tiles), dtype=np.uint8)


# Right tables.


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "goal", "tiles"), CASES)
def test_right_table_is_proved(size: BoardSize, goal: Board, tiles: Cells) -> None:
    distances = naive.naive_pattern_distances(size, goal, tiles)
    table = naive_table(size, goal, tiles)
    proof = prove(size, goal, tiles, table, n_threads=2)
    assert proof.n_reached == len(distances)
    assert proof.max_distance == max(distances.values())
    assert proof.n_entries == math.perm(size.n_cells, len(tiles))
    assert proof.n_unreached_entries == np.count_nonzero(table == UNREACHED)
    all_moves = sum(len(naive.naive_pattern_moves(state, size)) for state in distances)
    if proof.n_reached == proof.n_states:
        assert proof.n_transitions == all_moves
    assert proof.seconds >= proof.derive_s + proof.prove_s


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "goal", "tiles"), CASES)
def test_right_bits_are_proved_and_every_wrong_one_is_refused(size: BoardSize, goal: Board, tiles: Cells) -> None:
    table = naive_bits(size, goal, tiles)
    proof = prove(size, goal, tiles, table, "bits", n_threads=2)
    distances = naive.naive_pattern_distances(size, goal, tiles)
    assert proof.n_entries == proof.n_states
    assert proof.n_entries - proof.n_unreached_entries == proof.n_reached == len(distances)
    step = max(1, 8 * len(table) // 40)
    for bit in [*range(0, 8 * len(table), step), 8 * len(table) - 1]:
        wrong = table.copy()
        wrong[bit // 8] ^= 1 << bit % 8
        with pytest.raises(TableFileDamagedError, match="is wrong"):
            prove(size, goal, tiles, wrong, "bits", n_threads=1)
    with pytest.raises(TableFileDamagedError, match="bytes where"):
        prove(size, goal, tiles, table[1:], "bits", n_threads=1)


def test_complete_8_puzzle_is_proved() -> None:
    tiles = (1, 2, 3, 4, 5, 6, 7, 8)
    table = naive_table(SIZE_33, LAST_33, tiles)
    proof = prove(SIZE_33, LAST_33, tiles, table, n_threads=2)
    assert (proof.n_reached, proof.max_distance) == (181_440, 31)
    with pytest.raises(TableFileDamagedError):
        prove(SIZE_33, MIDDLE_33, tiles, table, n_threads=2)


@pytest.mark.tiny
def test_number_of_threads_does_not_matter() -> None:
    table = naive_table(SIZE_33, MIDDLE_33, (2, 4, 8))
    proofs = [prove(SIZE_33, MIDDLE_33, (2, 4, 8), table, n_threads=n) for n in (1, 2, 5)]
    assert len({(p.n_states, p.n_reached, p.n_transitions, p.max_distance) for p in proofs}) == 1


# Wrong tables.


@pytest.mark.parametrize(
    ("size", "goal", "tiles"),
    [
        pytest.param(SIZE_23, LAST_23, (2, 4), marks=pytest.mark.tiny),
        (SIZE_33, MIDDLE_33, (1, 2)),
        (SIZE_23, LAST_23, (1, 2, 3, 4)),
    ],
)
def test_every_single_wrong_entry_is_named(size: BoardSize, goal: Board, tiles: Cells) -> None:
    table = naive_table(size, goal, tiles)
    for entry, cells in enumerate(naive.naive_placements(size.n_cells, len(tiles))):
        right = int(table[entry])
        for wrong in changed_values(right):
            table[entry] = wrong
            with pytest.raises(TableFileDamagedError) as caught:
                prove(size, goal, tiles, table, n_threads=1)
            message = str(caught.value)
            placed = ", ".join(f"{tile} on {cell}" for tile, cell in zip(tiles, cells, strict=True))
            assert message.startswith(f"entry {entry} of the table of pattern {','.join(map(str, tiles))} ")
            assert f"(the tiles on cells: {placed})" in message
            shown = [f"{value} (UNREACHED)" if value == UNREACHED else str(value) for value in (wrong, right)]
            assert f" is {shown[0]} where {shown[1]} is right; rebuild it with pdb build" in message
        table[entry] = right


@pytest.mark.tiny
def test_wrong_arguments_are_refused() -> None:
    table = naive_table(SIZE_33, LAST_33, (1, 2))
    with pytest.raises(TableFileDamagedError, match="has 71 bytes where a 3x3 board needs 72"):
        prove(SIZE_33, LAST_33, (1, 2), table[:-1], n_threads=1)
    with pytest.raises(ValueError, match="uint8"):
        prove(SIZE_33, LAST_33, (1, 2), table.astype(np.int16), n_threads=1)  # type: ignore[arg-type]


# Memory, progress, interrupts.


def first_tiles(side: int, n_tiles: int) -> TableSpec:
    size = BoardSize(side, side)
    return TableSpec(size, blank_last(size), Pattern(tuple(range(1, n_tiles + 1))), "bytes")


def test_required_memory_is_estimated_for_every_board() -> None:
    # 35,347 blocks of 40,320 states and 251,400 of 768 (720 rounded up), with little beside.
    assert 1 < required_bytes(first_tiles(4, 8)) / (35_347 * 40_320) < 1.1
    assert 1 < required_bytes(first_tiles(5, 6)) / (251_400 * 768) < 1.4
    assert required_bytes(first_tiles(6, 10)) > 10**14


@pytest.mark.tiny
def test_progress_rises_to_the_end_of_every_stage() -> None:
    seen: dict[str, list[float]] = {}
    table = naive_table(SIZE_33, LAST_33, (1, 2))

    def note(stage: str, fraction: float) -> None:
        seen.setdefault(stage, []).append(fraction)

    prove(SIZE_33, LAST_33, (1, 2), table, n_threads=2, progress=note)
    assert [stage.split()[0] for stage in seen] == ["listing", "deriving", "proving", "comparing"]
    for stage, fractions in seen.items():
        assert fractions == sorted(fractions)
        assert fractions[-1] == (0 if stage == "listing the moves" else 1)


@pytest.mark.tiny
@pytest.mark.parametrize("stage", ["listing", "deriving", "proving", "comparing"])
def test_interrupt_passes_through_promptly(stage: str) -> None:
    calls = []

    def interrupt(at: str, fraction: float) -> None:  # noqa: ARG001
        if at.startswith(stage):
            calls.append(time.perf_counter())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prove(SIZE_33, LAST_33, (1, 2), naive_table(SIZE_33, LAST_33, (1, 2)), n_threads=2, progress=interrupt)
    assert len(calls) == 1
    assert time.perf_counter() - calls[0] < 1
