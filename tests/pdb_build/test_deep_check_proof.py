"""Steps of the deep check: its moves and distances equal naive ones, and its proof rejects wrong distances."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pdb_build import deep_check
from pdb_build.deep_check_kernels import UNREACHED, compare_neighbours, find_value
from pdb_build.deep_check_space import Bytes, jump_permutations, state_space
from pdb_core.errors import WrongAnswerError
from pdb_core.puzzle import Board, BoardSize
from tests.naive import boards_and_tables as naive
from tests.pdb_build.deep_check_cases import CASES, LAST_23, LAST_33, SIZE_23, SIZE_33, Cells, changed_values


class Steps:
    """The insides of the check for one pattern, with distances that may be spoiled before they are proved."""

    def __init__(self, size: BoardSize, goal: Board, tiles: Cells) -> None:
        self.space = state_space(size, len(tiles))
        self.goal_state = self.space.state_of(goal, tiles)
        self.distances = self.with_pool(lambda pool: deep_check._derive_distances(self.space, self.goal_state, pool))

    def with_pool(self, work):  # type: ignore[no-untyped-def]
        with ThreadPoolExecutor(2) as executor:
            return work(deep_check._WorkerPool(executor, 2, lambda stage, fraction: None))  # noqa: ARG005

    def prove(self, distances: Bytes) -> tuple[int, int]:
        return self.with_pool(lambda pool: deep_check._prove_distances(self.space, self.goal_state, distances, pool))

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


def test_every_single_wrong_distance_is_refused(steps_23: Steps) -> None:
    for steps in (Steps(SIZE_23, LAST_23, (1, 2, 3)), steps_23):
        distances = steps.distances.copy()
        for state in steps.states():
            right = int(distances[state])
            for wrong in changed_values(right):
                distances[state] = wrong
                steps.refuses(distances)
            distances[state] = right
