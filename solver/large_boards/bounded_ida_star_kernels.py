"""Kernel of bounded IDA* between two boards near each other. Boards consist of pieces, as in `line_by_line_kernels`."""

from pdb_core.jit import kernel
from solver.large_boards.line_by_line_kernels import Int32s

NOT_FOUND = -1


@kernel
def distance(rows: Int32s, columns: Int32s, one: int, two: int) -> int:
    """Return the Manhattan distance of two cells."""
    return int(abs(rows[one] - rows[two]) + abs(columns[one] - columns[two]))


@kernel
def find_path(
    cells: Int32s, blank_cell: int, wanted: Int32s, rows: Int32s, columns: Int32s, neighbours: Int32s, limit: int,
    max_nodes: int, path: Int32s, moves: Int32s, estimates: Int32s,
) -> tuple[int, int]:  # fmt: skip
    """Find an optimal path of at most `limit` moves by IDA* with Manhattan distance (Korf 1985).

    Returns its length and the nodes generated. The length is NOT_FOUND if there is no such path, or after `max_nodes`.

    cells       int32[n]          mutated: the goal if it was found, else as before
    wanted      int32[n]          goal cell of each piece
    neighbours  int32[n, 4]       as in `Work`; pieces on cells that it does not name stay there
    path        int32[limit + 1]  mutated: the cells that the blank goes to
    moves, estimates              scratch, int32[limit + 1]
    """
    blank = cells[blank_cell]
    h = 0
    for cell in range(len(cells)):
        if cell != blank_cell:
            h += distance(rows, columns, cell, wanted[cells[cell]])
    n_nodes = 0
    # A move changes the estimate by one, so all paths have the parity of the first estimate.
    for threshold in range(h, limit + 1, 2):
        depth = 0
        estimates[0] = h
        moves[0] = -1
        here = blank_cell
        while depth >= 0:
            if estimates[depth] == 0:
                return depth, n_nodes
            moves[depth] += 1
            move = moves[depth]
            if move == 4:
                depth -= 1
                if depth >= 0:
                    before = blank_cell if depth == 0 else path[depth - 1]
                    cells[here], cells[before] = cells[before], blank
                    here = before
                continue
            if depth > 0 and move == 3 - moves[depth - 1]:
                continue
            near = neighbours[here, move]
            if near < 0:
                continue
            place = wanted[cells[near]]
            estimate = estimates[depth] + distance(rows, columns, place, here) - distance(rows, columns, place, near)
            n_nodes += 1
            if n_nodes > max_nodes:
                while depth > 0:
                    depth -= 1
                    before = blank_cell if depth == 0 else path[depth - 1]
                    cells[here], cells[before] = cells[before], blank
                    here = before
                return NOT_FOUND, n_nodes
            if depth + 1 + estimate > threshold:
                continue
            cells[here], cells[near] = cells[near], blank
            path[depth] = near
            here = near
            depth += 1
            estimates[depth] = estimate
            moves[depth] = -1
    return NOT_FOUND, n_nodes
