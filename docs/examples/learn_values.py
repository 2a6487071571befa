"""Train a network to predict distances on the 15-puzzle, with PyTorch: pip install torch.

python learn_values.py [BATCHES]: number of batches of each worker in an epoch.
"""

import sys
from collections.abc import Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset

import tilepdb


def one_hot(boards: np.ndarray) -> np.ndarray:
    """Return boards as float32[m, n_cells ** 2]: for each cell, which tile is on it."""
    m, n_cells = boards.shape
    return np.eye(n_cells, dtype=np.float32)[boards].reshape(m, n_cells * n_cells)


class Labels(IterableDataset):
    """Batches of features, distances and optimal actions, with other boards in each worker and in each epoch.

    Workers import this file, so the class is not in a function. The solver is pickled for each worker, which opens the
    file of the table again.
    """

    def __init__(self, solver: tilepdb.Solver, n_batches: int, n_each: int = 256) -> None:
        self.solver, self.n_batches, self.n_each = solver, n_batches, n_each

    def __iter__(self) -> Iterator[tuple[np.ndarray, ...]]:
        # PyTorch gives the generator of each worker another seed in each epoch.
        seed = int(torch.randint(1 << 62, ()))
        goal = self.solver.goal
        walks = tilepdb.RandomWalks(goal.size, goal, self.n_batches * self.n_each, seed, lengths=range(1, 200))
        for labelled in tilepdb.label(walks, self.solver, chunk=self.n_each, n_threads=1):
            yield one_hot(labelled.boards), labelled.distances.astype(np.float32), labelled.optimal_actions


def main(n_batches: int = 500, n_epochs: int = 2) -> None:
    """Train for a while, and print the loss."""
    network = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)
    )
    optimizer = torch.optim.Adam(network.parameters())
    labels = Labels(tilepdb.Solver.standard(4), n_batches)
    loader = DataLoader(labels, batch_size=None, num_workers=2, multiprocessing_context="spawn")
    for epoch in range(n_epochs):
        for step, (features, distances, _actions) in enumerate(loader):
            loss = torch.nn.functional.mse_loss(network(features)[:, 0], distances)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                print(epoch, step, float(loss))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
