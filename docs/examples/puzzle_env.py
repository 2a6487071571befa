"""Sliding-tile puzzle as an environment for Gymnasium, with the exact distance: pip install gymnasium."""

import numpy as np

import tilepdb

try:
    from gymnasium import Env
    from gymnasium.spaces import Box, Discrete
except ImportError:  # the environment also works without it
    Env, Box, Discrete = object, None, None

STEPS = ((-1, 0), (0, -1), (0, 1), (1, 0))  # of the blank: up, left, right, down


class PuzzleEnv(Env):
    """Move the blank until the board is the goal. Each move costs 1."""

    def __init__(self, solver: tilepdb.Solver, max_walk: int = 50) -> None:
        self.solver, self.goal, self.max_walk = solver, solver.goal, max_walk
        n_cells = self.goal.size.n_cells
        if Box is not None:
            self.observation_space = Box(0, n_cells - 1, (n_cells,), np.uint8)
            self.action_space = Discrete(4)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:  # noqa: ARG002
        """Begin at the end of a random walk from the goal."""
        generator = np.random.default_rng(seed)
        length = int(generator.integers(1, self.max_walk + 1))
        walks = tilepdb.RandomWalks(self.goal.size, self.goal, 1, int(generator.integers(1 << 32)), length)
        self.board = tilepdb.Board(next(walks.blocks())[0], self.goal.size)
        return self._seen()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Move the blank; at an edge it stays."""
        size = self.goal.size
        row, column = np.add(size.row_and_column(self.board.index(0)), STEPS[action]).tolist()
        if 0 <= row < size.height and 0 <= column < size.width:
            self.board = self.board.move(self.board[size.cell(row, column)])
        board, info = self._seen()
        return board, -1.0, self.board == self.goal, False, info

    def _seen(self) -> tuple[np.ndarray, dict]:
        labels = self.solver.label([self.board], n_threads=1)
        return np.array(self.board, dtype=np.uint8), {
            "distance": int(labels.distances[0]),
            "optimal_actions": labels.optimal_actions[0],
        }


if __name__ == "__main__":
    env = PuzzleEnv(tilepdb.Solver.standard(4))
    board, info = env.reset(seed=0)
    while info["distance"]:
        board, reward, is_over, _, info = env.step(int(info["optimal_actions"].argmax()))
        print(board.tolist(), info["distance"])
