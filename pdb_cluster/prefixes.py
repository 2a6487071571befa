"""The upper part of a threshold's tree, layer by layer: what is counted there, and the subtrees that hang from it.

Nodes are counted as the search counts them (`ida_star_kernels`), so that those above and those of the subtrees add up
to the nodes of the whole threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_core.lookup import Int64s
from pdb_core.puzzle import BLANK, Board
from pdb_query import Database
from solver.engine.unit_tables import N_MOVES, blank_moves
from solver.move_pruning.move_pruning import START, MoveMachine


@dataclass(frozen=True)
class Prefixes:
    """The upper part of a threshold's tree.

    generated, expanded  its nodes
    paths                of the subtrees below, see `ida_star.subtrees`; those with the least h first, of equals those
                         with the least sums
    tiles                of a solution, should there be one in the upper part
    """

    generated: int
    expanded: int
    paths: tuple[bytes, ...]
    tiles: tuple[int, ...] | None = None


def prefixes_of(
    board: Board, threshold: int, n_wanted: int, databases: Sequence[Database], machine: MoveMachine
) -> Prefixes:
    """The subtrees of a threshold at the first depth that has at least `n_wanted` of them, or fewer where the tree has
    no more; `board` is in the terms of the first database.
    """
    size, goal = databases[0].size, databases[0].goal
    edge_cells, cell_moves = blank_moves(size)
    boards = np.array([board], dtype=np.uint8)
    paths = np.zeros((1, 0), dtype=np.uint8)
    states = np.array([START], dtype=np.int64)
    h, sums = _lower_bounds(boards, databases)
    generated = expanded = depth = 0
    while 0 < len(boards) < n_wanted:
        blanks = np.argmin(boards, axis=1)
        moves = machine.allowed_moves[states] & cell_moves[blanks]
        generated += int(np.bitwise_count(moves).sum())
        expanded += len(boards)
        # The children by each move, one after the other.
        parents, cells, child_states = [], [], []
        for move in range(N_MOVES):
            rows = np.flatnonzero(moves >> move & 1)
            parents.append(rows)
            cells.append(edge_cells[blanks[rows], move])
            child_states.append(machine.successors[states[rows], move].astype(np.int64))
        parent, cell, states = np.concatenate(parents), np.concatenate(cells), np.concatenate(child_states)
        boards, numbers = boards[parent], np.arange(len(parent))
        tiles = boards[numbers, cell]
        boards[numbers, blanks[parent]] = tiles
        boards[numbers, cell] = BLANK
        paths = np.concatenate((paths[parent], tiles[:, None]), axis=1)
        depth += 1
        at_goal = np.flatnonzero((boards == goal).all(axis=1))
        if len(at_goal) and depth <= threshold:
            return Prefixes(generated, expanded, (), tuple(paths[at_goal[0]].tolist()))
        h, sums = _lower_bounds(boards, databases)
        left = np.flatnonzero(h + depth <= threshold)
        boards, paths, states, h, sums = boards[left], paths[left], states[left], h[left], sums[left]
    return Prefixes(generated, expanded, tuple(paths[row].tobytes() for row in np.lexsort((sums, h))))


def _lower_bounds(boards: npt.NDArray[np.uint8], databases: Sequence[Database]) -> tuple[Int64s, Int64s]:
    """h of each board, the largest of all databases' sums; and all sums together."""
    h, sums = np.zeros(len(boards), dtype=np.int64), np.zeros(len(boards), dtype=np.int64)
    for database in databases if len(boards) else ():
        batch = database.probe_batch(boards, databases[0].goal)
        np.maximum(h, batch.maximum, out=h)
        sums += batch.sums.sum(axis=1)
    return h, sums
