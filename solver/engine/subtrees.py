"""Subtrees of a threshold, given by the paths to them: the rest of a search that was paused, to be searched later or
elsewhere.

A *path* is bytes: the tiles moved from the board's root to that of the subtree, in order. The board there, the state of
the machine that prunes moves and g follow from it. The subtrees left of a search are disjoint, and none of their nodes
below the root was generated before; so the nodes of all parts of a threshold add up to those of one search.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdb_core.puzzle import BLANK, Board
from pdb_core.sent_size import ReportsSize
from solver.engine.layout import EXPANDED, FOUND, GENERATED, PAUSED, STOP_AT_GOAL
from solver.engine.stack import tiles_moved
from solver.move_pruning.move_pruning import START, MoveMachine

if TYPE_CHECKING:
    from solver.engine.ida_star import IdaStar

# Nodes between two looks at the clock: some 15 ms.
_SLICE_NODES = 1_000_000


@dataclass(frozen=True)
class SubtreesResult(ReportsSize):
    """Result of the search of some subtrees.

    generated, expanded  nodes
    tiles    of a solution, from the board's root; None if none was found
    rest     the paths of the subtrees that are left at a limit; empty if a solution was found
    seconds  of the search
    """

    generated: int
    expanded: int
    tiles: tuple[int, ...] | None
    rest: tuple[bytes, ...]
    seconds: float


def search_subtrees(
    ida_star: "IdaStar", board: Board, paths: Sequence[bytes], threshold: int, *, max_nodes: int, max_seconds: float
) -> SubtreesResult:
    """Search subtrees of `board`, in the terms of the tables, one after another, up to a solution or a limit.

    At least one slice is searched, so that repeated calls with the rest come to an end.
    """
    start = time.perf_counter()
    generated = expanded = 0
    rest: list[bytes] = []
    ends = [after(ida_star.machine, board, path, ida_star.size.width) for path in paths]
    for path, (end, _) in zip(paths, ends, strict=True):
        if end == ida_star.goal:
            return SubtreesResult(0, 0, tuple(path), (), time.perf_counter() - start)
    roots = ida_star.engine.roots([end for end, _ in ends], [state for _, state in ends])
    hs = roots.h.tolist()

    def go_on() -> bool:
        return generated < max_nodes and time.perf_counter() - start < max_seconds

    with ida_star.stack() as stack:
        for row, path in enumerate(paths):
            if row and not go_on():
                rest += paths[row:]
                break
            moves_left = threshold - len(path)
            if hs[row] > moves_left:
                continue
            ida_star.begin(stack, roots, row, moves_left)
            status = PAUSED
            while status == PAUSED:
                status = stack.search(_SLICE_NODES, max(1, max_nodes - generated), STOP_AT_GOAL)
                generated += int(stack.counters[GENERATED])
                expanded += int(stack.counters[EXPANDED])
                stack.counters[GENERATED] = stack.counters[EXPANDED] = 0
                if status == PAUSED and not go_on():
                    break
            if status == FOUND:
                tiles, end = tiles_moved(ends[row][0], stack.moves_to_goal(), ida_star.size)
                if end != ida_star.goal:
                    raise ida_star.engine.wrong_end()
                return SubtreesResult(generated, expanded, (*path, *tiles), (), time.perf_counter() - start)
            if status == PAUSED:
                rest += [path + left for left in ida_star.paths_left(ends[row][0], stack)]
                rest += paths[row + 1 :]
                break
    return SubtreesResult(generated, expanded, None, tuple(rest), time.perf_counter() - start)


def after(machine: MoveMachine, board: Board, path: bytes, width: int) -> tuple[Board, int]:
    """Return the board after the moves of a path, and the state of the machine that prunes moves."""
    cells = list(board)
    blank, state = cells.index(BLANK), START
    moves = {-width: 0, -1: 1, 1: 2, width: 3}
    for tile in path:
        cell = cells.index(tile)
        cells[blank], cells[cell] = tile, BLANK
        state = int(machine.successors[state, moves[cell - blank]])
        blank = cell
    return tuple(cells), state
