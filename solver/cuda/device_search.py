"""The search on a card: one kernel for one hard board and for millions of easy ones.

A thread takes an item of a list, and searches below it, depth first, with a stack in local memory. After its share of
nodes it walks back up its stack, and writes each node that still has untried moves as a new item. The kernel is
launched again until no item is left, so nothing is estimated, and no work is balanced by hand.

What depends on the tables is in a *kind*: device functions that `search_kernel` puts together.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from solver.cuda.dialect import compiled, cuda, device_function, int32, int64, uint32, uint64
from solver.engine.layout import ALLOWED_SHIFT, FSM_STATE_MASK

# Words of an item. Those of the kind begin at HEAD; the moves from the root of its job follow, two bits each, the first
# one at bit 0 of the first word.
#
#              63      48        47                 25      17      9         5            0
#     META     | unused | is root | state of the FSM | g     | left  | untried | blank's cell |
#              63                      32                                        0
#     JOB      | of the kind            | number of the job                      |
#
# left: moves to the threshold. is root: the item is a whole job, whose root is not counted yet.
META, JOB, HEAD = range(3)
UNTRIED_SHIFT, LEFT_SHIFT, G_SHIFT, STATE_SHIFT, ROOT_SHIFT = 5, 9, 17, 25, 47
MOVES_OF_WORD = 32
# A level of a stack: what was left of a node when the search went below it.
#
#     31                     6      4         0
#     | state of the FSM      | move | untried |
LEVEL_MOVE, LEVEL_STATE = 4, 6

# What threads share in a launch: the items taken and the first row that is free; 1 if a search ended elsewhere than at
# the goal.
N_CONTROLS = 3
TAKEN, FREE, WRONG = range(N_CONTROLS)

# Of the lookup of a child.
PENDING, DROPPED, KEPT = range(3)
# Nodes between two looks at whether another thread has found a solution.
_LOOK_NODES = 63


class Kind(NamedTuple):
    """Device functions of a kind of tables. `at` is what `prepare` returned, `state` what a node has of the kind.

    n_words   of an item
    Record    type of what `pop` needs to know of a push
    prepare   (tables) -> at: fills arrays that the threads of a block share
    load      (at, items, row) -> state
    store     (at, state, items, row): writes the words of the kind; adds its bits to JOB
    begin     (at, state, cell) -> child: the tile on `cell` would move
    look_up   (at, tables, state, child, blank, cell) -> status, child
    push      (at, state, child, blank, cell) -> state, record
    pop       (at, state, record, blank, before) -> state: the blank moves back
    is_goal   (at, tables, state, blank) -> whether the board is the goal
    """

    n_words: int
    Record: Any
    prepare: Callable[..., Any]
    load: Callable[..., Any]
    store: Callable[..., Any]
    begin: Callable[..., Any]
    look_up: Callable[..., Any]
    push: Callable[..., Any]
    pop: Callable[..., Any]
    is_goal: Callable[..., Any]


@device_function
def write_path(
    items: Any, row: int, column: int, levels: Any, depth: int, out: Any, out_row: int, out_column: int
) -> None:
    """Write the moves to a node: those of the item in `row`, then those of the stack."""
    position = uint32(items[row, META] >> uint64(G_SHIFT)) & uint32(255)
    w = int32(position >> uint32(5))
    for i in range(w):
        out[out_row, out_column + i] = items[row, column + i]
    word = uint64(0)
    if position & uint32(31):
        word = items[row, column + w]
    for d in range(depth):
        move = uint64((levels[d] >> uint32(LEVEL_MOVE)) & uint32(3))
        word |= move << uint64(uint32(2) * (position & uint32(31)))
        position += uint32(1)
        if position & uint32(31) == uint32(0):
            out[out_row, out_column + w] = word
            w += int32(1)
            word = uint64(0)
    if position & uint32(31):
        out[out_row, out_column + w] = word


@lru_cache(maxsize=16)
def search_kernel(kind: Kind, width: int, most_depth: int, registers: int) -> Any:
    """Return the kernel of a kind for boards of a width, and stacks of up to `most_depth` moves.

    Its arguments:

    items        uint64[n, w]: the list; those behind its end are free
    n_items      items of the list; the last ones are taken first
    n_take       items to take, at most
    room         rows that may be in use when an item is taken
    share        nodes after which an item is written back
    control      int64[N_CONTROLS]
    board_of     int32[jobs]: the board of each job
    n_left       int32[jobs]: items of each job in the list
    counts       uint64[jobs, 2]: generated and expanded nodes
    claimed, found  int32[boards]: 1 from when a thread began and ended to write the solution of a board
    paths        uint64[boards, p]: its moves
    successors   uint32[4 * states]: the state after each state and move, with the moves that it allows above
    legal        uint8[32]: the blank's moves by its cell
    tables       those of the kind
    """
    path, record_type = HEAD + kind.n_words, kind.Record
    prepare, load, store, begin, look_up, push, pop, is_goal = kind[2:]

    @device_function
    def step_of(move: Any) -> Any:
        step = int32(1) if move == int32(1) or move == int32(2) else int32(width)
        return -step if move < int32(2) else step

    def search(
        items, n_items, n_take, room, share, control, board_of, n_left, counts, claimed, found, paths, successors,
        legal, tables,
    ):  # fmt: skip
        levels = cuda.local.array(most_depth, uint32)
        records = cuda.local.array(most_depth, record_type)
        at = prepare(tables)
        cuda.syncthreads()
        while True:
            # Each thread may still write its whole stack.
            if control[FREE] > room:
                break
            number = cuda.atomic.add(control, TAKEN, 1)
            if number >= n_take:
                break
            row = int64(n_items - 1 - number)
            job = int32(items[row, JOB] & uint64(0xFFFFFFFF))
            board = board_of[job]
            n_written = int32(0)
            if found[board] == 0:
                # Step 1. Load the item.
                meta = items[row, META]
                blank = int32(meta & uint64(31))
                untried = uint32(meta >> uint64(UNTRIED_SHIFT)) & uint32(15)
                left = int32((meta >> uint64(LEFT_SHIFT)) & uint64(255))
                fsm = uint32(meta >> uint64(STATE_SHIFT)) & uint32(FSM_STATE_MASK)
                state = load(at, items, row)
                depth, cell, move = int32(0), int32(0), int32(0)
                child = begin(at, state, blank)
                generated, expanded = uint32(0), uint32(meta >> uint64(ROOT_SHIFT))
                is_pending, is_over = False, False
                while True:
                    if not is_pending:
                        # Step 2. Write the node if the share is used up; go back up if it has no moves left.
                        if untried == uint32(0) or is_over:
                            if untried != uint32(0):
                                to = cuda.atomic.add(control, FREE, 1)
                                items[to, JOB] = uint64(job)
                                store(at, state, items, to)
                                write_path(items, row, path, levels, depth, items, to, path)
                                g = (uint32(meta >> uint64(G_SHIFT)) & uint32(255)) + uint32(depth)
                                items[to, META] = (
                                    uint64(blank)
                                    | (uint64(untried) << uint64(UNTRIED_SHIFT))
                                    | (uint64(left) << uint64(LEFT_SHIFT))
                                    | (uint64(g) << uint64(G_SHIFT))
                                    | (uint64(fsm) << uint64(STATE_SHIFT))
                                )
                                n_written += int32(1)
                                untried = uint32(0)
                            if depth == int32(0):
                                break
                            depth -= int32(1)
                            left += int32(1)
                            level = levels[depth]
                            untried = level & uint32(15)
                            fsm = level >> uint32(LEVEL_STATE)
                            cell = blank - step_of(int32((level >> uint32(LEVEL_MOVE)) & uint32(3)))
                            state = pop(at, state, records[depth], blank, cell)
                            blank = cell
                        # Step 3. Begin the next child.
                        if untried != uint32(0) and not is_over:
                            move = int32(31) - int32(cuda.clz(untried))
                            untried ^= uint32(1) << uint32(move)
                            generated += uint32(1)
                            cell = blank + step_of(move)
                            child = begin(at, state, cell)
                            is_pending = True
                            if generated & uint32(_LOOK_NODES) == uint32(0):
                                if found[board] != 0:
                                    break
                                is_over = generated >= share
                    if is_pending:
                        # Step 4. Look up one table of the child.
                        status, child = look_up(at, tables, state, child, blank, cell)
                        is_pending = status == PENDING
                        if status == KEPT:
                            # Step 5. Go below it.
                            expanded += uint32(1)
                            levels[depth] = (
                                untried | (uint32(move) << uint32(LEVEL_MOVE)) | (fsm << uint32(LEVEL_STATE))
                            )
                            state, records[depth] = push(at, state, child, blank, cell)
                            depth += int32(1)
                            left -= int32(1)
                            blank = cell
                            if left == int32(0):
                                if not is_goal(at, tables, state, blank):
                                    control[WRONG] = 1
                                elif cuda.atomic.cas(claimed, board, 0, 1) == 0:
                                    write_path(items, row, path, levels, depth, paths, board, 0)
                                    cuda.threadfence()
                                    found[board] = 1
                                break
                            after = successors[uint32(4) * fsm + uint32(move)]
                            fsm = after & uint32(FSM_STATE_MASK)
                            untried = (after >> uint32(ALLOWED_SHIFT)) & uint32(legal[blank])
                cuda.atomic.add(counts, (job, 0), uint64(generated))
                cuda.atomic.add(counts, (job, 1), uint64(expanded))
            cuda.atomic.add(n_left, job, n_written - int32(1))

    return compiled(search, registers=registers)
