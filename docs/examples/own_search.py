"""IDA* of your own on the tables of a database, compiled by numba: `python own_search.py data/78.h5`."""

import sys
import time

import numpy as np
from numba import njit

import tilepdb

MOST_MOVES = 240  # more than any board of up to 5x5 needs


@njit
def ida_star(lookups, board):
    """Return the length of an optimal solution of a board, uint8[n_cells]."""
    tables, board = lookups.tables, board.copy()
    nodes = np.empty((MOST_MOVES, 4, lookups.n), dtype=np.int64)  # of each depth, one for each move
    bounds = np.empty((MOST_MOVES, 4), dtype=np.int64)
    blanks, tried = np.empty(MOST_MOVES, dtype=np.int64), np.empty(MOST_MOVES, dtype=np.int64)
    blanks[0] = np.flatnonzero(board == 0)[0]
    next_threshold = lookups.begin(tables, board, nodes[0, 0])
    while next_threshold > 0:
        threshold, next_threshold, g = next_threshold, 1 << 20, 0
        lookups.expand(tables, board, blanks[0], -1, nodes[0, 0], nodes[1], bounds[0])
        tried[0] = -1
        while g >= 0:
            tried[g] += 1
            move, blank = tried[g], blanks[g]
            if move == 4:
                g -= 1
                if g >= 0:
                    board[blank], board[blanks[g]] = board[blanks[g]], 0
                continue
            h = bounds[g, move]
            if h < 0:
                continue
            if g + 1 + h > threshold:
                next_threshold = min(next_threshold, g + 1 + h)
                continue
            if h == 0:
                return g + 1
            g += 1
            blanks[g], tried[g] = tables.neighbours[blank, move], -1
            board[blank], board[blanks[g]] = board[blanks[g]], 0
            lookups.expand(tables, board, blanks[g], move, nodes[g, move], nodes[g + 1], bounds[g])
    return 0


if __name__ == "__main__":
    database = tilepdb.open_database(sys.argv[1], load="huge")
    boards = tilepdb.random_boards(database.size, database.goal, n_boards=101).astype(np.uint8)
    lookups = database.compiled()
    ida_star(lookups, boards[0])  # compiles the functions
    start = time.perf_counter()
    lengths = [ida_star(lookups, board) for board in boards[1:]]
    print(f"{np.mean(lengths):.1f} moves on average, {10 * (time.perf_counter() - start):.2f} ms for each board")
