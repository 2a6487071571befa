"""`tilepdb.gym`: the environment passes Gymnasium's checks, is reproducible, and leads to the goal."""

import os
from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import tilepdb.gym
from pdb_core.errors import BoardError, InputError, UnsolvableError
from tests.command_line import BOARD, UNSOLVABLE, python

Env = gymnasium.Env[tilepdb.gym.Observation, Any]


@pytest.fixture(scope="module")
def solver() -> Iterator[tilepdb.Solver]:
    with tilepdb.Solver.standard(3) as opened:
        yield opened


@pytest.fixture
def env(solver: tilepdb.Solver) -> Env:
    return gymnasium.make("tilepdb/SlidingTiles-v0", solver=solver, max_walk=30, render_mode="ansi")


def test_environment_passes_the_checks_of_gymnasium(env: Env) -> None:
    """Their warnings are errors, too."""
    check_env(env.unwrapped)
    assert gymnasium.make("tilepdb/SlidingTiles-v0", size=3).observation_space == env.observation_space


def test_seeded_episodes_are_reproducible(env: Env) -> None:
    runs = []
    for seed, options in ((1, None), (1, None), (2, None), (1, {"board": BOARD})):
        first, _ = env.reset(seed=seed, options=options)
        runs.append([first.tolist(), *(env.reset()[0].tolist() for _ in range(5))])
    assert runs[0] == runs[1] != runs[2]
    assert runs[3][1:] == runs[0][:5]  # the walks begin at the seed, too, if the first board is given
    assert len(set(map(tuple, runs[0]))) == 6


def test_optimal_actions_lead_to_the_goal(env: Env, solver: tilepdb.Solver) -> None:
    observation, info = env.reset(options={"board": BOARD})
    assert info["distance"] == 31
    assert env.render() == str(tilepdb.Board(BOARD))
    is_over = False
    for distance in range(30, -1, -1):
        assert not is_over
        action = info["optimal_actions"].argmax()
        assert info["action_mask"][action] == 1
        observation, reward, is_over, is_truncated, info = env.step(action)
        assert (reward, info["distance"], is_truncated) == (-1, distance, False)
    assert is_over
    assert tuple(observation.tolist()) == solver.goal
    assert info["action_mask"].tolist() == [1, 1, 0, 0]
    assert env.step(3)[0].tolist() == observation.tolist()  # below the blank, the board ends


def test_episodes_without_labels() -> None:
    """They need no table, and moves that the mask allows lead on."""
    env = tilepdb.gym.SlidingTiles("4x3", goal="snail", labels=False)
    _, info = env.reset(seed=1)
    assert list(info) == ["action_mask"]
    assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()
    env.reset(options={"board": tilepdb.parse_goal("snail", "4x3").move(11)})  # which was left of the blank
    _, _, is_over, _, info = env.step(2)
    assert is_over
    assert list(info) == ["action_mask"]


@pytest.mark.slow
def test_masked_actions_of_sb3_contrib_learn_to_solve() -> None:
    """With PyTorch and sb3-contrib, which scripts/test --slow installs. Warnings of theirs are errors, too."""
    program = """
import gymnasium, tilepdb.gym
from sb3_contrib import MaskablePPO
env = gymnasium.make("tilepdb/SlidingTiles-v0", size=2, labels=False, max_episode_steps=8)
model = MaskablePPO("MlpPolicy", env, n_steps=256, seed=1, device="cpu")
for n_steps in (0, 4096):
    model.learn(n_steps)
    n_solved = 0
    for seed in range(50):
        observation, _ = env.reset(seed=seed)
        is_over = is_truncated = False
        while not is_over and not is_truncated:
            mask = env.get_wrapper_attr("action_masks")()
            action, _ = model.predict(observation, action_masks=mask, deterministic=True)
            assert mask[action]
            observation, _, is_over, is_truncated, _ = env.step(action)
        n_solved += is_over
    print(n_solved)
"""
    ran = python(program, env=os.environ | {"PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1"})
    assert not ran.stderr
    untrained, trained = map(int, ran.stdout.split())
    assert untrained + 10 < trained


def test_invalid_arguments_are_refused(env: Env) -> None:
    env.reset(seed=1)
    with pytest.raises(InputError, match="action is 4; give a whole number from 0 to 3"):
        env.step(4)
    with pytest.raises(UnsolvableError):
        env.reset(options={"board": UNSOLVABLE})
    with pytest.raises(BoardError):
        env.reset(options={"board": "1 2 3 0"})
    for max_walk in (0, 1_000_001):
        with pytest.raises(InputError, match=f"max_walk is {max_walk}; give a whole number from 1 to 1,000,000"):
            tilepdb.gym.SlidingTiles(3, max_walk=max_walk)
