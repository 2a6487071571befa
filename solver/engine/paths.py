"""Subtrees of a threshold's search tree, given by their paths: for searches on other machines, and for the order of the
textbook.

A *path* is bytes: the blank's moves from the board's root to that of the subtree. The nodes of subtrees and of what was
searched above them add up to those of the whole threshold.
"""

from collections.abc import Sequence

import numpy as np

from pdb_core.moves import tiles_moved
from pdb_core.puzzle import Tiles
from pdb_core.types import BLANK, UInt32s
from solver.board_arrays import neighbours_by_move
from solver.engine import layout as mem
from solver.engine.engine import Engine
from solver.engine.frontier import Frontier
from solver.engine.result import SearchResult
from solver.engine.stack import StackPool
from solver.engine.threads import ThresholdSearch
from solver.progress import Clock, Limits


def states_after(engine: Engine, board: Tiles, paths: Sequence[bytes]) -> list[int]:
    """Return the state of the operator pruning FSM after each path."""
    start, states = int(engine.start_states(np.array([board], dtype=np.uint8))[0]), []
    for path in paths:
        state = start
        for move in path:
            state = int(engine.fsm.successors[state, move])
        states.append(state)
    return states


def paths_before(engine: Engine, board: Tiles, path: bytes) -> tuple[list[bytes], int]:
    """Return the subtrees before `path` in the textbook's order, as paths, and the nodes generated on `path`.

    In that order (Korf 1985) the blank moves up, left, right, down.
    """
    generated, paths, cells = 0, [], neighbours_by_move(engine.size)
    for depth, last in enumerate(path):
        above = path[:depth]
        blank, (state,) = tiles_moved(board, above, engine.size)[1].index(BLANK), states_after(engine, board, [above])
        for move in range(last + 1):
            if cells[blank, move] >= 0 and engine.fsm.successors[state, move] >= 0:
                generated += 1
                if move < last:
                    paths.append(above + bytes([move]))
    return paths, generated


def nodes_below(engine: Engine, board: Tiles, paths: Sequence[bytes], threshold: int) -> tuple[UInt32s, UInt32s]:
    """Return the nodes at the ends of paths that do not exceed a threshold, and their links for `Stack.load`."""
    links, last = [0, 0], []
    for path in paths:
        index = 1
        for move in path:
            links.append(index << 2 | move)
            index = len(links) - 1
        last.append(links[-1] if path else 0)
    ends = [tiles_moved(board, path, engine.size)[1] for path in paths]
    roots = engine.roots(ends, states_after(engine, board, paths))
    moves_left = threshold - np.array([len(path) for path in paths], dtype=np.int64)
    rows = np.flatnonzero(roots.thresholds <= moves_left)
    nodes = engine.raised(roots, rows, moves_left[rows]).nodes
    nodes[:, mem.LINK] = np.array(last, dtype=np.uint32)[rows]
    return nodes, np.array(links, dtype=np.uint32)


def search_subtrees(
    stacks: StackPool, board: Tiles, paths: Sequence[bytes], threshold: int, *, max_nodes: int, max_seconds: float
) -> SearchResult:
    """Search subtrees of `board`, in the terms of the tables, up to a solution or a limit.

    At least one slice is searched, so that repeated calls with the rest come to an end.
    """
    clock = Clock(Limits(time_limit=max_seconds))
    with stacks.borrowed() as stack:
        stack.load(*nodes_below(stacks.engine, board, paths, threshold))
        frontier = Frontier(board, stack, threshold)
        ThresholdSearch(stacks, frontier, max_nodes).search(stack, clock)
    rest = None if frontier.tiles else frontier.paths()
    return SearchResult(frontier.tiles or None, (frontier.iteration,), clock.seconds, rest=rest)
