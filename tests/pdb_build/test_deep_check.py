"""The deep check accepts right tables and refuses all others: its moves, its distances, its proof, its comparison."""

import itertools
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from pdb_build import deep_check
from pdb_build.deep_check import Proof, prove_table, required_bytes
from pdb_build.deep_check_kernels import compare_neighbours
from pdb_build.deep_check_space import Bytes, state_space
from pdb_build.search import zero_aware_distances
from pdb_core.encoding import UNREACHED, Cost, Encoding
from pdb_core.errors import TableFileDamagedError, WrongAnswerError
from pdb_core.pattern import Pattern
from pdb_core.puzzle import BoardSize, Tiles, blank_last
from pdb_core.table_spec import TableSpec
from tests.naive import boards_and_tables as naive

Cells = tuple[int, ...]

SIZE_23, SIZE_32, SIZE_33, SIZE_34, SIZE_42 = (BoardSize(*s) for s in ((2, 3), (3, 2), (3, 3), (3, 4), (4, 2)))
LAST_23 = (1, 2, 3, 4, 5, 0)
FIRST_32 = (0, 1, 2, 3, 4, 5)
LAST_33 = (1, 2, 3, 4, 5, 6, 7, 8, 0)
MIDDLE_33 = (1, 2, 3, 8, 0, 4, 7, 6, 5)
MIDDLE_34 = (1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 10, 11)
MIXED_42 = (7, 3, 0, 5, 1, 6, 2, 4)

CASES = [
    (SIZE_23, LAST_23, (2, 4)),
    (SIZE_23, LAST_23, (1, 2, 5)),
    (SIZE_23, LAST_23, (1, 2, 3, 4)),
    (SIZE_23, LAST_23, (1, 2, 3, 4, 5)),
    (SIZE_32, FIRST_32, (1, 3, 4, 5)),
    (SIZE_42, MIXED_42, (2, 5, 7)),
    (SIZE_33, LAST_33, (6,)),
    (SIZE_33, LAST_33, (1, 2)),
    (SIZE_33, LAST_33, (5, 6, 8)),
    (SIZE_33, MIDDLE_33, (2, 4, 8)),
    (SIZE_34, MIDDLE_34, (1, 5)),
    (SIZE_34, MIDDLE_34, (4, 5, 11)),
]


def prove(
    size: BoardSize, goal: Tiles, tiles: Cells, table: Bytes, encoding: Encoding = "bytes", cost: Cost = "additive",
    **options: Any,
) -> Proof:  # fmt: skip
    return prove_table(TableSpec(size, goal, Pattern(tiles), encoding, cost), table, **options)


def changed_values(value: int) -> set[int]:
    """Wrong values for an entry: those near the right one, and those with a meaning of their own."""
    return ({(value + change) % 256 for change in (1, 2, -1, -2)} | {0, UNREACHED}) - {value}


def naive_table(size: BoardSize, goal: Tiles, tiles: Cells) -> Bytes:
    return np.array(naive.naive_additive_min(size, goal, tiles), dtype=np.uint8)


def naive_bits(size: BoardSize, goal: Tiles, tiles: Cells) -> Bytes:
    return np.frombuffer(naive.naive_bits(size, goal, tiles), dtype=np.uint8)


# Right and wrong tables.


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "goal", "tiles"), CASES)
def test_right_table_is_proved(size: BoardSize, goal: Tiles, tiles: Cells) -> None:
    distances = naive.naive_pattern_distances(size, goal, tiles)
    proof = prove(size, goal, tiles, naive_table(size, goal, tiles), n_threads=2)
    assert proof.n_reached == len(distances)
    assert proof.max_distance == max(distances.values())
    assert proof.n_entries == math.perm(size.n_cells, len(tiles))
    if proof.n_reached == proof.n_states:
        assert proof.n_transitions == sum(len(naive.naive_pattern_moves(state, size)) for state in distances)


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "goal", "tiles"), CASES)
def test_right_bits_are_proved_and_every_wrong_one_is_refused(size: BoardSize, goal: Tiles, tiles: Cells) -> None:
    table = naive_bits(size, goal, tiles)
    proof = prove(size, goal, tiles, table, "bits", n_threads=2)
    assert proof.n_entries == proof.n_states
    assert proof.n_reached == len(naive.naive_pattern_distances(size, goal, tiles))
    step = max(1, 8 * len(table) // 40)
    for bit in [*range(0, 8 * len(table), step), 8 * len(table) - 1]:
        wrong = table.copy()
        wrong[bit // 8] ^= 1 << bit % 8
        with pytest.raises(TableFileDamagedError, match="is wrong"):
            prove(size, goal, tiles, wrong, "bits", n_threads=1)
    with pytest.raises(TableFileDamagedError, match="bytes where"):
        prove(size, goal, tiles, table[1:], "bits", n_threads=1)


@pytest.mark.slow
def test_complete_8_puzzle_is_proved() -> None:
    tiles = (1, 2, 3, 4, 5, 6, 7, 8)
    table = naive_table(SIZE_33, LAST_33, tiles)
    proof = prove(SIZE_33, LAST_33, tiles, table, n_threads=2)
    assert (proof.n_reached, proof.max_distance) == (181_440, 31)
    with pytest.raises(TableFileDamagedError):
        prove(SIZE_33, MIDDLE_33, tiles, table, n_threads=2)


@pytest.mark.parametrize(
    ("size", "goal", "tiles"),
    [
        pytest.param(SIZE_23, LAST_23, (2, 4), marks=pytest.mark.tiny),
        (SIZE_33, MIDDLE_33, (1, 2)),
        pytest.param(SIZE_23, LAST_23, (1, 2, 3, 4), marks=pytest.mark.slow),
    ],
)
def test_every_single_wrong_entry_is_named(size: BoardSize, goal: Tiles, tiles: Cells) -> None:
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
            assert f" is {wrong} where {right} is right; rebuild it with pdb build" in message
        table[entry] = right


@pytest.mark.tiny
def test_table_of_another_size_is_refused() -> None:
    table = naive_table(SIZE_33, LAST_33, (1, 2))
    with pytest.raises(TableFileDamagedError, match="has 71 bytes where a 3x3 board needs 72"):
        prove(SIZE_33, LAST_33, (1, 2), table[:-1], n_threads=1)


# Memory, progress, interrupts.


@pytest.mark.parametrize(
    ("side", "n_tiles", "encoding", "cost", "distances", "excess"),
    [
        # Blocks, and bytes of a block: k!.
        (4, 8, "bytes", "additive", 35_347 * 40_320, 1.2),
        (5, 6, "bytes", "additive", 251_400 * 720, 2.5),
        (4, 7, "bits", "every-move", 102_960 * 5_040, 1.5),
    ],
)
def test_required_memory_is_estimated(
    side: int, n_tiles: int, encoding: Encoding, cost: Cost, distances: int, excess: float
) -> None:
    size = BoardSize(side, side)
    spec = TableSpec(size, blank_last(size), Pattern(tuple(range(1, n_tiles + 1))), encoding, cost)
    assert 1 < required_bytes(spec) / distances < excess


@pytest.mark.tiny
def test_progress_rises_to_the_end_of_every_stage() -> None:
    seen: dict[str, list[float]] = {}
    table = naive_table(SIZE_33, LAST_33, (1, 2))

    def note(stage: str, fraction: float) -> None:
        seen.setdefault(stage, []).append(fraction)

    prove(SIZE_33, LAST_33, (1, 2), table, n_threads=2, progress=note)
    assert [stage.split()[0] for stage in seen] == ["listing", "searching", "proving", "comparing"]
    for stage, fractions in seen.items():
        assert fractions == sorted(fractions)
        assert fractions[-1] == (0 if stage == "listing the moves" else 1)


@pytest.mark.tiny
@pytest.mark.parametrize("stage", ["listing", "searching", "proving", "comparing"])
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


# The steps of the check.


class Steps:
    """The insides of the check for one pattern, with distances that may be spoiled before they are proved."""

    def __init__(self, size: BoardSize, goal: Tiles, tiles: Cells) -> None:
        self.space = state_space(size, len(tiles))
        self.goal_state = self.space.state_of(goal, tiles)
        spec = TableSpec(size, goal, Pattern(tiles), "bits")
        found = zero_aware_distances(spec, n_threads=2, progress=lambda *_: None)
        self.distances = found.table.reshape(-1, spec.n_orders)

    def prove(self, distances: Bytes) -> tuple[int, int]:
        with ThreadPoolExecutor(2) as executor:
            pool = deep_check._WorkerPool(executor, 2, lambda stage, fraction: None)  # noqa: ARG005
            return deep_check.prove_distances(self.space, self.goal_state, distances, pool)

    def refuses(self, distances: Bytes) -> None:
        with pytest.raises(WrongAnswerError, match="fail their own proof"):
            self.prove(distances)

    def states(self) -> list[tuple[int, int]]:
        return list(itertools.product(range(self.space.n_blocks), range(self.space.n_orders)))

    def naive_state(self, block: int, order: int) -> naive.PatternState:
        cell_set = int(np.searchsorted(self.space.first_block, block, side="right")) - 1
        placements = naive.naive_placements(self.space.size.n_cells, self.space.n_tiles)
        cells = placements[cell_set * self.space.n_orders + order]
        number = block - self.space.first_block[cell_set]
        free = [cell for cell in range(self.space.size.n_cells) if cell not in cells]
        return cells, frozenset(cell for cell in free if self.space.region_numbers[cell, cell_set] == number)


@pytest.mark.tiny
@pytest.mark.parametrize(("size", "goal", "tiles"), [case for case in CASES if case[0].n_cells < 9 or len(case[2]) < 3])
def test_moves_and_distances_agree_with_the_naive_ones(size: BoardSize, goal: Tiles, tiles: Cells) -> None:
    steps = Steps(size, goal, tiles)
    space = steps.space
    states = {state: steps.naive_state(*state) for state in steps.states()}
    right = naive.naive_pattern_distances(size, goal, tiles)
    assert states[steps.goal_state] == next(iter(right))
    for (block, order), state in states.items():
        targets = []
        for move in range(space.moves.first[block], space.moves.first[block + 1]):
            jump = int(space.moves.jumps[move])
            target_order = order if jump < 0 else int(space.moves.permutations[jump, order])
            targets.append(states[int(space.moves.targets[move]), target_order])
        assert sorted(targets, key=repr) == sorted(naive.naive_pattern_moves(state, size), key=repr)
        assert steps.distances[block, order] == right.get(state, UNREACHED)


@pytest.mark.tiny
def test_pairs_of_neighbours_pass_if_and_only_if_right() -> None:
    has_lower = np.zeros(1, dtype=np.uint8)
    for x, y in itertools.product([0, 1, 2, 3, 100, 101, 252, 253, 254, 255], range(256)):
        has_lower[0] = 0
        wrong = compare_neighbours(np.array([x], dtype=np.uint8), np.array([y], dtype=np.uint8), has_lower)
        unreached = (x == UNREACHED) + (y == UNREACHED)
        assert (wrong == 0) == (unreached == 2 or (unreached == 0 and abs(x - y) == 1))
        assert has_lower[0] == (y < x)


@pytest.fixture(scope="module")
def steps_33() -> Steps:
    return Steps(SIZE_33, LAST_33, (5, 6, 8))


@pytest.fixture(scope="module")
def steps_23() -> Steps:
    """All tiles of a 2x3 board: half of the states are unreached."""
    return Steps(SIZE_23, LAST_23, (1, 2, 3, 4, 5))


def reached_plus(distances: Bytes, change: int) -> Bytes:
    return np.where(distances == UNREACHED, distances, distances + np.uint8(change))


def test_complete_5x2_puzzle_has_its_published_size_and_diameter() -> None:
    # Nine tiles have more arrangements than 16 bits count. 55 moves: OEIS A090036 and A151944.
    steps = Steps(BoardSize(5, 2), (1, 2, 3, 4, 5, 6, 7, 8, 9, 0), tuple(range(1, 10)))
    assert steps.space.moves.permutations.dtype == np.uint32
    assert steps.prove(steps.distances) == (math.factorial(10) // 2, 55)


@pytest.mark.tiny
def test_distances_to_either_of_two_goals_are_refused(steps_33: Steps) -> None:
    # Smooth everywhere, with a second 0: only the count of zeros gives it away. The other goal has the same parity.
    other = Steps(SIZE_33, (6, 5, 3, 4, 1, 2, 7, 8, 0), (5, 6, 8))
    assert steps_33.distances[other.goal_state] % 2 == 0
    steps_33.refuses(np.minimum(steps_33.distances, other.distances))


@pytest.mark.tiny
def test_second_component_with_distances_of_its_own_is_refused(steps_23: Steps) -> None:
    other = Steps(SIZE_23, (2, 1, 3, 4, 5, 0), (1, 2, 3, 4, 5)).distances
    assert ((other == UNREACHED) != (steps_23.distances == UNREACHED)).all()
    for change in (0, 1, 2):
        steps_23.refuses(np.minimum(steps_23.distances, reached_plus(other, change)))
    steps_23.refuses(other)


@pytest.mark.tiny
@pytest.mark.parametrize("change", [-2, 2])
def test_local_dip_or_peak_is_refused(steps_33: Steps, change: int) -> None:
    """A local maximum lowered by 2 has no lower neighbour: the third condition. Raised by 2, it fails the second."""
    distances = steps_33.distances.copy()
    state = np.unravel_index(np.where(distances == UNREACHED, 0, distances).argmax(), distances.shape)
    distances[state] += np.array(change).astype(np.uint8)
    steps_33.refuses(distances)


def test_every_single_wrong_distance_is_refused(steps_23: Steps) -> None:
    for steps in (Steps(SIZE_23, LAST_23, (1, 2, 3)), steps_23):
        distances = steps.distances.copy()
        for state in steps.states():
            right = int(distances[state])
            for wrong in changed_values(right):
                distances[state] = wrong
                steps.refuses(distances)
            distances[state] = right
