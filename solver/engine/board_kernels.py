"""Boards as roots of searches, and whole searches of many boards without Python between them."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.bit_kernels import popcount
from pdb_core.jit import inlined_kernel, kernel
from pdb_core.puzzle import BLANK
from pdb_query.lookup import Int64s
from solver.engine.layout import (
    ALLOWED_SHIFT,
    BLANK_MASK,
    BLANK_SHIFT,
    CELL_SETS,
    DIGIT_BITS,
    EXHAUSTED,
    EXPANDED,
    FIRST_DIGIT,
    FOUND,
    FOUND_LINK,
    GENERATED,
    LEFT,
    LINK,
    MAX_SLACK,
    MAX_VECTOR_TILES,
    MOVES_LEFT_SHIFT,
    N_LINKS,
    PAUSED,
    SLACK,
    SLACK_SHIFT,
    STATE,
    SUM_FIELDS,
    TOO_DEEP,
    TOP,
    UNIT_DIGITS,
    UNIT_FIELDS,
    VALUE_SHIFT,
)
from solver.engine.search_kernels import search
from solver.engine.unit_tables import VALUE_SHIFT as WORD_VALUE_SHIFT
from solver.vectors.vector_kernels import load_word, store_word

# `BoardsMemory.place`: the board that is searched, its threshold or -1 at its beginning, and finished thresholds.
N_PLACES = 4
BOARD, THRESHOLD, N_FINISHED = range(3)
# The length of a board whose moves do not lead to the goal.
WRONG = -2


class BoardsMemory(NamedTuple):
    """Boards that are searched one after another; all arrays but those of `Roots` are changed by the search.

    place    int64[N_PLACES]: the position of the search
    roots    uint32[m, n_columns], sums, thresholds: see `Roots`
    boards   uint8[m, n_cells]: those that were solved become the goal
    counts   int64[m, t, 2]: generated and expanded nodes of each finished threshold
    lengths  int16[m]: of the solutions found; WRONG if the moves found do not lead to the goal
    paths    uint8[m, n]: the tiles moved; solutions longer than n are left to the caller
    """

    place: Int64s
    roots: npt.NDArray[np.uint32]
    sums: Int64s
    thresholds: Int64s
    boards: npt.NDArray[np.uint8]
    counts: Int64s
    lengths: npt.NDArray[np.int16]
    paths: npt.NDArray[np.uint8]


@kernel
def fill_boards(tables: Any, boards: Any, fsm_states: Any, roots: Any) -> None:
    """Write what nodes have apart from their sums.

    boards          uint8[m, n_cells]
    fsm_states  uint32[m]  the states of the operator pruning FSM, with the moves they allow above
    roots           uint32[m, n_columns], mutated
    """
    for row in range(boards.shape[0]):
        blank = 0
        while boards[row, blank] != BLANK:
            blank += 1
        roots[row, STATE] = np.int64(fsm_states[row]) | (blank << BLANK_SHIFT)
        if tables.board_column != 0:
            for cell in range(tables.n_cells):
                column = tables.board_column + (cell >> 2)
                roots[row, column] |= np.uint32(np.int64(boards[row, cell]) << (8 * (cell & 3)))


@kernel
def fill_sum(
    tables: Any, s: int, patterns: Any, label_bits: Any, masks: Any, labels: Any, values: Any, roots: Any, sums: Any
) -> None:
    """Write the units of sum `s` of some boards, and the sum.

    patterns       int64[u]           which of the columns below are the units of the sum
    label_bits     int64[p]
    masks, labels  int64[m, p]        of each pattern; values: uint8[m, p]
    roots          uint32[m, n_columns], mutated, cleared before
    sums           int64[m, s], mutated
    """
    record = tables.sums[s]
    for row in range(masks.shape[0]):
        h = 0
        for unit in range(patterns.shape[0]):
            pattern = patterns[unit]
            mask, packed, value = masks[row, pattern], labels[row, pattern], np.int64(values[row, pattern])
            h += value  # type: ignore[assignment]
            if tables.word_column != 0:
                word = mask | (packed << tables.n_cells) | (value << WORD_VALUE_SHIFT)
                roots[row, record[UNIT_DIGITS] + 2 * unit] = np.uint32(word & 0xFFFFFFFF)
                roots[row, record[UNIT_DIGITS] + 2 * unit + 1] = np.uint32((word >> 32) & 0xFFFFFFFF)
                continue
            # A Lehmer digit counts the smaller labels after its own.
            digits, bits = 0, label_bits[pattern]
            n_tiles = popcount(mask)
            for i in range(n_tiles):
                label = (packed >> (bits * i)) & ((1 << bits) - 1)
                digit = 0
                for j in range(i + 1, n_tiles):
                    digit += 1 if (packed >> (bits * j)) & ((1 << bits) - 1) < label else 0
                digits |= digit << (DIGIT_BITS * i)
            if tables.board_column != 0:
                digits <<= DIGIT_BITS * (MAX_VECTOR_TILES - n_tiles)
                roots[row, record[UNIT_DIGITS] + 2 * unit] = np.uint32(mask)
                roots[row, record[UNIT_DIGITS] + 2 * unit + 1] = np.uint32(digits | (value << VALUE_SHIFT))
                continue
            digits <<= record[SUM_FIELDS + unit * UNIT_FIELDS + FIRST_DIGIT]
            roots[row, record[UNIT_DIGITS] + unit] = np.uint32(digits | (((value + 1) & 3) << VALUE_SHIFT))
            if unit > 0:
                column = record[CELL_SETS] + ((unit - 1) >> 1)
                roots[row, column] |= np.uint32(mask << (16 * ((unit - 1) & 1)))
        sums[row, s] = h


@kernel
def begin_threshold(tables: Any, at: Any, counters: Any, root: Any, sums: Any, threshold: int) -> None:
    """Put a root (uint32[n_columns]) on the empty stack, with what `threshold` leaves above its sums (int64[s])."""
    for column in range(tables.n_columns):
        store_word(at.stack + column * at.stack_column, np.int64(root[column]))  # type: ignore[arg-type]
    store_word(at.stack + LINK * at.stack_column, 0)
    store_word(at.stack + LEFT * at.stack_column, threshold << MOVES_LEFT_SHIFT)
    for s in range(tables.n_sums):
        to_slack = at.stack + tables.sums[s, SLACK] * at.stack_column
        slack = (threshold - sums[s]) >> 1
        store_word(to_slack, load_word(to_slack) | (slack << tables.sums[s, SLACK_SHIFT]))
    store_word(at.signal, 0)
    counters[:] = 0
    counters[TOP] = 1
    counters[N_LINKS] = 1


@inlined_kernel
def is_goal_board(tables: Any, board: Any) -> bool:
    """Return whether a board (uint8[n_cells]) is the goal."""
    for cell in range(tables.n_cells):  # noqa: SIM110 (numba compiles no generator)
        if board[cell] != tables.goal[cell]:
            return False
    return True


@inlined_kernel
def write_path(tables: Any, at: Any, counters: Any, board: Any, path: Any, length: int) -> bool:
    """Write the tiles moved on the way to the goal that was found. Returns whether they lead there.

    board  uint8[n_cells]  mutated: from the root to the goal
    path   uint8[n], mutated, n >= length
    """
    link = counters[FOUND_LINK]
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


@kernel
def search_boards(
    tables: Any, stages: Any, at: Any, counters: Any, batch: Any, pause_at: int, max_nodes: int, at_goal: int
) -> int:
    """Search boards one after another, each from its first threshold up, until its first solution; without boards,
    search what is on the stack. One kernel does both, since a search takes long to compile.

    tables, stages, at, counters  see `search_kernels.search`; the stack is empty, or as the call left it that returned
                                  PAUSED
    batch      `BoardsMemory`
    pause_at   with boards, the nodes to generate before PAUSED is returned; else as in `search`
    max_nodes, at_goal  as in `search`

    Returns EXHAUSTED if all boards are done, PAUSED (also in a threshold that the batch has no room for), NO_ROOM, or
    TOO_DEEP if a slack exceeds its bits; without boards what `search` returns.
    """
    n_left = pause_at
    place, sums, lengths = batch.place, batch.sums, batch.lengths
    n_boards = batch.roots.shape[0]
    while True:
        before = counters[GENERATED]
        until = pause_at
        row = 0
        if n_boards > 0:
            row = place[BOARD]
            if row >= n_boards:
                return EXHAUSTED
            # Step 1. Begin a threshold. Nothing is as near as 0 moves but the goal itself.
            if place[THRESHOLD] < 0:
                place[THRESHOLD] = batch.thresholds[row] + 2 * place[N_FINISHED]
                if is_goal_board(tables, batch.boards[row]):
                    lengths[row] = 0
                    place[BOARD] += 1
                    place[THRESHOLD] = -1
                    continue
                if place[THRESHOLD] == 0:
                    state = np.int64(batch.roots[row, STATE])
                    legal = load_word(tables.legal + 4 * ((state >> BLANK_SHIFT) & BLANK_MASK))
                    batch.counts[row, 0, 0] = popcount((state >> ALLOWED_SHIFT) & legal & 15)  # type: ignore[arg-type]
                    batch.counts[row, 0, 1] = 1
                    place[N_FINISHED] = 1
                    place[THRESHOLD] = -1
                    continue
                if place[THRESHOLD] - sums[row].min() > 2 * MAX_SLACK:
                    return TOO_DEEP
                begin_threshold(tables, at, counters, batch.roots[row], sums[row], place[THRESHOLD])
                before = counters[GENERATED]
                if place[N_FINISHED] >= batch.counts.shape[1] or place[THRESHOLD] > batch.paths.shape[1]:
                    return PAUSED
            until = before + n_left
        # Step 2. Search it.
        status = search(tables, stages, at, counters, until, max_nodes, at_goal)
        n_left -= counters[GENERATED] - before
        if n_boards == 0 or (status != EXHAUSTED and status != FOUND):
            return status
        # Step 3. Note it, and go to the next threshold or the next board.
        batch.counts[row, place[N_FINISHED], 0] = counters[GENERATED]
        batch.counts[row, place[N_FINISHED], 1] = counters[EXPANDED]
        place[N_FINISHED] += 1
        if status == FOUND:
            is_right = write_path(tables, at, counters, batch.boards[row], batch.paths[row], place[THRESHOLD])
            lengths[row] = place[THRESHOLD] if is_right else WRONG
            place[BOARD] += 1
            place[N_FINISHED] = 0
        place[THRESHOLD] = -1
