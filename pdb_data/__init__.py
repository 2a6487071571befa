"""Datasets of boards with exact labels: distances, optimal first moves, and the distances after each move.

Start reading in `labelling`. docs/how-to/datasets.md describes the files.
"""

from pdb_data.dataset import write_labels
from pdb_data.labelling import LabelledBoards, label
from pdb_data.sources import BoardSource, GivenBoards, RandomBoards, RandomWalks

__all__ = [
    "BoardSource",
    "GivenBoards",
    "LabelledBoards",
    "RandomBoards",
    "RandomWalks",
    "label",
    "write_labels",
]
