"""Breadth-first search, from the board or from the board and the goal in turns.

Each step expands one layer: that of the end with the smaller one, or always that of the board's end. The two ends meet
first on an optimal path.
"""

from collections.abc import Callable

import numpy as np

from pdb_core.errors import MemoryLimitError
from pdb_core.puzzle import BLANK, Board, BoardSize, Tiles
from pdb_query.lookup import Int64s
from solver.graph_search.breadth_first_kernels import (
    END_SHIFT,
    EXPANDED,
    FINISHED,
    GENERATED,
    MEETING_NODE,
    MET,
    MOVE_MASK,
    MOVE_SHIFT,
    N_COUNTERS,
    N_NODES,
    N_OPEN,
    NEXT_NODE,
    NO_ROOM,
    PEAK_OPEN,
    expand_layer,
)
from solver.graph_search.node_table import NodeTable, known_solution, pack, packing_of, scratch_of
from solver.graph_search.node_table_kernels import unpack
from solver.progress import Clock, Limits, Report
from solver.solution import Solution

_SLICE_EXPANSIONS = 50_000
_FROM_BOARD, _FROM_GOAL = 0, 1
_N_ROOTS = 2


def search_breadth_first(
    board: Board,
    goal: Board,
    size: BoardSize,
    limits: Limits,
    report: Report | None = None,
    memory_limit_bytes: int | None = None,
    *,
    from_both_ends: bool,
) -> Solution:
    """Search a solvable board as `BestFirst.search` does."""
    clock = Clock(limits, report)
    table = NodeTable(packing_of(size, goal), n_notes=0, n_values=0, memory_limit_bytes=memory_limit_bytes)
    counters = _add_ends(table, board, goal, from_both_ends=from_both_ends)
    # Each end's last layer is a range of nodes.
    layers, depths = [range(1), range(1, 2)], [0, 0]
    tiles: tuple[int, ...] | None = () if board == goal else None
    memory_error = None
    while tiles is None:
        end = _FROM_GOAL if from_both_ends and len(layers[1]) < len(layers[0]) else _FROM_BOARD
        first_new = int(counters[N_NODES])
        try:
            status = _expand(
                table,
                counters,
                layers[end],
                end,
                limits,
                lambda: clock.is_over(sum(depths) + 1, counters[GENERATED], counters[EXPANDED]),
            )
        except MemoryLimitError as error:
            memory_error = error
            break
        except MemoryError:
            memory_error = table.too_large(int(counters[N_NODES]), by_system=True)
            break
        layers[end] = range(first_new, int(counters[N_NODES]))
        if status == MET:
            tiles = _path(table, counters, end)
        if status != FINISHED:
            break
        depths[end] += 1
    return known_solution(
        board,
        goal,
        tiles,
        memory_error,
        h=0,
        lower_bound=len(tiles) if tiles is not None else sum(depths) + 1,
        generated=int(counters[GENERATED]),
        expanded=int(counters[EXPANDED]),
        peak_open=int(counters[PEAK_OPEN]),
        n_nodes=int(counters[N_NODES]),
        n_bytes=table.n_bytes,
        seconds=clock.seconds,
    )


def _add_ends(table: NodeTable, board: Tiles, goal: Tiles, *, from_both_ends: bool) -> Int64s:
    """Add the nodes 0 and 1, the two ends, or one node if they are equal. Returns the counters of the search."""
    packing = table.packing
    table.add(pack(packing, board), 0)
    counters = np.zeros(N_COUNTERS, dtype=np.int64)
    counters[N_NODES] = counters[N_OPEN] = counters[PEAK_OPEN] = 1
    if board != goal:
        table.add(pack(packing, goal), 1)
        table.row(1)[0] |= _FROM_GOAL << END_SHIFT
        counters[N_NODES] = _N_ROOTS
        counters[N_OPEN] = counters[PEAK_OPEN] = _N_ROOTS if from_both_ends else 1
    return counters


def _expand(
    table: NodeTable, counters: Int64s, layer: range, end: int, limits: Limits, is_over: Callable[[], bool]
) -> int:
    """Expand a layer of nodes of one end, in slices. Returns FINISHED, MET, or another status at a limit.

    Raises `MemoryLimitError`.
    """
    scratch = scratch_of(table.packing)
    most_nodes = np.iinfo(np.int64).max if limits.nodes is None else limits.nodes
    counters[NEXT_NODE] = layer.start
    while True:
        status = expand_layer(
            table.packing, table.nodes, counters, scratch, end, layer.stop, _N_ROOTS, _SLICE_EXPANSIONS, most_nodes,
        )  # fmt: skip
        if status == NO_ROOM:
            table.make_room(int(counters[N_NODES]), is_over)
        if status == MET:
            return status
        is_at_limit = is_over() or counters[GENERATED] >= most_nodes
        if is_at_limit or status == FINISHED:
            return status


def _path(table: NodeTable, counters: Int64s, end: int) -> tuple[int, ...]:
    """Return the tiles moved from the board to the node where the two ends meet, and on to the goal."""
    here, there = (_board_of(table, int(counters[i])) for i in (NEXT_NODE, MEETING_NODE))
    tile = there[here.index(BLANK)]
    forward, backward = (here, there) if end == _FROM_BOARD else (there, here)
    to_meeting = table.path_to(forward, 0, _move_of)
    from_meeting = reversed(table.path_to(backward, 1, _move_of))
    return (*to_meeting, tile, *from_meeting)


def _move_of(row: Int64s) -> int:
    return int(row[0]) >> MOVE_SHIFT & MOVE_MASK


def _board_of(table: NodeTable, node: int) -> Tiles:
    board = np.zeros(table.packing.n_cells, dtype=np.uint8)
    unpack(table.packing, table.row(node), 0, board)
    return tuple(board.tolist())
