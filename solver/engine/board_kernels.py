"""Boards as roots of searches, and whole searches of many boards without Python between them."""

from typing import Any, NamedTuple

import numpy as np

from pdb_core.bit_kernels import load_word, store_word
from pdb_core.jit import inlined_kernel, kernel
from pdb_core.types import BLANK, Bytes, Int16s, Int64s, UInt32s
from solver.engine import layout as mem
from solver.engine.layout import EngineTables, StackMemory
from solver.engine.search_kernels import search

# `BoardsMemory.place`: the board that is searched, its threshold or -1 at its beginning, and finished thresholds.
N_PLACES = 3
BOARD, THRESHOLD, N_FINISHED = range(N_PLACES)
# Lengths of boards without one: the moves found do not lead to the goal; no solution up to the last threshold.
WRONG, BEYOND = -2, -3


class BoardsMemory(NamedTuple):
    """Boards that are searched one after another; all arrays but those of `Roots` are changed by the search.

    place    int64[N_PLACES]: the position of the search
    roots    uint32[m, n_columns], thresholds, last, highest: see `Roots`
    boards   uint8[m, n_cells]: those that were solved become the goal
    counts   int64[m, t, 2]: generated and expanded nodes of each finished threshold
    lengths  int16[m]: of the solutions found; WRONG if the moves found do not lead to the goal; BEYOND if there is none
             up to the last threshold
    paths    uint8[m, n]: the tiles moved; solutions longer than n are left to the caller
    """

    place: Int64s
    roots: UInt32s
    thresholds: Int64s
    last: Int64s
    highest: Int64s
    boards: Bytes
    counts: Int64s
    lengths: Int16s
    paths: Bytes


@kernel
def begin_threshold(tables: EngineTables, at: StackMemory, counters: Int64s, root: Any, n_finished: int) -> None:
    """Put a root (uint32[n_columns]) on the empty stack, for the threshold after its first `n_finished` ones."""
    for column in range(tables.n_columns):
        word = np.int64(root[column]) + n_finished * np.int64(tables.next_threshold[column])
        store_word(at.stack + column * at.stack_column, word)
    store_word(at.signal, 0)
    counters[:] = 0
    # The root may have no moves left.
    counters[mem.TOP] = counters[mem.N_LINKS] = counters[mem.N_ENDED] = 1


@inlined_kernel
def is_goal_board(tables: EngineTables, board: Any) -> bool:
    """Return whether a board (uint8[n_cells]) is the goal."""
    for cell in range(tables.n_cells):  # noqa: SIM110 (numba compiles no generator)
        if board[cell] != tables.goal[cell]:
            return False
    return True


@inlined_kernel
def write_path(tables: EngineTables, at: StackMemory, counters: Int64s, board: Any, path: Any, length: int) -> bool:
    """Write the tiles moved to the goal that was found (path: uint8[n >= length]), and make the moves on `board`.

    Returns whether they lead to the goal.
    """
    link: Any = counters[mem.FOUND_LINK]
    for i in range(length - 1, -1, -1):
        if link >> 2 == 0:
            return False
        path[i] = link & 3
        link = load_word(at.links + 4 * (link >> 2))
    if link >> 2 != 0:
        return False
    blank = 0
    while board[blank] != BLANK:
        blank += 1
    for i in range(length):
        step = load_word(tables.steps + 4 * np.int64(path[i]))
        cell = (blank + step) & 0xFFFFFFFF
        if cell >= tables.n_cells:
            return False
        path[i] = board[cell]
        board[blank] = board[cell]
        board[cell] = BLANK
        blank = cell
    return is_goal_board(tables, board)


@inlined_kernel
def end_board(many: BoardsMemory, length: int) -> None:
    """Note the length of the board that is searched, and go to the next one."""
    place = many.place
    many.lengths[place[BOARD]] = length
    place[BOARD] += 1
    place[THRESHOLD], place[N_FINISHED] = -1, 0


@kernel
def search_boards(
    tables: EngineTables,
    round_tables: Any,
    at: StackMemory,
    counters: Int64s,
    many: BoardsMemory,
    pause_at: int,
    max_nodes: int,
    counts_goals: bool,
) -> int:
    """Search boards one after another, each from its first threshold up to its first solution or its last threshold.

    Without boards, search what is on the stack. One kernel does both, since a search takes long to compile.

    tables, round_tables, at, counters  the tables, the stack and its counters, see `search_kernels.search`. The stack
               is empty, or as the call that returned PAUSED left it
    pause_at   with boards, the nodes to generate before PAUSED is returned; without them, the limit of `search`
    max_nodes, counts_goals  those of `search`

    Returns EXHAUSTED if all boards are done, PAUSED (also in a threshold that `many` has no room for), NO_ROOM, or
    TOO_DEEP if a slack exceeds its bits; without boards what `search` returns.
    """
    n_left = pause_at
    place, n_boards = many.place, many.roots.shape[0]
    while True:
        row = place[BOARD]
        if n_boards > 0:
            if row >= n_boards:
                return mem.EXHAUSTED
            # Step 1. Begin a threshold.
            if place[THRESHOLD] < 0:
                place[THRESHOLD] = many.thresholds[row] + mem.THRESHOLD_STEP * place[N_FINISHED]
                is_goal = is_goal_board(tables, many.boards[row])
                if is_goal or place[THRESHOLD] > many.last[row]:
                    end_board(many, 0 if is_goal else BEYOND)
                    continue
                if place[THRESHOLD] > many.highest[row]:
                    return mem.TOO_DEEP
                begin_threshold(tables, at, counters, many.roots[row], place[N_FINISHED])
                if place[N_FINISHED] >= many.counts.shape[1] or place[THRESHOLD] > many.paths.shape[1]:
                    return mem.PAUSED
        # Step 2. Search it.
        before = counters[mem.GENERATED]
        until = before + n_left if n_boards > 0 else pause_at
        status = search(tables, round_tables, at, counters, until, max_nodes, counts_goals)
        n_left -= counters[mem.GENERATED] - before
        if n_boards == 0 or (status != mem.EXHAUSTED and status != mem.FOUND):
            return status
        # Step 3. Note it, and go to the next threshold or the next board.
        many.counts[row, place[N_FINISHED], 0] = counters[mem.GENERATED]
        many.counts[row, place[N_FINISHED], 1] = counters[mem.EXPANDED]
        place[N_FINISHED] += 1
        if status == mem.FOUND:
            is_right = write_path(tables, at, counters, many.boards[row], many.paths[row], place[THRESHOLD])
            end_board(many, place[THRESHOLD] if is_right else WRONG)
        place[THRESHOLD] = -1
