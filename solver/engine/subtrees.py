"""Subtrees of a threshold's search tree, given by their paths: for checkpoints, and for searches on other machines.

A *path* is bytes: the tiles moved from the board's root to that of the subtree. The nodes of the upper part of a tree
and of the subtrees below add up to those of the whole threshold.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import BLANK, BoardSize, Tiles
from pdb_query.lookup import Int64s
from solver.board_arrays import N_MOVES, blank_moves
from solver.engine import layout as lay
from solver.engine.search_result import SearchResult
from solver.engine.stack import Stack, StackPool, tiles_moved, tiles_to_goal
from solver.move_pruning.move_pruning import START, PruningFsm
from solver.progress import Iteration

# Returns h of boards, uint8[m, n_cells], int64[m]; and a number by which those with equal f are ordered, int64[m].
LowerBounds = Callable[[npt.NDArray[np.uint8]], tuple[Int64s, Int64s]]
# Returns which nodes of a layer belong to the upper part, bool[m], from their depth and h, int64[m].
IsUpper = Callable[[int, Int64s], npt.NDArray[np.bool_]]
# Nodes between two looks at the clock: some 15 ms.
_SLICE_NODES = 1_000_000


def board_after(fsm: PruningFsm, board: Tiles, path: bytes, width: int) -> tuple[Tiles, int]:
    """Return the board after the moves of a path, and the state of the operator pruning FSM."""
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


def upper_tree(
    board: Tiles,
    goal: Tiles,
    size: BoardSize,
    threshold: int,
    fsm: PruningFsm,
    lower_bounds: LowerBounds,
    is_upper: IsUpper,
) -> SearchResult:
    """Expand the upper part of a threshold's tree breadth first. `rest` are the paths of the subtrees below it.

    Subtrees with the least f come first, of equals those with the least number by `lower_bounds`: the order depends on
    the arguments only. `board` and `goal` are in the terms of the tables. If a solution is found, there is no rest.
    """
    start = time.perf_counter()
    edge_cells, cell_moves = blank_moves(size)
    boards = np.array([board], dtype=np.uint8)
    paths = np.zeros((1, 0), dtype=np.uint8)
    states = np.array([START], dtype=np.int64)
    h, order = lower_bounds(boards)
    generated = expanded = depth = 0
    # Of the subtrees of each layer: f, the order, the paths.
    below: list[tuple[Int64s, Int64s, list[bytes]]] = []
    tiles: tuple[int, ...] | None = None
    rest: tuple[bytes, ...] = ()
    while True:
        # Step 1. Set the nodes of this layer aside that do not belong to the upper part.
        is_expanded = is_upper(depth, h)
        rows = np.flatnonzero(~is_expanded)
        below.append((h[rows] + depth, order[rows], [paths[row].tobytes() for row in rows]))
        boards, paths, states = boards[is_expanded], paths[is_expanded], states[is_expanded]
        if len(boards) == 0:
            f, orders = (np.concatenate([layer[i] for layer in below]) for i in range(2))
            all_paths = [path for layer in below for path in layer[2]]
            rest = tuple(all_paths[row] for row in np.lexsort((orders, f)))
            break
        # Step 2. Expand the others, move by move.
        blanks = np.argmin(boards, axis=1)
        moves = fsm.allowed_moves[states] & cell_moves[blanks]
        generated += int(np.bitwise_count(moves).sum())
        expanded += len(boards)
        by_move = [np.flatnonzero(moves >> move & 1) for move in range(N_MOVES)]
        parent, move = np.concatenate(by_move), np.repeat(np.arange(N_MOVES), [len(rows) for rows in by_move])
        boards, paths = _boards_after(boards[parent], paths[parent], edge_cells[blanks[parent], move])
        states = fsm.successors[states[parent], move].astype(np.int64)
        depth += 1
        # Step 3. Keep those within the threshold.
        at_goal = np.flatnonzero((boards == goal).all(axis=1))
        if len(at_goal) and depth <= threshold:
            tiles = tuple(paths[at_goal[0]].tolist())
            break
        h, order = lower_bounds(boards)
        left = np.flatnonzero(h + depth <= threshold)
        boards, paths, states, h, order = boards[left], paths[left], states[left], h[left], order[left]
    seconds = time.perf_counter() - start
    return SearchResult(tiles, (Iteration(threshold, generated, expanded, seconds),), seconds, rest=rest)


def _boards_after(
    boards: npt.NDArray[np.uint8], paths: npt.NDArray[np.uint8], cells: Int64s
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the boards after the tiles on `cells` have moved, and the longer paths; `boards` changes."""
    rows, blanks = np.arange(len(boards)), np.argmin(boards, axis=1)
    tiles = boards[rows, cells]
    boards[rows, blanks], boards[rows, cells] = tiles, BLANK
    return boards, np.concatenate((paths, tiles[:, None]), axis=1)
