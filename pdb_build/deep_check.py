"""Deep check: proof that every entry of a table is right.

The additive minimum has no local proof, because two neighbours in it may differ by 3. Bits have none either, because
labels modulo 4 can lead in a circle. The zero-aware distances have one. So the builder's search finds them again, they
are proved, and compared with the table: their minimum with bytes, bit 1 of each with bits. The proof shares only the
index function with the builder; `deep_check_space` derives regions, moves and permutations again. If every move counts,
the blank's moves are transitions like the others, and the same proof holds.

The proof. Let d be any labelling of the states with 0 .. 254 ("reached") or 255 ("unreached"), such that

1. the goal's state is the only one with d = 0;
2. every transition from a reached state leads to a reached one and changes d by exactly 1, and every transition from an
   unreached state leads to an unreached one;
3. every reached state other than the goal has a neighbour whose d is exactly one lower.

Then d is the distance from the goal. Forwards: a path from the goal, which is reached and has d = 0 (1), visits only
reached states, and d grows by at most 1 with each move (2). So every state that the goal can reach is reached, with
d <= distance. Backwards: from any reached state one can move to a neighbour one lower, again and again (3), and after
exactly d moves is at d = 0, which is the goal (1). So the goal is d moves away and, because moves can be undone,
distance <= d. It follows that the reached states are exactly those that the goal can reach.

The proof does not depend on how d was found: wrong distances of the search fail it. The kernels check 1 to 3 for every
state and every transition.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pdb_build.deep_check_kernels import prove_blocks, take_minimum
from pdb_build.deep_check_space import StateSpace, permutation_type, state_space
from pdb_build.plan import layout_bytes
from pdb_build.search import zero_aware_distances
from pdb_build.word_layout import row_bytes
from pdb_core.encoding import UNREACHED, block_bytes
from pdb_core.errors import TableFileDamagedError, WrongAnswerError
from pdb_core.layout import jump_positions
from pdb_core.pattern import Pattern
from pdb_core.table_spec import TableSpec
from pdb_core.threads import thread_pool
from pdb_core.types import BLANK, Bytes, Int64s

Progress = Callable[[str, float], None]
Result = TypeVar("Result")

# A kernel call of this many states takes about 10 ms, and the comparison needs a few bytes for each.
_SLAB_STATES = 2_000_000


@dataclass(frozen=True)
class Proof:
    """Counts of a proof, of states and entries that were checked one by one.

    n_states, n_blocks  zero-aware states, and blocks of k! of them
    n_reached           states that the goal can reach
    n_transitions       transitions of states; a move counts twice, once from each end
    max_distance        largest zero-aware distance
    n_entries           entries of the table
    """

    n_states: int
    n_blocks: int
    n_reached: int
    n_transitions: int
    max_distance: int
    n_entries: int
    seconds: float


def prove_table(
    spec: TableSpec,
    table: Bytes,
    *,
    n_threads: int,
    progress: Progress = lambda stage, fraction: None,  # noqa: ARG005
) -> Proof:
    """Prove that every entry of a table is right.

    `table` is uint8[n_bytes] in the encoding of `spec`. Needs about `required_bytes` of memory. `progress(stage,
    fraction)` is called in the calling thread.

    Raises `TableFileDamagedError` for the first wrong entry or a wrong number of entries, and `WrongAnswerError` if the
    distances of the search fail their proof, a fault of the program or of the machine's memory. KeyboardInterrupt
    passes through within a fraction of a second.
    """
    start_s = time.perf_counter()
    progress("listing the moves", 0.0)
    space = state_space(spec.size, spec.n_tiles, spec.cost)
    found = zero_aware_distances(
        spec,
        n_threads=n_threads,
        progress=lambda _depth, n_reached, n_states: progress("searching the distances", n_reached / n_states),
    )
    distances = found.table.reshape(-1, spec.n_orders)
    with thread_pool(n_threads, thread_name_prefix="deep-check") as executor:
        pool = _WorkerPool(executor, n_threads, progress)
        try:
            goal_state = space.state_of(spec.goal, spec.pattern.tiles)
            n_reached, max_distance = prove_distances(space, goal_state, distances, pool)
            _compare(space, spec, distances, table, pool)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    return Proof(
        n_states=space.n_states,
        n_blocks=space.n_blocks,
        n_reached=n_reached,
        n_transitions=len(space.moves.targets) * space.n_orders,
        max_distance=max_distance,
        n_entries=space.n_states if spec.encoding == "bits" else table.size,
        seconds=time.perf_counter() - start_s,
    )


def required_bytes(spec: TableSpec) -> int:
    """Estimate the memory that `prove_table` needs beside the table."""
    n_blocks, n_cells = spec.n_blocks, spec.size.n_cells
    # The moves take the most while they are listed, before the search. The allocator keeps about half of that.
    listing = 4 * spec.n_sets * n_cells + 24 * n_blocks + 50 * spec.n_transitions
    moves = spec.n_sets * (n_cells + 8) + 8 * n_blocks + 6 * spec.n_transitions
    search = n_blocks * (spec.n_orders + row_bytes(spec.n_tiles)) + layout_bytes(spec)
    n_jumps = len(jump_positions(spec.n_tiles, spec.size.width))
    permutations = (n_jumps + 40) * spec.n_orders * permutation_type(spec.n_orders).itemsize
    return permutations + max(listing, listing // 2 + moves + search)


# After the search: prove, compare.


@dataclass(frozen=True)
class _WorkerPool:
    """Threads that check slabs, while the calling thread waits, reports and can be interrupted."""

    executor: ThreadPoolExecutor
    n_threads: int
    progress: Progress

    def results(
        self, job: Callable[[int, int], Result], n_items: int, space: StateSpace, stage: str
    ) -> Iterator[Result]:
        """Yield `job(start, stop)` for slabs of 0 .. n_items, in their order. Report the progress of a stage."""
        # At least a few slabs for each thread.
        step = max(1, min(_SLAB_STATES // space.n_orders, -(-n_items // (4 * self.n_threads))))
        starts = range(0, n_items, step)
        futures = [self.executor.submit(job, start, min(start + step, n_items)) for start in starts]
        for start, future in zip(starts, futures, strict=True):
            yield future.result()
            self.progress(stage, min(start + step, n_items) / n_items)


def prove_distances(
    space: StateSpace, goal_state: tuple[int, int], distances: Bytes, pool: _WorkerPool
) -> tuple[int, int]:
    """Check the conditions of the proof for uint8[n_blocks, k!]. Return the reached states and the largest distance.

    Raises `WrongAnswerError`.
    """
    n_zeros = n_reached = max_distance = 0
    fault = None

    def prove(start: int, stop: int) -> tuple[int, Int64s]:
        has_lower, gathered = np.empty((2, space.n_orders), dtype=np.uint8)
        counts = np.zeros(3, dtype=np.int64)
        return prove_blocks(start, stop, distances, space.moves, has_lower, gathered, counts), counts

    for bad_block, counts in pool.results(prove, space.n_blocks, space, "proving the distances"):
        if bad_block >= 0:
            fault = f"block {bad_block} does not agree with its neighbours"
            break
        n_zeros += int(counts[0])
        n_reached += int(counts[1])
        max_distance = max(max_distance, int(counts[2]))
    if fault is None and (n_zeros != 1 or distances[goal_state] != 0):
        fault = "the goal is not the only state at distance 0"
    if fault is not None:
        raise WrongAnswerError(
            f"the distances of the search fail their own proof: {fault}; the table may be sound, "
            "run the check again and report it if it fails again"
        )
    return n_reached, max_distance


def _compare(space: StateSpace, spec: TableSpec, distances: Bytes, table: Bytes, pool: _WorkerPool) -> None:
    """Raise `TableFileDamagedError` at the first byte of a table that the distances do not give.

    In bytes these are the minima over the blank regions. In bits they are bit 1 of each distance, 0 for unreached
    states.
    """
    is_bits = spec.encoding == "bits"
    n_rows, n_row = (space.n_blocks, block_bytes(space.n_tiles)) if is_bits else (space.n_sets, space.n_orders)
    if table.size != n_rows * n_row:
        raise TableFileDamagedError(
            f"the table of pattern {spec.pattern} has {table.size} bytes where a {spec.size} board needs "
            f"{n_rows * n_row}; rebuild it with pdb build"
        )

    def compare(start: int, stop: int) -> tuple[int, int] | None:
        if is_bits:
            rows = distances[start:stop]
            right = np.packbits(rows & (rows != UNREACHED) * np.uint8(2), axis=1, bitorder="little")
        else:
            right = np.full((stop - start, n_row), UNREACHED, dtype=np.uint8)
            take_minimum(start, stop, space.first_block, distances, right)
        wrong = np.flatnonzero(right.reshape(-1) != table[start * n_row : stop * n_row])
        return (start * n_row + int(wrong[0]), int(right.reshape(-1)[wrong[0]])) if len(wrong) else None

    for wrong in pool.results(compare, n_rows, space, "comparing the table"):
        if wrong is not None:
            at, right = wrong
            raise TableFileDamagedError(
                f"byte {at} of the table of pattern {spec.pattern} is {table[at]} where {right} is right; rebuild it "
                "with pdb build"
            )


def prove_use(pattern: Pattern, table: TableSpec, cell_map: tuple[int, ...]) -> None:
    """Prove that the distances of `pattern` are those of `table` with cells mapped by `cell_map`.

    A cell map that takes neighbours to neighbours takes moves to moves. If it also takes the pattern's goal to a state
    that is as far from every state as the table's goal, it takes each state to one of the same distance. That is so if
    it takes the tiles' goal cells to each other, and the blank can go from one goal cell to the other at no cost.

    Raises `TableFileDamagedError` if the distances may differ.
    """
    goal, n = table.goal, table.size.n_cells
    pairs = {(cell, near) for cell in range(n) for near in table.size.neighbours[cell]}
    taken = {goal.index(tile) for tile in table.pattern.tiles}
    fits = (
        sorted(cell_map) == list(range(n))
        and {(cell_map[a], cell_map[b]) for a, b in pairs} == pairs
        and {cell_map[goal.index(tile)] for tile in pattern.tiles} == taken
    )
    if fits:
        reached = {cell_map[goal.index(BLANK)]}
        if table.cost == "additive":
            for _ in range(n):  # a path visits each cell at most once
                reached |= {b for a, b in pairs if a in reached and b not in taken}
        fits = goal.index(BLANK) in reached
    if not fits:
        raise TableFileDamagedError(
            f"pattern {pattern} has other distances than pattern {table.pattern}, whose table it uses; rebuild it with "
            "pdb build"
        )
