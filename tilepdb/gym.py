"""Sliding-tile puzzle as an environment of Gymnasium. The import registers `tilepdb/SlidingTiles-v0`.

It needs the extra `gym`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import as_choice, as_count, check_kind
from pdb_core.board_size import SizeLike
from pdb_core.messages import how_to_install
from pdb_core.puzzle import Board, BoardLike, parse_goal
from pdb_core.types import BLANK, N_MOVES
from pdb_study.labels import RandomWalks
from pdb_study.labels.sources import BLOCK, MAX_WALK
from solver.board_arrays import neighbours_by_move
from solver.solution import check_solvable
from solver.solve import Solver as DatabaseSolver
from tilepdb.solver import Solver

try:
    import gymnasium
except ImportError as error:
    raise ImportError(f"tilepdb.gym needs gymnasium: {how_to_install('gym')}", name=error.name) from error

Observation = npt.NDArray[np.uint8]


class SlidingTiles(gymnasium.Env[Observation, np.int64]):
    """Environment in which the blank moves until the board is the goal.

    An observation has the tile on each cell, row by row, 0 for the blank. The actions move the blank up (0), left (1),
    right (2) and down (3); at an edge it stays. The reward of each step is -1. `info` has the exact `distance` of the
    board, its `optimal_actions`, bool[4], and the `action_mask` of the moves that are possible, int8[4].
    `action_masks()` returns the latter as bool[4], for the algorithms of sb3-contrib that mask actions.

    `reset()` begins at the end of a random walk from the goal, `reset(options={"board": board})` at a board of yours.

    Parameters
    ----------
    size
        Size of the board, for its standard table.
    goal
        Goal of the board, a board or a name.
    solver
        Another solver, whose boards and goal are used instead of `size` and `goal`.
    labels
        False: do not search, so `info` has only the `action_mask`; a step takes microseconds.
    max_walk
        Most moves of a random walk, at most a million.
    render_mode
        "ansi" for a drawing as text.

    Raises
    ------
    InputError
        If an argument is invalid.
    PdbError
        The errors of `Solver.standard`.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (as in `Env`)

    def __init__(
        self,
        size: SizeLike = 4,
        *,
        goal: BoardLike = "blank-last",
        solver: DatabaseSolver | None = None,
        labels: bool = True,
        max_walk: int = 50,
        render_mode: str | None = None,
    ) -> None:
        check_kind(solver, DatabaseSolver | None, "solver", "a Solver, or None")
        if solver is None:
            self.goal = parse_goal(goal, size)
            solver = Solver.standard(self.goal.size, self.goal) if labels else None
        else:
            self.goal = solver.goal
        self.solver = solver if labels else None
        self.max_walk = as_count(max_walk, "max_walk", 1, MAX_WALK)
        self.render_mode = None if render_mode is None else as_choice(render_mode, "render_mode", ["ansi"])
        self.board = self.goal
        self._walked: list[Observation] = []  # the last boards of random walks, which are made by the block
        self._cells = neighbours_by_move(self.goal.size)
        n_cells = self.goal.size.n_cells
        self.observation_space = gymnasium.spaces.Box(0, n_cells - 1, (n_cells,), dtype=np.uint8)
        self.action_space = gymnasium.spaces.Discrete(N_MOVES)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode. Raises `BoardError` and `UnsolvableError` for a board in `options` that cannot be used."""
        super().reset(seed=seed)
        if seed is not None:
            self._walked.clear()
        size, self.board = self.goal.size, self.goal
        if options and "board" in options:
            self.board = Board(options["board"], size)
            check_solvable(self.board, self.goal, size)
            return self._state()
        while self.board == self.goal:
            if not self._walked:
                *lengths, walk_seed = self.np_random.integers(1, [self.max_walk + 1] * BLOCK + [1 << 32]).tolist()
                (boards,) = RandomWalks(size, self.goal, BLOCK, walk_seed, lengths).blocks()
                self._walked.extend(boards)
            self.board = Board(self._walked.pop(), size)
        return self._state()

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Move the blank. Raises `InputError` for an action that does not exist."""
        cell = self._cells[self.board.index(BLANK), as_count(action, "action", 0, N_MOVES - 1)]
        if cell >= 0:
            self.board = self.board.move(self.board[cell])
        observation, info = self._state()
        return observation, -1.0, self.board == self.goal, False, info

    def render(self) -> str | None:
        """Return the drawing of the board, or None without a render mode."""
        return None if self.render_mode is None else str(self.board)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return whether each move is possible, bool[4]."""
        masks: npt.NDArray[np.bool_] = self._cells[self.board.index(BLANK)] >= 0
        return masks

    def _state(self) -> tuple[Observation, dict[str, Any]]:
        info: dict[str, Any] = {"action_mask": self.action_masks().astype(np.int8)}
        if self.solver is not None:
            found = self.solver.label([self.board], n_threads=1)
            assert found.optimal_actions is not None
            info |= {"distance": int(found.distances[0]), "optimal_actions": found.optimal_actions[0]}
        return np.array(self.board, dtype=np.uint8), info


gymnasium.register("tilepdb/SlidingTiles-v0", "tilepdb.gym:SlidingTiles", max_episode_steps=1000)
