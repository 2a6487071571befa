"""Datasets of boards with exact labels: distances, optimal first moves, and the distances after each move.

Start reading in `labelling`. docs/how-to/numpy.md describes the files.

Examples
--------
After `pdb build 8`:

>>> from pdb_core.puzzle import blank_last, parse_size
>>> from pdb_study.labels import RandomBoards, write_labels
>>> from pdb_query import open_database
>>> source = RandomBoards(parse_size("3x3"), blank_last(parse_size("3x3")), 100, seed=1)
>>> with open_database("data/8.h5") as database:
...     n_unsolvable = write_labels("labels.npz", source, [database])
>>> n_unsolvable
0
"""

from pdb_study.labels.dataset import write_labels
from pdb_study.labels.labelling import label
from pdb_study.labels.sources import BoardSource, GivenBoards, RandomBoards, RandomWalks
from solver.distances import LabelledBoards, boards_at_distances, label_by_distance

__all__ = [
    "BoardSource",
    "GivenBoards",
    "LabelledBoards",
    "RandomBoards",
    "RandomWalks",
    "boards_at_distances",
    "label",
    "label_by_distance",
    "write_labels",
]
