"""Subtrees of a threshold's search tree, given by their paths: for checkpoints, and for searches on other machines.

A *path* is bytes: the tiles moved from the board's root to that of the subtree. The nodes of subtrees and of what was
searched above them add up to those of the whole threshold.
"""

import time
from collections.abc import Sequence

from pdb_core.puzzle import BLANK, BoardSize, Tiles
from solver.engine import layout as lay
from solver.engine.search_result import SearchResult
from solver.engine.stack import Stack, StackPool, tiles_moved, tiles_to_goal
from solver.move_pruning.move_pruning import START, PruningFsm
from solver.progress import Iteration

# Nodes between two looks at the clock: some 15 ms.
_SLICE_NODES = 1_000_000


def board_after(fsm: PruningFsm, board: Tiles, path: bytes, width: int) -> tuple[Tiles, int]:
    """Return the board after the moves of a path, and the state of the operator pruning FSM; it is negative if the FSM
    prunes the last move.
    """
    cells = list(board)
    blank, state = cells.index(BLANK), START
    moves = {-width: 0, -1: 1, 1: 2, width: 3}
    for tile in path:
        cell = cells.index(tile)
        cells[blank], cells[cell] = tile, BLANK
        state = int(fsm.successors[state, moves[cell - blank]])
        blank = cell
    return tuple(cells), state


def paths_left(board: Tiles, stack: Stack, size: BoardSize) -> tuple[bytes, ...]:
    """Return the paths of the subtrees that a paused search has not expanded, those nearest to the root first."""
    paths = (bytes(tiles_moved(board, moves, size)[0]) for moves in stack.moves_to_nodes())
    return tuple(sorted(paths, key=len))


def search_subtrees(
    stacks: StackPool, board: Tiles, paths: Sequence[bytes], threshold: int, *, max_nodes: int, max_seconds: float
) -> SearchResult:
    """Search subtrees of `board`, in the terms of the tables, one after another, up to a solution or a limit.

    At least one slice is searched, so that repeated calls with the rest come to an end.
    """
    start = time.perf_counter()
    engine = stacks.engine
    generated = expanded = 0

    def result(tiles: tuple[int, ...] | None, rest: Sequence[bytes] = ()) -> SearchResult:
        seconds = time.perf_counter() - start
        return SearchResult(tiles, (Iteration(threshold, generated, expanded, seconds),), seconds, rest=tuple(rest))

    def is_at_limit() -> bool:
        return generated >= max_nodes or time.perf_counter() - start >= max_seconds

    ends = [board_after(engine.fsm, board, path, engine.size.width) for path in paths]
    for path, (end, _) in zip(paths, ends, strict=True):
        if end == engine.goal:
            return result(tuple(path))
    roots = engine.roots([end for end, _ in ends], [state for _, state in ends])
    hs = roots.h.tolist()
    with stacks.borrowed() as stack:
        for row, path in enumerate(paths):
            if row and is_at_limit():
                return result(None, paths[row:])
            moves_left = threshold - len(path)
            if hs[row] > moves_left:
                continue
            stack.begin(roots, row, moves_left)
            status = lay.PAUSED
            while status == lay.PAUSED:
                status = stack.search(_SLICE_NODES, max(1, max_nodes - generated), lay.STOP_AT_GOAL)
                generated += int(stack.counters[lay.GENERATED])
                expanded += int(stack.counters[lay.EXPANDED])
                stack.counters[[lay.GENERATED, lay.EXPANDED]] = 0
                if status == lay.PAUSED and is_at_limit():
                    left = [path + below for below in paths_left(ends[row][0], stack, engine.size)]
                    return result(None, [*left, *paths[row + 1 :]])
            if status == lay.FOUND:
                return result((*path, *tiles_to_goal(engine, ends[row][0], stack.moves_to_goal())))
    return result(None)
