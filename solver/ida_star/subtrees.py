"""Subtrees of a threshold, told by the way to them: what is left of a search that was paused, and searching them later
or elsewhere.

A *path* is bytes: the tiles moved from the board's root to that of the subtree, in order. The board there, the state of
the machine that prunes moves and g follow from it. The subtrees left of a search are disjoint, and none of their nodes
below the root was generated before; so the nodes of all parts of a threshold add up to those of one search.

A path may lead to a child that was generated but whose heuristic was not looked at yet: whoever searches the subtree
does so first.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdb_core.puzzle import BLANK, Board
from solver.ida_star.ida_star_kernels import (
    EXHAUSTED,
    FOUND,
    PAUSED,
    STOP_AT_GOAL,
    search_below_threshold,
    start_at_root,
)
from solver.ida_star.search_tables import (
    BASE,
    DEPTH,
    EXPANDED,
    GENERATED,
    IDLE,
    LANE_FIELDS,
    N_MOVES,
    PHASE,
    TILE,
    UNTRIED,
    Lanes,
    SearchTables,
    empty_lanes,
    put_root,
)
from solver.ida_star.search_tables import BLANK as ROW_BLANK
from solver.ida_star.search_tables import BOARD as ROW_BOARD
from solver.ida_star.threshold import path_to_goal
from solver.move_pruning.move_pruning import START

if TYPE_CHECKING:
    from solver.ida_star.ida_star import IdaStar

# Nodes between two looks at the clock: some 30 ms.
_SLICE_NODES = 500_000


@dataclass(frozen=True)
class SubtreesResult:
    """What the search of some subtrees came to.

    generated, expanded  nodes
    tiles    of a solution, from the board's root; None where none was found
    rest     the paths of the subtrees that are left, where there was no time for them; empty where a solution was found
    seconds  of the search
    """

    generated: int
    expanded: int
    tiles: tuple[int, ...] | None
    rest: tuple[bytes, ...]
    seconds: float


def paths_left(tables: SearchTables, lanes: Lanes) -> tuple[bytes, ...]:
    """The subtrees that a paused search has not entered, by their paths from its root; the nearest to it first."""
    rows = lanes.rows.reshape(-1, tables.row_size)
    found = []
    for lane in range(tables.n_lanes):
        fields = lanes.lanes[lane * LANE_FIELDS : (lane + 1) * LANE_FIELDS]
        if fields[PHASE] == IDLE:
            continue
        first = lane * lanes.n_rows
        path = bytes(rows[first + 1 : first + int(fields[DEPTH]) + 1, TILE].tolist())
        # What a lane took over begins at its BASE; above are another lane's nodes, of which it has but the tiles.
        for depth in range(int(fields[BASE]), int(fields[DEPTH]) + 1):
            row = rows[first + depth]
            board = row[ROW_BOARD:].tobytes()
            for move in range(N_MOVES):
                if int(row[UNTRIED]) >> move & 1:
                    cell = int(tables.edge_cells[int(row[ROW_BLANK]) * N_MOVES + move])
                    found.append(path[:depth] + board[cell : cell + 1])
    return tuple(sorted(found, key=len))


def search_subtrees(
    ida_star: "IdaStar", board: Board, paths: Sequence[bytes], threshold: int, *, max_nodes: int, max_seconds: float
) -> SubtreesResult:
    """Search subtrees of `board`, in the terms of the tables, one after another, up to a solution or a limit; at least
    one slice, so that whoever comes back with the rest gets on.
    """
    start = time.perf_counter()
    tables, goal = ida_star.tables, ida_star.goal
    lanes = empty_lanes(tables, threshold)
    generated = expanded = 0
    status = EXHAUSTED
    rest: list[bytes] = []

    def goes_on() -> bool:
        return generated < max_nodes and time.perf_counter() - start < max_seconds

    for number, path in enumerate(paths):
        if number and not goes_on():
            rest += paths[number:]
            break
        at, state = after(tables, board, path)
        if at == goal:
            return SubtreesResult(generated, expanded, tuple(path), (), time.perf_counter() - start)
        words, sums = ida_star.words_and_sums(at)
        if len(path) + int(sums.max()) > threshold:
            continue
        put_root(tables, lanes, at, words, sums, state)
        start_at_root(tables, lanes)
        status = PAUSED
        while status == PAUSED:
            n_nodes = max(1, min(_SLICE_NODES, max_nodes - generated))
            status = search_below_threshold(tables, lanes, threshold - len(path), n_nodes, STOP_AT_GOAL)
            generated += int(lanes.counters[GENERATED])
            expanded += int(lanes.counters[EXPANDED])
            lanes.counters[GENERATED] = lanes.counters[EXPANDED] = 0
            if status == PAUSED and not goes_on():
                rest += [path + left for left in paths_left(tables, lanes)]
                break
        if status == FOUND:
            tiles = (*path, *path_to_goal(tables, lanes))
            return SubtreesResult(generated, expanded, tiles, (), time.perf_counter() - start)
    return SubtreesResult(generated, expanded, None, tuple(rest), time.perf_counter() - start)


def after(tables: SearchTables, board: Board, path: bytes) -> tuple[Board, int]:
    """The board after the moves of a path, and the state of the machine."""
    cells = list(board)
    blank, state = cells.index(BLANK), START
    for tile in path:
        cell = cells.index(tile)
        edges = tables.edge_cells[blank * N_MOVES : (blank + 1) * N_MOVES].tolist()
        move = next(m for m in range(N_MOVES) if edges[m] == cell and int(tables.cell_moves[blank]) >> m & 1)
        cells[blank], cells[cell] = tile, BLANK
        blank, state = cell, int(tables.successors[state * N_MOVES + move])
    return tuple(cells), state
