"""The upper part of a threshold's tree, layer by layer: its node counts, and the subtrees below it.

Nodes are counted as the search counts them (`search_kernels`), so that those above and those of the subtrees add up
to the nodes of the whole threshold.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, Board, BoardSize
from pdb_query.lookup import Int64s
from solver.engine.unit_tables import N_MOVES, blank_moves
from solver.move_pruning.move_pruning import START, MoveMachine

# Returns h of boards, uint8[m, n_cells], int64[m]; and a number by which those with equal f are ordered, int64[m].
LowerBounds = Callable[[npt.NDArray[np.uint8]], tuple[Int64s, Int64s]]
# Returns which nodes of a layer belong to the upper part, bool[m], from their depth and h, int64[m].
IsUpper = Callable[[int, Int64s], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Prefixes:
    """The upper part of a threshold's tree.

    generated, expanded  its nodes
    paths                of the subtrees below, see `subtrees`; those with the least f first, of equals those with the
                         least number by `LowerBounds`
    tiles                of a solution in the upper part; None if there is none
    """

    generated: int
    expanded: int
    paths: tuple[bytes, ...]
    tiles: tuple[int, ...] | None = None


def prefixes_of(
    board: Board,
    goal: Board,
    size: BoardSize,
    threshold: int,
    machine: MoveMachine,
    lower_bounds: LowerBounds,
    is_upper: IsUpper,
) -> Prefixes:
    """Return the upper part of a threshold's tree, which is expanded, and the subtrees of the other nodes met there.

    `board` and `goal` are in the terms of the tables. The order of the subtrees depends on the arguments only.
    """
    edge_cells, cell_moves = blank_moves(size)
    boards = np.array([board], dtype=np.uint8)
    paths = np.zeros((1, 0), dtype=np.uint8)
    states = np.array([START], dtype=np.int64)
    h, order = lower_bounds(boards)
    generated = expanded = depth = 0
    # Of the subtrees of each layer: f, the order, the paths.
    below: list[tuple[Int64s, Int64s, list[bytes]]] = []
    while True:
        is_expanded = is_upper(depth, h)
        rows = np.flatnonzero(~is_expanded)
        below.append((h[rows] + depth, order[rows], [paths[row].tobytes() for row in rows]))
        boards, paths, states = boards[is_expanded], paths[is_expanded], states[is_expanded]
        if len(boards) == 0:
            break
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
        h, order = lower_bounds(boards)
        left = np.flatnonzero(h + depth <= threshold)
        boards, paths, states, h, order = boards[left], paths[left], states[left], h[left], order[left]
    f, orders = (np.concatenate([layer[i] for layer in below]) for i in range(2))
    all_paths = [path for layer in below for path in layer[2]]
    return Prefixes(generated, expanded, tuple(all_paths[row] for row in np.lexsort((orders, f))))
