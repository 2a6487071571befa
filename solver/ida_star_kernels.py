"""The inner loop of IDA* over additive databases (Korf 1985; Korf and Felner 2002).

A search is split into lanes, depth-first searches of disjoint subtrees that take turns. A turn ends when a lookup has
been prefetched; by the lane's next turn the value has arrived. A lane that has finished its subtree takes over the
shallowest untried child of another. One lane alone is the textbook's depth-first search. A threshold that is searched
to its end has the same nodes however many lanes there are.

Indices are cast to unsigned, which spares numba its test for negative ones; that halves the time of a node.
"""

from typing import Any

import numpy as np

from pdb_core.bit_kernels import load_byte, popcount, prefetch
from pdb_core.jit import kernel
from solver.search_tables import (
    BASE,
    BLANK,
    BLOCKS,
    BOTH_CELLS,
    CELLS_BELOW,
    CELLS_BETWEEN,
    CHILD_FIELDS,
    DEPTH,
    EDGE_FIELDS,
    ENTRY_SHIFT,
    EXPANDED,
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
    MAX_CHILDREN,
    N_CANDIDATES,
    N_LEFT,
    N_SUFFIXES,
    NODE_FIELDS,
    PHASE,
    PREFIX,
    PREFIX_BITS,
    REGIONS,
    ROW_BITS,
    SHALLOWEST,
    STATE_MASK,
    SUFFIX,
    TABLE,
    TILE,
    UNIT_FIELDS,
    VALUE_SHIFT,
    WORD,
)

# What `search_below_threshold` returns.
EXHAUSTED, FOUND, PAUSED = 0, 1, 2

_at = np.uint64


@kernel
def move_unit(tables: Any, word: int, unit: int, edge_row: int) -> int:
    """The state of a unit after a tile of it has moved along an edge; its value is left out.

    The tile jumps over those on the cells between; their labels and its own rotate by one place, as in
    `ranking_kernels.move_label`.
    """
    label_bits = tables.units[_at(unit * UNIT_FIELDS + LABEL_BITS)]
    word &= STATE_MASK
    shift = label_bits * popcount(word & tables.edges[_at(edge_row + CELLS_BELOW)]) + tables.n_cells
    length = label_bits * (popcount(word & tables.edges[_at(edge_row + CELLS_BETWEEN)]) + 1)
    segment_mask = (1 << length) - 1
    segment = (word >> shift) & segment_mask
    right = label_bits if tables.edges[_at(edge_row + IS_UPWARD)] != 0 else length - label_bits
    rotated = ((segment >> right) | (segment << (length - right))) & segment_mask
    return word ^ ((segment ^ rotated) << shift) ^ tables.edges[_at(edge_row + BOTH_CELLS)]  # type: ignore[no-any-return]


@kernel
def unit_address(tables: Any, word: int, unit: int, blank: int) -> int:
    """The bit address of the distance of a unit's state; `blank` is the blank's cell in the board of its sum."""
    row = unit * UNIT_FIELDS
    lower = word & ((1 << tables.low_bits) - 1)
    upper = (word >> tables.low_bits) & ((1 << tables.high_bits) - 1)
    labels = word >> tables.n_cells
    prefix_bits = tables.units[_at(row + PREFIX_BITS)]
    low = tables.set_ranks[_at(tables.units[_at(row + LOW)] + lower)]
    high = tables.set_ranks[_at(tables.units[_at(row + HIGH)] + ((popcount(lower) << tables.high_bits) | upper))]
    place = np.int64(low) + np.int64(high)
    if tables.units[_at(row + BLOCKS)] >= 0:
        region = tables.region_numbers[_at(tables.units[_at(row + REGIONS)] + place * tables.n_cells + blank)]
        place = np.int64(tables.first_block[_at(tables.units[_at(row + BLOCKS)] + place)]) + np.int64(region)
    before = tables.order_ranks[_at(tables.units[_at(row + PREFIX)] + (labels & ((1 << prefix_bits) - 1)))]
    after = tables.order_ranks[_at(tables.units[_at(row + SUFFIX)] + (labels >> prefix_bits))]
    order = np.int64(before) * tables.units[_at(row + N_SUFFIXES)] + np.int64(after)
    return (  # type: ignore[no-any-return]
        tables.units[_at(row + TABLE)]
        + place * tables.units[_at(row + ROW_BITS)]
        + (order << tables.units[_at(row + ENTRY_SHIFT)])
    )


@kernel
def read_distance(tables: Any, unit: int, address: int, value_before: int) -> int:
    """The distance at a bit address, of a state that a move of this unit's tile leads to from one of `value_before`."""
    byte = load_byte(address >> 3)
    if tables.units[_at(unit * UNIT_FIELDS + BLOCKS)] < 0:
        return byte
    # It is one more or one less, and bit 1 tells which.
    bit = (byte >> (address & 7)) & 1
    return value_before - 1 + ((((value_before + 1) >> 1) ^ bit ^ 1) & 1) * 2


@kernel
def ask_for_child(tables: Any, lanes: Any, row: int, place: int, s: int) -> None:
    """Work out what the move to a child makes of sum `s`, and prefetch the distance of the unit that changes."""
    edge = lanes.edges[_at(row * MAX_CHILDREN + place)]
    tile = lanes.boards[_at(row * 8 * tables.board_words + tables.edge_cells[_at(edge)])]
    unit = tables.unit_of_tile[_at(s * tables.n_cells + tile)]
    edge_row = (s * tables.edge_cells.shape[0] + edge) * EDGE_FIELDS
    word = move_unit(tables, lanes.words[_at(row * tables.n_units + unit)], unit, edge_row)
    address = unit_address(tables, word, unit, tables.edges[_at(edge_row + LEFT_CELL)])
    prefetch(address >> 3)
    child = ((row * MAX_CHILDREN + place) * tables.n_sums + s) * CHILD_FIELDS
    lanes.children[_at(child + WORD)] = word
    lanes.children[_at(child + H_OR_ADDRESS)] = address


@kernel
def expand(tables: Any, lanes: Any, row: int) -> int:
    """Generate the children of the node in `row`: every move that the machine does not refuse. Returns how many."""
    blank = lanes.nodes[_at(row * NODE_FIELDS + BLANK)]
    state = lanes.nodes[_at(row * NODE_FIELDS + MACHINE_STATE)]
    n_children = 0
    for edge in range(tables.first_edge[_at(blank)], tables.first_edge[_at(blank + 1)]):
        lanes.edges[_at(row * MAX_CHILDREN + n_children)] = edge
        lanes.candidates[_at(row * MAX_CHILDREN + n_children)] = n_children
        # No branch: whether a move is refused cannot be predicted.
        n_children += 1 if tables.successors[_at(state * 4 + tables.edge_moves[_at(edge)])] >= 0 else 0
    for place in range(n_children):
        ask_for_child(tables, lanes, row, place, 0)
    lanes.nodes[_at(row * NODE_FIELDS + N_CANDIDATES)] = n_children
    return n_children


@kernel
def judge_children(tables: Any, lanes: Any, row: int, s: int, h_limit: int) -> int:
    """Drop the candidates whose h in sum `s` exceeds `h_limit`. Returns how many are left, or -1 - (a child that is the
    goal).

    A sum of 0 is the goal: every tile is in its place.
    """
    n_left = 0
    goal = -1
    h_before = lanes.sums[_at(row * tables.n_sums + s)]
    for i in range(lanes.nodes[_at(row * NODE_FIELDS + N_CANDIDATES)]):
        place = lanes.candidates[_at(row * MAX_CHILDREN + i)]
        edge = lanes.edges[_at(row * MAX_CHILDREN + place)]
        tile = lanes.boards[_at(row * 8 * tables.board_words + tables.edge_cells[_at(edge)])]
        unit = tables.unit_of_tile[_at(s * tables.n_cells + tile)]
        value_before = (lanes.words[_at(row * tables.n_units + unit)] >> VALUE_SHIFT) & 255
        child = ((row * MAX_CHILDREN + place) * tables.n_sums + s) * CHILD_FIELDS
        value = read_distance(tables, unit, lanes.children[_at(child + H_OR_ADDRESS)], value_before)
        h = h_before + value - value_before
        lanes.children[_at(child + WORD)] |= value << VALUE_SHIFT
        lanes.children[_at(child + H_OR_ADDRESS)] = h
        lanes.candidates[_at(row * MAX_CHILDREN + n_left)] = place
        # No branches, for the same reason as in `expand`.
        n_left += 1 if h <= h_limit else 0
        goal = place if h == 0 else goal
    return n_left if goal < 0 else -1 - goal


@kernel
def move_best_candidate_last(tables: Any, lanes: Any, row: int, n_left: int) -> None:
    """Exchange the last candidate, which is searched first, with the one whose sums add up to the least.

    That changes nothing in a threshold that is searched to its end, and finds the goal earlier in the last one.
    """
    best, best_h = 0, 1 << 30
    for i in range(n_left):
        place = lanes.candidates[_at(row * MAX_CHILDREN + i)]
        h = 0
        for s in range(tables.n_sums):
            child = ((row * MAX_CHILDREN + place) * tables.n_sums + s) * CHILD_FIELDS
            h += lanes.children[_at(child + H_OR_ADDRESS)]
        if h <= best_h:
            best, best_h = i, h
    last = row * MAX_CHILDREN + n_left - 1
    place = lanes.candidates[_at(last)]
    lanes.candidates[_at(last)] = lanes.candidates[_at(row * MAX_CHILDREN + best)]
    lanes.candidates[_at(row * MAX_CHILDREN + best)] = place


@kernel
def enter_child(tables: Any, lanes: Any, row: int, place: int) -> None:
    """Fill the row after `row` with its child at `place`."""
    n_cells, board_words, n_units, n_sums = tables.n_cells, tables.board_words, tables.n_units, tables.n_sums
    edge = lanes.edges[_at(row * MAX_CHILDREN + place)]
    cell = tables.edge_cells[_at(edge)]
    blank = lanes.nodes[_at(row * NODE_FIELDS + BLANK)]
    tile = lanes.boards[_at(row * 8 * board_words + cell)]
    new = row + 1
    for i in range(board_words):
        lanes.boards_64[_at(new * board_words + i)] = lanes.boards_64[_at(row * board_words + i)]
    lanes.boards[_at(new * 8 * board_words + cell)] = 0
    lanes.boards[_at(new * 8 * board_words + blank)] = tile
    for i in range(n_units):
        lanes.words[_at(new * n_units + i)] = lanes.words[_at(row * n_units + i)]
    for s in range(n_sums):
        child = ((row * MAX_CHILDREN + place) * n_sums + s) * CHILD_FIELDS
        unit = tables.unit_of_tile[_at(s * n_cells + tile)]
        lanes.words[_at(new * n_units + unit)] = lanes.children[_at(child + WORD)]
        lanes.sums[_at(new * n_sums + s)] = lanes.children[_at(child + H_OR_ADDRESS)]
    lanes.nodes[_at(new * NODE_FIELDS + BLANK)] = cell
    state = lanes.nodes[_at(row * NODE_FIELDS + MACHINE_STATE)]
    lanes.nodes[_at(new * NODE_FIELDS + MACHINE_STATE)] = tables.successors[
        _at(state * 4 + tables.edge_moves[_at(edge)])
    ]
    lanes.nodes[_at(new * NODE_FIELDS + TILE)] = tile
    lanes.nodes[_at(new * NODE_FIELDS + N_LEFT)] = 0


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
            and lanes.nodes[(lane * lanes.n_rows + depth) * NODE_FIELDS + N_LEFT] == 0
        ):
            depth += 1
        lanes.lanes[lane_row + SHALLOWEST] = depth
        if depth < lanes.lanes[lane_row + DEPTH] and depth < best_depth:
            best_lane, best_depth = lane, depth
    return best_lane


@kernel
def take_over(tables: Any, lanes: Any, idle_lane: int, others: Any, busy_lane: int) -> int:
    """Give an idle lane of `lanes` the last untried child of the shallowest node of a busy one of `others`, which may
    be the same. Returns the depth of the child's parent.
    """
    depth = others.lanes[busy_lane * LANE_FIELDS + SHALLOWEST]
    row, source = idle_lane * lanes.n_rows + depth, busy_lane * others.n_rows + depth
    for d in range(1, depth + 1):
        tile = others.nodes[(busy_lane * others.n_rows + d) * NODE_FIELDS + TILE]
        lanes.nodes[(idle_lane * lanes.n_rows + d) * NODE_FIELDS + TILE] = tile
    n_left = others.nodes[source * NODE_FIELDS + N_LEFT] - 1
    others.nodes[source * NODE_FIELDS + N_LEFT] = n_left
    place = others.candidates[source * MAX_CHILDREN + n_left]
    for i in range(tables.board_words):
        lanes.boards_64[row * tables.board_words + i] = others.boards_64[source * tables.board_words + i]
    for i in range(tables.n_units):
        lanes.words[row * tables.n_units + i] = others.words[source * tables.n_units + i]
    fields = tables.n_sums * CHILD_FIELDS
    for i in range(fields):
        lanes.children[row * MAX_CHILDREN * fields + i] = others.children[(source * MAX_CHILDREN + place) * fields + i]
    lanes.edges[row * MAX_CHILDREN] = others.edges[source * MAX_CHILDREN + place]
    lanes.candidates[row * MAX_CHILDREN] = 0
    lanes.nodes[row * NODE_FIELDS + BLANK] = others.nodes[source * NODE_FIELDS + BLANK]
    lanes.nodes[row * NODE_FIELDS + MACHINE_STATE] = others.nodes[source * NODE_FIELDS + MACHINE_STATE]
    lanes.nodes[row * NODE_FIELDS + N_LEFT] = 1
    lanes.lanes[idle_lane * LANE_FIELDS + BASE] = depth
    lanes.lanes[idle_lane * LANE_FIELDS + SHALLOWEST] = depth
    return depth  # type: ignore[no-any-return]


@kernel
def start_at_root(tables: Any, lanes: Any, blank: int) -> None:
    """Begin a threshold: lane 0 at the root, whose board, words and sums are in row 0; the others idle."""
    for lane in range(tables.n_lanes):
        lanes.lanes[lane * LANE_FIELDS + PHASE] = IDLE
        lanes.lanes[lane * LANE_FIELDS + DEPTH] = 0
        lanes.lanes[lane * LANE_FIELDS + BASE] = 0
        lanes.lanes[lane * LANE_FIELDS + SHALLOWEST] = 0
    lanes.lanes[PHASE] = 0
    lanes.nodes[BLANK] = blank
    lanes.nodes[MACHINE_STATE] = 0
    lanes.nodes[N_LEFT] = 0
    lanes.counters[GENERATED] = expand(tables, lanes, 0)
    lanes.counters[EXPANDED] = 1


@kernel
def search_below_threshold(tables: Any, lanes: Any, threshold: int, n_nodes: int) -> int:
    """Search for the goal among the nodes with f = g + h up to `threshold`; h is the largest of all sums.

    tables     `SearchTables`
    lanes      `Lanes`, mutated; begun by `start_at_root`; a call that returns PAUSED is continued by the next one
    n_nodes    return PAUSED once the counter GENERATED has reached this

    Returns FOUND (the tiles moved are in the nodes of lane FOUND_LANE, depths 1 to FOUND_DEPTH), EXHAUSTED or PAUSED. A
    child that one sum prunes is not looked up in the next.
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
            row = lane * lanes.n_rows + depth
            n_left = 0

            # Step 1. The values that were prefetched at the last turn are here: judge the children of the current node.
            if phase == FRESH:
                n_left = lanes.nodes[_at(row * NODE_FIELDS + N_LEFT)]
            elif phase != IDLE:
                n_left = judge_children(tables, lanes, row, phase, threshold - depth - 1)
                if n_left < 0:
                    edge = lanes.edges[row * MAX_CHILDREN + (-1 - n_left)]
                    tile = lanes.boards[row * 8 * tables.board_words + tables.edge_cells[edge]]
                    lanes.nodes[(row + 1) * NODE_FIELDS + TILE] = tile
                    lanes.counters[FOUND_DEPTH] = depth + 1
                    lanes.counters[FOUND_LANE] = lane
                    status = FOUND
                    break

                # Step 2. Ask the next sum about those that are left, and let the other lanes work meanwhile.
                phase += 1
                if n_left > 0 and phase < tables.n_sums:
                    for i in range(n_left):
                        ask_for_child(tables, lanes, row, lanes.candidates[_at(row * MAX_CHILDREN + i)], phase)
                    lanes.nodes[_at(row * NODE_FIELDS + N_CANDIDATES)] = n_left
                    lanes.lanes[_at(lane_row + PHASE)] = phase
                    continue

                # Step 3. Go back to the deepest node of this subtree that has an untried child.
                if n_left > 1 and tables.orders_children != 0:
                    move_best_candidate_last(tables, lanes, row, n_left)
                lanes.nodes[_at(row * NODE_FIELDS + N_LEFT)] = n_left
                base = lanes.lanes[_at(lane_row + BASE)]
                while n_left == 0 and depth > base:
                    depth -= 1
                    row -= 1
                    n_left = lanes.nodes[_at(row * NODE_FIELDS + N_LEFT)]

            # Step 4. Nothing left in this subtree: take over a part of another one.
            if n_left == 0:
                lanes.lanes[lane_row + PHASE] = IDLE
                busy_lane = find_work(tables, lanes)
                if busy_lane < 0:
                    n_idle += 1
                    continue
                depth = take_over(tables, lanes, lane, lanes, busy_lane)
                row = lane * lanes.n_rows + depth
                n_left = 1

            # Step 5. Enter the last untried child, and ask for its children's distances in the first sum.
            n_left -= 1
            lanes.nodes[_at(row * NODE_FIELDS + N_LEFT)] = n_left
            enter_child(tables, lanes, row, lanes.candidates[_at(row * MAX_CHILDREN + n_left)])
            generated += expand(tables, lanes, row + 1)
            expanded += 1
            lanes.lanes[_at(lane_row + DEPTH)] = depth + 1
            lanes.lanes[_at(lane_row + PHASE)] = 0
        if n_idle == tables.n_lanes:
            status = EXHAUSTED
    lanes.counters[GENERATED] = generated
    lanes.counters[EXPANDED] = expanded
    return status
