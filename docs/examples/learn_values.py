"""Train a network to predict distances on the 15-puzzle, with PyTorch: pip install torch."""

from collections.abc import Iterator

import numpy as np

import tilepdb


def one_hot(boards: np.ndarray) -> np.ndarray:
    """Return boards as float32[m, n_cells ** 2]: for each cell, which tile is on it."""
    m, n_cells = boards.shape
    return np.eye(n_cells, dtype=np.float32)[boards].reshape(m, n_cells * n_cells)


def batches(solver: tilepdb.Solver, size: object, worker: int, n_batches: int, n: int) -> Iterator[tuple]:
    """Yield features, distances and optimal actions. Each worker has another seed."""
    source = tilepdb.RandomWalks(size, n_boards=n_batches * n, seed=worker, lengths=range(1, 200))
    for labelled in tilepdb.label(source, solver, chunk=n, n_threads=1):
        yield one_hot(labelled.boards), labelled.distances.astype(np.float32), labelled.optimal_actions


def main() -> None:
    """Train for a while, and print the loss."""
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Labels(IterableDataset):
        """Batches of labelled boards. The solver is pickled for each worker, which opens the file again."""

        def __init__(self, solver: tilepdb.Solver) -> None:
            self.solver = solver

        def __iter__(self) -> Iterator[tuple]:
            info = get_worker_info()
            yield from batches(self.solver, 4, 0 if info is None else info.id, n_batches=500, n=256)

    network = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)
    )
    optimizer = torch.optim.Adam(network.parameters())
    loader = DataLoader(
        Labels(tilepdb.Solver.standard(4)), batch_size=None, num_workers=2, multiprocessing_context="spawn"
    )
    for step, (features, distances, _actions) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(network(features)[:, 0], distances)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, float(loss))


if __name__ == "__main__":
    main()
