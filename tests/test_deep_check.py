"""The deep check accepts right tables and refuses everything else."""

import itertools
import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pdb_build import deep_check
from pdb_build.deep_check import prove_table, required_bytes
from pdb_build.deep_check_kernels import UNREACHED, compare_neighbours, find_value
from pdb_build.deep_check_space import Bytes, jump_permutations, state_space
from pdb_core.errors import BoardError, TableFileDamagedError, WrongAnswerError
from pdb_core.puzzle import Board, BoardSize
from tests import naive

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
    proof = prove_table(size, goal, tiles, table, n_threads=2)
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
    proof = prove_table(size, goal, tiles, table, "bits", n_threads=2)
    distances = naive.naive_pattern_distances(size, goal, tiles)
    assert proof.n_entries == proof.n_states
    assert proof.n_entries - proof.n_unreached_entries == proof.n_reached == len(distances)
    step = max(1, 8 * len(table) // 40)
    for bit in [*range(0, 8 * len(table), step), 8 * len(table) - 1]:
        wrong = table.copy()
        wrong[bit // 8] ^= 1 << bit % 8
        with pytest.raises(TableFileDamagedError, match="is wrong"):
            prove_table(size, goal, tiles, wrong, "bits", n_threads=1)
    with pytest.raises(TableFileDamagedError, match="bytes where"):
        prove_table(size, goal, tiles, table[1:], "bits", n_threads=1)


@pytest.mark.tiny
def test_complete_pattern_has_half_of_its_states_unreached() -> None:
    tiles = (1, 2, 3, 4, 5)
    proof = prove_table(SIZE_23, LAST_23, tiles, naive_table(SIZE_23, LAST_23, tiles), n_threads=1)
    assert (proof.n_states, proof.n_reached, proof.n_unreached_entries, proof.max_distance) == (720, 360, 360, 21)


def test_complete_8_puzzle_is_proved() -> None:
    tiles = (1, 2, 3, 4, 5, 6, 7, 8)
    table = naive_table(SIZE_33, LAST_33, tiles)
    proof = prove_table(SIZE_33, LAST_33, tiles, table, n_threads=2)
    assert (proof.n_reached, proof.max_distance) == (181_440, 31)
    with pytest.raises(TableFileDamagedError):
        prove_table(SIZE_33, MIDDLE_33, tiles, table, n_threads=2)


@pytest.mark.tiny
def test_number_of_threads_does_not_matter() -> None:
    table = naive_table(SIZE_33, MIDDLE_33, (2, 4, 8))
    proofs = [prove_table(SIZE_33, MIDDLE_33, (2, 4, 8), table, n_threads=n) for n in (1, 2, 5)]
    assert len({(p.n_states, p.n_reached, p.n_transitions, p.max_distance) for p in proofs}) == 1


@pytest.mark.tiny
def test_read_only_and_shaped_tables_are_accepted() -> None:
    table = naive_table(SIZE_33, LAST_33, (1, 2)).reshape(36, 2)
    table.flags.writeable = False
    prove_table(SIZE_33, LAST_33, (1, 2), table, n_threads=1)


# Wrong tables.


def changed_values(value: int) -> set[int]:
    return {(value + change) % 256 for change in (1, 2, -1, -2)} | {0, UNREACHED} - {value}


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
        for wrong in changed_values(right) - {right}:
            table[entry] = wrong
            with pytest.raises(TableFileDamagedError) as caught:
                prove_table(size, goal, tiles, table, n_threads=1)
            message = str(caught.value)
            placed = ", ".join(f"{tile} on {cell}" for tile, cell in zip(tiles, cells, strict=True))
            assert message.startswith(f"entry {entry} of the table of pattern {','.join(map(str, tiles))} ")
            assert f"(the tiles on cells: {placed})" in message
            shown = [f"{value} (UNREACHED)" if value == UNREACHED else str(value) for value in (wrong, right)]
            assert f" is {shown[0]} where {shown[1]} is right; rebuild it with pdb build" in message
        table[entry] = right


@pytest.mark.tiny
def test_unreached_entry_given_a_distance_is_refused() -> None:
    tiles = (1, 2, 3, 4, 5)
    table = naive_table(SIZE_23, LAST_23, tiles)
    entry = int(np.flatnonzero(table == UNREACHED)[0])
    table[entry] = 7
    with pytest.raises(TableFileDamagedError, match=rf"entry {entry} .* is 7 where 255 \(UNREACHED\) is right"):
        prove_table(SIZE_23, LAST_23, tiles, table, n_threads=1)


@pytest.mark.tiny
def test_swapped_entries_are_refused_at_the_first() -> None:
    table = naive_table(SIZE_33, LAST_33, (1, 2))
    generator = np.random.default_rng(1)
    for _ in range(20):
        first, second = sorted(generator.choice(len(table), 2, replace=False).tolist())
        if table[first] == table[second]:
            continue
        wrong = table.copy()
        wrong[[first, second]] = wrong[[second, first]]
        with pytest.raises(TableFileDamagedError, match=f"^entry {first} "):
            prove_table(SIZE_33, LAST_33, (1, 2), wrong, n_threads=2)


@pytest.mark.tiny
@pytest.mark.parametrize("goal", [MIDDLE_33, (2, 1, 3, 4, 5, 6, 7, 8, 0), (1, 2, 3, 4, 5, 6, 7, 0, 8)])
def test_table_of_another_goal_is_refused(goal: Board) -> None:
    with pytest.raises(TableFileDamagedError):
        prove_table(SIZE_33, goal, (1, 2, 8), naive_table(SIZE_33, LAST_33, (1, 2, 8)), n_threads=1)


@pytest.mark.tiny
def test_table_that_ignores_the_blank_is_refused() -> None:
    # The fault of a published program: tiles move without the blank beside them. Here, the Manhattan distance of each.
    table = np.array(
        [abs(cells[0] // 3 - 2) + abs(cells[0] % 3 - 1) for cells in naive.naive_placements(9, 1)], dtype=np.uint8
    )
    assert (table == naive_table(SIZE_33, LAST_33, (8,))).all()
    goal = (1, 2, 3, 4, 5, 6, 0, 7, 8)
    pairs = naive.naive_placements(9, 2)
    manhattan = [sum(abs(c // 3 - 2) + abs(c % 3 - t) for t, c in enumerate(cells, start=1)) for cells in pairs]
    with pytest.raises(TableFileDamagedError):
        prove_table(SIZE_33, goal, (7, 8), np.array(manhattan, dtype=np.uint8), n_threads=1)


@pytest.mark.tiny
def test_wrong_arguments_are_refused() -> None:
    table = naive_table(SIZE_33, LAST_33, (1, 2))
    with pytest.raises(TableFileDamagedError, match="has 71 bytes where a 3x3 board needs 72"):
        prove_table(SIZE_33, LAST_33, (1, 2), table[:-1], n_threads=1)
    with pytest.raises(BoardError):
        prove_table(SIZE_33, LAST_23, (1, 2), table, n_threads=1)
    for tiles in ((2, 1), (1, 1), (0, 1), (8, 9), (), tuple(range(1, 10))):
        with pytest.raises(ValueError, match="tiles"):
            prove_table(SIZE_33, LAST_33, tiles, table, n_threads=1)
    with pytest.raises(ValueError, match="uint8"):
        prove_table(SIZE_33, LAST_33, (1, 2), table.astype(np.int16), n_threads=1)  # type: ignore[arg-type]


# The steps.


class Steps:
    """The insides of the check for one pattern, with distances that may be spoiled before they are proved."""

    def __init__(self, size: BoardSize, goal: Board, tiles: Cells) -> None:
        self.space = state_space(size, len(tiles))
        self.goal_state = self.space.state_of(goal, tiles)
        self.distances = self.with_crew(lambda crew: deep_check._derive_distances(self.space, self.goal_state, crew))

    def with_crew(self, work):  # type: ignore[no-untyped-def]
        with ThreadPoolExecutor(2) as executor:
            return work(deep_check._Crew(executor, 2, lambda stage, fraction: None))  # noqa: ARG005

    def prove(self, distances: Bytes) -> tuple[int, int]:
        return self.with_crew(lambda crew: deep_check._prove_distances(self.space, self.goal_state, distances, crew))

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
def test_moves_and_distances_agree_with_the_naive_ones(size: BoardSize, goal: Board, tiles: Cells) -> None:
    steps = Steps(size, goal, tiles)
    space = steps.space
    states = {state: steps.naive_state(*state) for state in steps.states()}
    right = naive.naive_pattern_distances(size, goal, tiles)
    assert states[steps.goal_state] == next(iter(right))
    for (block, order), state in states.items():
        targets = []
        for transition in range(space.first_transition[block], space.first_transition[block + 1]):
            jump = int(space.jumps[transition])
            target_order = order if jump < 0 else int(space.permutations[jump, order])
            targets.append(states[int(space.targets[transition]), target_order])
        assert sorted(targets, key=repr) == sorted(naive.naive_pattern_moves(state, size), key=repr)
        assert steps.distances[block, order] == right.get(state, UNREACHED)
    assert (steps.distances[:, space.n_orders :] == UNREACHED).all()


@pytest.mark.tiny
def test_permutations_agree_with_moving_labels_one_by_one() -> None:
    orders = list(itertools.permutations(range(4)))
    positions = [(i, j) for i in range(4) for j in range(4) if i != j]
    for (i, j), permutation in zip(positions, jump_permutations(4, positions), strict=True):
        for rank, order in enumerate(orders):
            moved = list(order)
            moved.insert(j, moved.pop(i))
            assert orders[permutation[rank]] == tuple(moved)


@pytest.mark.tiny
def test_pairs_of_neighbours_pass_if_and_only_if_right() -> None:
    has_lower = np.zeros(1, dtype=np.uint8)
    for x, y in itertools.product([0, 1, 2, 3, 100, 101, 252, 253, 254, 255], range(256)):
        has_lower[0] = 0
        wrong = compare_neighbours(np.array([x], dtype=np.uint8), np.array([y], dtype=np.uint8), has_lower, 1)
        unreached = (x == UNREACHED) + (y == UNREACHED)
        assert (wrong == 0) == (unreached == 2 or (unreached == 0 and abs(x - y) == 1))
        assert has_lower[0] == (y < x)


@pytest.mark.tiny
def test_one_wrong_pair_among_many_is_noticed() -> None:
    here = np.arange(100, 140, dtype=np.uint8)
    for place in range(40):
        there = here + np.uint8(1)
        there[place] += 1
        assert compare_neighbours(here, there, np.zeros(40, dtype=np.uint8), 40) != 0


@pytest.mark.tiny
@pytest.mark.parametrize("value", [0, 1, 2, 127, 128, 200, 253])
def test_values_of_a_row_are_found(value: int) -> None:
    generator = np.random.default_rng(value)
    found = np.zeros(192, dtype=np.uint16)
    near = np.array([value, value ^ 1, value ^ 128, UNREACHED], dtype=np.uint8)
    for row in (generator.choice(near, 192), np.full(192, value, np.uint8), np.full(192, UNREACHED, np.uint8)):
        n_found = find_value(row.view(np.int64), value, found)
        assert sorted(found[:n_found].tolist()) == np.flatnonzero(row == value).tolist()


@pytest.fixture(scope="module")
def steps_33() -> Steps:
    return Steps(SIZE_33, LAST_33, (5, 6, 8))


@pytest.fixture(scope="module")
def steps_23() -> Steps:
    """All tiles of a 2x3 board: half of the states are unreached."""
    return Steps(SIZE_23, LAST_23, (1, 2, 3, 4, 5))


def reached_plus(distances: Bytes, change: int) -> Bytes:
    return np.where(distances == UNREACHED, distances, distances + np.uint8(change))


@pytest.mark.tiny
def test_right_distances_are_proved(steps_33: Steps, steps_23: Steps) -> None:
    right = naive.naive_pattern_distances(SIZE_33, LAST_33, (5, 6, 8))
    assert steps_33.prove(steps_33.distances) == (len(right), max(right.values()))
    assert steps_23.prove(steps_23.distances) == (360, 21)


def test_complete_5x2_puzzle_has_its_published_size_and_diameter() -> None:
    # Nine tiles have more arrangements than 16 bits count. 55 moves: OEIS A090036 and A151944.
    steps = Steps(BoardSize(5, 2), (1, 2, 3, 4, 5, 6, 7, 8, 9, 0), tuple(range(1, 10)))
    assert steps.space.permutations.dtype == np.uint32
    assert steps.prove(steps.distances) == (math.factorial(10) // 2, 55)


@pytest.mark.tiny
def test_distances_all_too_large_are_refused(steps_33: Steps, steps_23: Steps) -> None:
    for steps in (steps_33, steps_23):
        for change in (1, 2):
            steps.refuses(reached_plus(steps.distances, change))


@pytest.mark.tiny
def test_distances_of_another_goal_are_refused(steps_33: Steps) -> None:
    for goal in (MIDDLE_33, (1, 2, 3, 4, 6, 5, 7, 8, 0), (1, 2, 3, 4, 0, 5, 7, 8, 6)):
        steps_33.refuses(Steps(SIZE_33, goal, (5, 6, 8)).distances)


@pytest.mark.tiny
def test_distances_to_either_of_two_goals_are_refused(steps_33: Steps) -> None:
    # Smooth everywhere, with a second 0: only the count of zeros gives it away. The other goal has the same parity.
    other = Steps(SIZE_33, (6, 5, 3, 4, 1, 2, 7, 8, 0), (5, 6, 8))
    assert steps_33.distances[other.goal_state] % 2 == 0
    steps_33.refuses(np.minimum(steps_33.distances, other.distances))


@pytest.mark.tiny
def test_second_component_with_distances_of_its_own_is_refused(steps_23: Steps) -> None:
    other = Steps(SIZE_23, (2, 1, 3, 4, 5, 0), (1, 2, 3, 4, 5)).distances
    assert ((other == UNREACHED) != (steps_23.distances == UNREACHED))[:, : steps_23.space.n_orders].all()
    for change in (0, 1, 2):
        steps_23.refuses(np.minimum(steps_23.distances, reached_plus(other, change)))
    steps_23.refuses(other)


@pytest.mark.tiny
def test_nothing_reached_is_refused(steps_33: Steps) -> None:
    steps_33.refuses(np.full_like(steps_33.distances, UNREACHED))


@pytest.mark.tiny
def test_local_dip_is_refused(steps_33: Steps) -> None:
    # A local maximum lowered by 2 still differs from every neighbour by 1, but has no lower one: the third condition.
    distances = steps_33.distances.copy()
    state = np.unravel_index(np.where(distances == UNREACHED, 0, distances).argmax(), distances.shape)
    distances[state] -= 2
    steps_33.refuses(distances)


@pytest.mark.tiny
def test_local_peak_is_refused(steps_33: Steps) -> None:
    # A local maximum raised by 2 leaves every state with a lower neighbour: the second condition alone refuses it.
    distances = steps_33.distances.copy()
    state = np.unravel_index(np.where(distances == UNREACHED, 0, distances).argmax(), distances.shape)
    distances[state] += 2
    steps_33.refuses(distances)


@pytest.mark.tiny
def test_doubled_distances_are_refused(steps_33: Steps) -> None:
    distances = steps_33.distances
    steps_33.refuses(np.where(distances == UNREACHED, distances, distances * 2))


def test_every_single_wrong_distance_is_refused(steps_23: Steps) -> None:
    for steps in (Steps(SIZE_23, LAST_23, (1, 2, 3)), steps_23):
        distances = steps.distances.copy()
        for state in steps.states():
            right = int(distances[state])
            for wrong in changed_values(right) - {right}:
                distances[state] = wrong
                steps.refuses(distances)
            distances[state] = right


# Memory, progress, interrupts.


@pytest.mark.tiny
def test_required_memory_covers_the_arrays(steps_33: Steps) -> None:
    space = steps_33.space
    arrays = (steps_33.distances, space.first_block, space.first_transition, space.targets, space.permutations)
    assert sum(array.nbytes for array in arrays) <= required_bytes(SIZE_33, 3) < 1_000_000


def test_required_memory_is_estimated_for_every_board() -> None:
    # 35,347 blocks of 40,320 states and 251,400 of 768 (720 rounded up), with little beside.
    assert 1 < required_bytes(BoardSize(4, 4), 8) / (35_347 * 40_320) < 1.1
    assert 1 < required_bytes(BoardSize(5, 5), 6) / (251_400 * 768) < 1.4
    assert required_bytes(BoardSize(6, 6), 10) > 10**14
    with pytest.raises(ValueError, match="1 to 5 tiles, not 6"):
        required_bytes(SIZE_23, 6)


@pytest.mark.tiny
def test_progress_rises_to_the_end_of_every_stage() -> None:
    seen: dict[str, list[float]] = {}
    table = naive_table(SIZE_33, LAST_33, (1, 2))

    def note(stage: str, fraction: float) -> None:
        seen.setdefault(stage, []).append(fraction)

    prove_table(SIZE_33, LAST_33, (1, 2), table, n_threads=2, progress=note)
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
        prove_table(SIZE_33, LAST_33, (1, 2), naive_table(SIZE_33, LAST_33, (1, 2)), n_threads=2, progress=interrupt)
    assert len(calls) == 1
    assert time.perf_counter() - calls[0] < 1
