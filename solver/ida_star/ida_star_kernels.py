"""The inner loop of IDA* over additive databases (Korf 1985; Korf and Felner 2002).

A search is split into lanes, depth-first searches of disjoint subtrees that take turns. A turn ends when a lookup has
been prefetched; by the lane's next turn the value has arrived. A lane that has finished its subtree takes over the
shallowest untried child of another. One lane alone is the textbook's depth-first search. A threshold that is searched
to its end has the same nodes however many lanes there are.

The children of a node are told by the blank's moves, 0 to 3, and sets of children are masks of four bits.

Indices are cast to unsigned, which spares numba its test for negative ones; that halves the time of a node. What cannot
be predicted (is a move refused, is a child pruned) is computed without a branch.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import load_byte, popcount, prefetch, trailing_zeros
from pdb_core.jit import kernel
from solver.ida_star.search_tables import (
    BASE,
    BLANK,
    BLOCKS,
    BOARD,
    BOTH_CELLS,
    CELLS_BELOW,
    CELLS_BETWEEN,
    CHILD_FIELDS,
    DEPTH,
    EDGE_FIELDS,
    ENTRY_SHIFT,
    EXPANDED,
    FIRST_SUM,
    FOUND_DEPTH,
    FOUND_LANE,
    FRESH,
    GENERATED,
    H_OR_ADDRESS,
    HIGH,
    IDLE,
    IS_UPWARD,
    LABEL_BITS,
    LANE_FIELDS,
    LEFT_CELL,
    LOW,
    MACHINE_STATE,
    N_MOVES,
    N_SUFFIXES,
    PHASE,
    PREFIX,
    PREFIX_BITS,
    REGIONS,
    ROW_BITS,
    SHALLOWEST,
    SOLUTIONS,
    STATE_MASK,
    SUFFIX,
    TABLE,
    TILE,
    UNIT_FIELDS,
    UNTRIED,
    VALUE_SHIFT,
    WORD,
)

# What `search_below_threshold` returns.
EXHAUSTED, FOUND, PAUSED = 0, 1, 2
# What it does at the goal: return FOUND, or count and go on, or return FOUND and go on at the next call.
STOP_AT_GOAL, COUNT_GOALS, LIST_GOALS = 0, 1, 2

_at = np.uint64


@kernel
def move_unit(tables: Any, word: int, unit: int, edge_row: int) -> int:
    """The state of a unit after a tile of it has moved along an edge; its value is that of before.

    The tile jumps over those on the cells between; their labels and its own rotate by one place, as in
    `ranking_kernels.move_label`.
    """
    label_bits = tables.units[_at(unit * UNIT_FIELDS + LABEL_BITS)]
    shift = label_bits * popcount(word & tables.edges[_at(edge_row + CELLS_BELOW)]) + tables.n_cells
    length = label_bits * (popcount(word & tables.edges[_at(edge_row + CELLS_BETWEEN)]) + 1)
    segment_mask = (1 << length) - 1
    segment = (word >> shift) & segment_mask
    right = label_bits if tables.edges[_at(edge_row + IS_UPWARD)] != 0 else length - label_bits
    rotated = ((segment >> right) | (segment << (length - right))) & segment_mask
    return word ^ ((segment ^ rotated) << shift) ^ tables.edges[_at(edge_row + BOTH_CELLS)]  # type: ignore[no-any-return]


@kernel
def unit_address(tables: Any, word: int, unit: int, blank: int) -> int:
    """The bit address of the distance of a unit's state; `blank` is the blank's cell, mapped as its cells are."""
    unit_row = unit * UNIT_FIELDS
    word &= STATE_MASK
    lower = word & ((1 << tables.low_bits) - 1)
    upper = (word >> tables.low_bits) & ((1 << tables.high_bits) - 1)
    labels = word >> tables.n_cells
    prefix_bits = tables.units[_at(unit_row + PREFIX_BITS)]
    low = tables.set_ranks[_at(tables.units[_at(unit_row + LOW)] + lower)]
    high = tables.set_ranks[_at(tables.units[_at(unit_row + HIGH)] + ((popcount(lower) << tables.high_bits) | upper))]
    place = np.int64(low) + np.int64(high)
    if tables.units[_at(unit_row + BLOCKS)] >= 0:
        region = tables.region_numbers[_at(tables.units[_at(unit_row + REGIONS)] + place * tables.n_cells + blank)]
        place = np.int64(tables.first_block[_at(tables.units[_at(unit_row + BLOCKS)] + place)]) + np.int64(region)
    before = tables.order_ranks[_at(tables.units[_at(unit_row + PREFIX)] + (labels & ((1 << prefix_bits) - 1)))]
    after = tables.order_ranks[_at(tables.units[_at(unit_row + SUFFIX)] + (labels >> prefix_bits))]
    order = np.int64(before) * tables.units[_at(unit_row + N_SUFFIXES)] + np.int64(after)
    return (  # type: ignore[no-any-return]
        tables.units[_at(unit_row + TABLE)]
        + place * tables.units[_at(unit_row + ROW_BITS)]
        + (order << tables.units[_at(unit_row + ENTRY_SHIFT)])
    )


@kernel
def read_change(is_bits: int, address: int, value_before: int) -> int:
    """How the distance at a bit address differs from that of the state before the move of one of its tiles."""
    byte = load_byte(address >> 3)
    if is_bits == 0:
        return byte - value_before
    # It is one more or one less, and bit 1 tells which.
    bit = byte >> (address & 7)
    return 1 - 2 * ((((value_before + 1) >> 1) ^ bit) & 1)


@kernel
def ask_for_children(tables: Any, lanes: Any, row: int, moves: int, s: int) -> None:
    """Work out what the moves to some children make of sum `s`, and prefetch the distances of the units that change."""
    blank = lanes.rows[_at(row + BLANK)]
    while moves != 0:
        move = trailing_zeros(moves)
        moves &= moves - 1
        edge = blank * N_MOVES + move
        tile = np.int64(lanes.boards[_at((row + BOARD) * 8 + tables.edge_cells[_at(edge)])])
        unit = tables.unit_of_tile[_at(s * tables.n_cells + tile)]
        edge_row = (s * tables.n_cells * N_MOVES + edge) * EDGE_FIELDS
        if tables.shares_tables != 0:  # always predicted; the load for all databases took 4 to 9 % more time
            edge_row = tables.edges_of_tile[_at(s * tables.n_cells + tile)] + edge * EDGE_FIELDS
        if unit >= 0:
            word = move_unit(tables, lanes.rows[_at(row + tables.words_at + unit)], unit, edge_row)
        else:  # every move counts, and this is a tile of no pattern
            unit = ~unit
            word = lanes.rows[_at(row + tables.words_at + unit)]
        address = unit_address(tables, word, unit, tables.edges[_at(edge_row + LEFT_CELL)])
        prefetch(address >> 3)
        child = row + tables.children_at + (s * N_MOVES + move) * CHILD_FIELDS
        lanes.rows[_at(child + WORD)] = word
        lanes.rows[_at(child + H_OR_ADDRESS)] = address


@kernel
def confirm_goal(goal: Any, board: Any, edge_cells: Any, blank: int, judged: int) -> int:
    """What `judge_children` would have returned of a sum that looks at all tiles: -1 - (the move to the goal), or what
    is left.

    goal, board  uint8[n_cells], uint8[at least n_cells]: the board of the parent

    Called once for a solution, and for a sum that leaves tiles out wherever its own are in their places.
    """
    move = (-1 - judged) & (N_MOVES - 1)
    cell = edge_cells[blank * N_MOVES + move]
    for i in range(goal.shape[0]):
        source = cell if i == blank else blank if i == cell else i
        if board[source] != goal[i]:
            return (-1 - judged) // N_MOVES
    return -1 - move


@kernel
def judge_children(tables: Any, lanes: Any, row: int, s: int, h_limit: int) -> int:
    """Drop the untried children whose h in sum `s` exceeds `h_limit`. Returns those that are left, or where the sum of
    one is 0, -1 - (its move + N_MOVES * those that are left).

    A sum of 0 is the goal, every tile is in its place, unless the sum leaves tiles out: see `confirm_goal`.
    """
    left = 0
    goal = -1
    is_bits = tables.sum_is_bits[_at(s)]
    h_before = lanes.rows[_at(row + tables.sums_at + s)]
    moves = lanes.rows[_at(row + UNTRIED)]
    while moves != 0:
        move = trailing_zeros(moves)
        moves &= moves - 1
        child = row + tables.children_at + (s * N_MOVES + move) * CHILD_FIELDS
        word = lanes.rows[_at(child + WORD)]
        change = read_change(is_bits, lanes.rows[_at(child + H_OR_ADDRESS)], (word >> VALUE_SHIFT) & 255)
        h = h_before + change
        lanes.rows[_at(child + WORD)] = word + (change << VALUE_SHIFT)
        lanes.rows[_at(child + H_OR_ADDRESS)] = h
        left |= (1 if h <= h_limit else 0) << move
        goal = move if h == 0 else goal
    return left if goal < 0 else -1 - (goal + N_MOVES * left)


@kernel
def best_child(tables: Any, lanes: Any, row: int, moves: int) -> int:
    """The one of some children whose sums add up to the least: it is searched first.

    That changes nothing in a threshold that is searched to its end, and finds the goal earlier in the last one.
    """
    best, best_h = 0, 1 << 30
    while moves != 0:
        move = trailing_zeros(moves)
        moves &= moves - 1
        h = 0
        for s in range(tables.n_sums):
            h += lanes.rows[_at(row + tables.children_at + (s * N_MOVES + move) * CHILD_FIELDS + H_OR_ADDRESS)]
        if h <= best_h:  # of equals the last: 13 % fewer nodes over the 17 hardest boards than the first
            best, best_h = move, h
    return best


@kernel
def enter_child(tables: Any, lanes: Any, row: int, move: int) -> int:
    """Fill the row after `row` with its child, all of whose moves that the machine allows are untried. Returns them."""
    new = row + tables.row_size
    blank = lanes.rows[_at(row + BLANK)]
    edge = blank * N_MOVES + move
    cell = tables.edge_cells[_at(edge)]
    tile = np.int64(lanes.boards[_at((row + BOARD) * 8 + cell)])
    # The board and the words of the units lie one after the other.
    for i in range(BOARD, tables.sums_at):
        lanes.rows[_at(new + i)] = lanes.rows[_at(row + i)]
    lanes.boards[_at((new + BOARD) * 8 + cell)] = 0
    lanes.boards[_at((new + BOARD) * 8 + blank)] = tile
    first_sum, largest = 0, -1
    for s in range(tables.n_sums):
        child = row + tables.children_at + (s * N_MOVES + move) * CHILD_FIELDS
        unit = tables.unit_of_tile[_at(s * tables.n_cells + tile)]
        unit ^= unit >> 63  # of a tile of no pattern: see `ask_for_children`
        h = lanes.rows[_at(child + H_OR_ADDRESS)]
        lanes.rows[_at(new + tables.words_at + unit)] = lanes.rows[_at(child + WORD)]
        lanes.rows[_at(new + tables.sums_at + s)] = h
        first_sum = s if h > largest else first_sum
        largest = max(h, largest)
    state = tables.successors[_at(lanes.rows[_at(row + MACHINE_STATE)] * N_MOVES + move)]
    untried = np.int64(tables.allowed[_at(state)]) & tables.cell_moves[_at(cell)]
    lanes.rows[_at(new + BLANK)] = cell
    lanes.rows[_at(new + MACHINE_STATE)] = state
    lanes.rows[_at(new + TILE)] = tile
    lanes.rows[_at(new + UNTRIED)] = untried
    lanes.rows[_at(new + FIRST_SUM)] = first_sum
    return untried  # type: ignore[no-any-return]


@kernel
def find_work(tables: Any, lanes: Any) -> int:
    """The lane with the untried child nearest to the root, or -1. Its SHALLOWEST is the depth of that child's
    parent.
    """
    best_lane, best_depth = -1, lanes.n_rows
    for lane in range(tables.n_lanes):
        lane_row = lane * LANE_FIELDS
        if lanes.lanes[lane_row + PHASE] == IDLE:
            continue
        # Untried children above this depth are never added, so the place where to look only goes down.
        depth = lanes.lanes[lane_row + SHALLOWEST]
        while (
            depth < lanes.lanes[lane_row + DEPTH]
            and lanes.rows[(lane * lanes.n_rows + depth) * tables.row_size + UNTRIED] == 0
        ):
            depth += 1
        lanes.lanes[lane_row + SHALLOWEST] = depth
        if depth < lanes.lanes[lane_row + DEPTH] and depth < best_depth:
            best_lane, best_depth = lane, depth
    return best_lane


@kernel
def take_over(tables: Any, lanes: Any, idle_lane: int, others: Any, busy_lane: int) -> int:
    """Give an idle lane of `lanes` an untried child of the shallowest node of a busy one of `others`, which may be the
    same. Returns the depth of the child's parent.
    """
    depth = others.lanes[busy_lane * LANE_FIELDS + SHALLOWEST]
    row = (idle_lane * lanes.n_rows + depth) * tables.row_size
    source = (busy_lane * others.n_rows + depth) * tables.row_size
    for up in range(depth):
        lanes.rows[row - up * tables.row_size + TILE] = others.rows[source - up * tables.row_size + TILE]
    for i in range(tables.row_size):
        lanes.rows[row + i] = others.rows[source + i]
    untried = others.rows[source + UNTRIED]
    lanes.rows[row + UNTRIED] = untried & -untried
    others.rows[source + UNTRIED] = untried & (untried - 1)
    lanes.lanes[idle_lane * LANE_FIELDS + BASE] = depth
    lanes.lanes[idle_lane * LANE_FIELDS + SHALLOWEST] = depth
    return depth  # type: ignore[no-any-return]


@kernel
def start_at_root(tables: Any, lanes: Any) -> None:
    """Begin a threshold: lane 0 at the root, whose blank, machine state (0 where no move was made before it), board,
    words and sums are in row 0; the others idle.
    """
    for lane in range(tables.n_lanes):
        lanes.lanes[lane * LANE_FIELDS + PHASE] = IDLE
        lanes.lanes[lane * LANE_FIELDS + DEPTH] = 0
        lanes.lanes[lane * LANE_FIELDS + BASE] = 0
        lanes.lanes[lane * LANE_FIELDS + SHALLOWEST] = 0
    moves = np.int64(tables.allowed[lanes.rows[MACHINE_STATE]]) & tables.cell_moves[lanes.rows[BLANK]]
    lanes.rows[UNTRIED] = moves
    lanes.rows[FIRST_SUM] = 0
    lanes.lanes[PHASE] = 0
    ask_for_children(tables, lanes, 0, moves, 0)
    lanes.counters[GENERATED] = popcount(moves)
    lanes.counters[EXPANDED] = 1
    lanes.counters[SOLUTIONS] = 0


@kernel
def search_below_threshold(tables: Any, lanes: Any, threshold: int, n_nodes: int, at_goal: int) -> int:
    """Search for the goal among the nodes with f = g + h up to `threshold`; h is the largest of all sums.

    tables     `SearchTables`
    lanes      `Lanes`, mutated; begun by `start_at_root`; a call that returns PAUSED is continued by the next one
    n_nodes    return PAUSED once the counter GENERATED has reached this
    at_goal    STOP_AT_GOAL, COUNT_GOALS or LIST_GOALS; the counter SOLUTIONS counts what was found

    Returns FOUND (the tiles moved are in the nodes of lane FOUND_LANE, depths 1 to FOUND_DEPTH), EXHAUSTED or PAUSED.
    The sum that is largest at the parent is asked first: it is the most likely to prune. About the children it leaves,
    the others are asked together.
    """
    generated = lanes.counters[GENERATED]
    expanded = lanes.counters[EXPANDED]
    status = PAUSED
    while status == PAUSED and generated < n_nodes:
        n_idle = 0
        for lane in range(tables.n_lanes):
            lane_row = lane * LANE_FIELDS
            phase = lanes.lanes[_at(lane_row + PHASE)]
            depth = lanes.lanes[_at(lane_row + DEPTH)]
            row = (lane * lanes.n_rows + depth) * tables.row_size
            move = -1
            untried = 0

            # Step 1. The values that were prefetched at the last turn are here: judge the children of the current node.
            if phase >= 0:
                first_sum = lanes.rows[_at(row + FIRST_SUM)]
                if phase == 0:
                    untried = judge_children(tables, lanes, row, first_sum, threshold - depth - 1)
                    if untried < 0:
                        untried = confirm_goal(
                            tables.goal, lanes.boards[(row + BOARD) * 8 :], tables.edge_cells, lanes.rows[row + BLANK],
                            untried,
                        )  # fmt: skip
                else:
                    for other in range(1, tables.n_sums):
                        s = other - 1 if other <= first_sum else other
                        untried = judge_children(tables, lanes, row, s, threshold - depth - 1)
                        if untried < 0:
                            untried = confirm_goal(
                                tables.goal, lanes.boards[(row + BOARD) * 8 :], tables.edge_cells,
                                lanes.rows[row + BLANK], untried,
                            )  # fmt: skip
                        if untried <= 0:
                            break
                        lanes.rows[_at(row + UNTRIED)] = untried
                if untried < 0:
                    edge = lanes.rows[row + BLANK] * N_MOVES - 1 - untried
                    tile = lanes.boards[(row + BOARD) * 8 + tables.edge_cells[edge]]
                    lanes.rows[row + tables.row_size + TILE] = tile
                    lanes.counters[SOLUTIONS] += 1
                    lanes.counters[FOUND_DEPTH] = depth + 1
                    lanes.counters[FOUND_LANE] = lane
                    # The goal is as deep as the threshold, so none of the other children is within it.
                    untried = 0
                    if at_goal != COUNT_GOALS:
                        lanes.rows[row + UNTRIED] = 0
                        lanes.lanes[lane_row + PHASE] = FRESH
                        status = FOUND
                        break
                lanes.rows[_at(row + UNTRIED)] = untried

                # Step 2. Ask the other sums about those that are left, and let the other lanes work meanwhile.
                if phase == 0 and untried != 0 and tables.n_sums > 1:
                    for other in range(1, tables.n_sums):
                        ask_for_children(tables, lanes, row, untried, other - 1 if other <= first_sum else other)
                    lanes.lanes[_at(lane_row + PHASE)] = 1
                    continue
                if untried & (untried - 1) != 0 and tables.orders_children != 0:
                    move = best_child(tables, lanes, row, untried)
            elif phase == FRESH:
                untried = lanes.rows[_at(row + UNTRIED)]

            # Step 3. Go back to the deepest node of this subtree that has an untried child.
            if untried == 0 and phase != IDLE:
                base = lanes.lanes[_at(lane_row + BASE)]
                while untried == 0 and depth > base:
                    depth -= 1
                    row -= tables.row_size
                    untried = lanes.rows[_at(row + UNTRIED)]

            # Step 4. Nothing left in this subtree: take over a part of another one.
            if untried == 0:
                lanes.lanes[lane_row + PHASE] = IDLE
                busy_lane = find_work(tables, lanes)
                if busy_lane < 0:
                    n_idle += 1
                    continue
                depth = take_over(tables, lanes, lane, lanes, busy_lane)
                row = (lane * lanes.n_rows + depth) * tables.row_size
                untried = lanes.rows[row + UNTRIED]

            # Step 5. Enter an untried child, and ask for its children's distances in its largest sum.
            if move < 0:
                move = trailing_zeros(untried)
            lanes.rows[_at(row + UNTRIED)] = untried ^ (1 << move)
            moves = enter_child(tables, lanes, row, move)
            row += tables.row_size
            ask_for_children(tables, lanes, row, moves, lanes.rows[_at(row + FIRST_SUM)])
            generated += popcount(moves)
            expanded += 1
            lanes.lanes[_at(lane_row + DEPTH)] = depth + 1
            lanes.lanes[_at(lane_row + PHASE)] = 0
        if n_idle == tables.n_lanes:
            status = EXHAUSTED
    lanes.counters[GENERATED] = generated
    lanes.counters[EXPANDED] = expanded
    return status


@kernel
def search_small_thresholds(tables: Any, lanes: Any, threshold: int, n_nodes: int, finished: Any) -> tuple[int, int]:
    """Search thresholds from `threshold` on, two apart, for a solution, as long as they are small.

    lanes      mutated; the root is in row 0, as `start_at_root` wants it
    n_nodes    return PAUSED, in the middle of a threshold, once this many have been generated in all
    finished   int64[n, 2], mutated: generated and expanded nodes of each threshold that was searched to its end; return
               PAUSED, at the beginning of a threshold, where it is full

    Returns FOUND or PAUSED, and the number of rows of `finished`. The nodes of the threshold that it ended in are in
    the counters.
    """
    n_finished = 0
    start_at_root(tables, lanes)
    status = search_below_threshold(tables, lanes, threshold, n_nodes, STOP_AT_GOAL)
    while status == EXHAUSTED and n_finished < len(finished):
        n_nodes -= lanes.counters[GENERATED]
        finished[n_finished, 0] = lanes.counters[GENERATED]
        finished[n_finished, 1] = lanes.counters[EXPANDED]
        n_finished += 1
        start_at_root(tables, lanes)
        status = PAUSED
        if n_finished < len(finished):
            status = search_below_threshold(tables, lanes, threshold + 2 * n_finished, n_nodes, STOP_AT_GOAL)
    return status, n_finished
