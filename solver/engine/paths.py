"""Subtrees of a threshold's search tree, given by their paths: for searches on other machines, and for the order of the
textbook.

A *path* is bytes: the tiles moved from the board's root to that of the subtree. The nodes of subtrees and of what was
searched above them add up to those of the whole threshold.
"""

from collections.abc import Sequence

import numpy as np

from pdb_core.puzzle import Tiles
from pdb_core.types import BLANK, UInt32s
from solver.engine import layout as mem
from solver.engine.engine import Engine
from solver.engine.frontier import Frontier
from solver.engine.result import SearchResult
from solver.engine.stack import StackPool
from solver.engine.threads import ThresholdSearch, Wanted
from solver.moves import blank_steps
from solver.progress import Clock, Limits


def boards_after(engine: Engine, board: Tiles, paths: Sequence[bytes]) -> list[tuple[Tiles, int, list[int]]]:
    """Return the board after the moves of each path, the state of the operator pruning FSM, and the blank's moves.

    The state is negative if the FSM prunes the last move.
    """
    start = int(engine.start_states(np.array([board], dtype=np.uint8))[0])
    steps, found = blank_steps(engine.size), []
    for path in paths:
        # The blank moves to where each tile was.
        places, state, moves = {tile: cell for cell, tile in enumerate(board)}, start, []
        for tile in path:
            moves.append(steps.index(places[tile] - places[BLANK]))
            places[tile], places[BLANK] = places[BLANK], places[tile]
            state = int(engine.fsm.successors[state, moves[-1]])
        found.append((tuple(sorted(places, key=places.__getitem__)), state, moves))
    return found


def paths_before(engine: Engine, board: Tiles, path: bytes) -> tuple[list[bytes], int]:
    """Return the subtrees before `path` in the textbook's order, as paths, and the nodes generated on `path`.

    In that order (Korf 1985) the blank moves up, left, right, down.
    """
    generated, paths = 0, []
    for depth, tile in enumerate(path):
        ((cells, _, _),) = boards_after(engine, board, [path[:depth]])
        for cell in engine.size.neighbours[cells.index(BLANK)]:
            below = path[:depth] + bytes([cells[cell]])
            if boards_after(engine, board, [below])[0][1] < 0:
                continue
            generated += 1
            if cells[cell] == tile:
                break
            paths.append(below)
    return paths, generated


def nodes_below(engine: Engine, board: Tiles, paths: Sequence[bytes], threshold: int) -> tuple[UInt32s, UInt32s]:
    """Return the nodes at the ends of paths that do not exceed a threshold, and their links for `Stack.load`."""
    ends = boards_after(engine, board, paths)
    links, last = [0, 0], []
    for _, _, moves in ends:
        index = 1
        for move in moves:
            links.append(index << 2 | move)
            index = len(links) - 1
        last.append(links[-1] if moves else 0)
    roots = engine.roots([end for end, _, _ in ends], [state for _, state, _ in ends])
    moves_left = threshold - np.array([len(path) for path in paths], dtype=np.int64)
    rows = np.flatnonzero(roots.thresholds <= moves_left)
    nodes = engine.with_slacks(roots.nodes[rows], roots.sums[rows], moves_left[rows])
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
        ThresholdSearch(stacks, frontier, max_nodes, Wanted(keeps_rest=True)).search(stack, clock)
    rest = None if frontier.tiles else frontier.paths()
    return SearchResult(frontier.tiles or None, (frontier.iteration,), clock.seconds, rest=rest)
