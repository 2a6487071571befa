"""Tables of an engine on the card, and the roots and items of boards."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.encoding import UNREACHED
from pdb_core.errors import InputError
from pdb_core.types import Bytes, Int64s, UInt64s
from solver.board_arrays import blank_moves
from solver.cuda.device_search import (
    G_SHIFT,
    HEAD,
    JOB,
    LEFT_SHIFT,
    META,
    MOVES_OF_WORD,
    ROOT_SHIFT,
    STATE_SHIFT,
    UNTRIED_SHIFT,
)
from solver.cuda.device_units import MAX_CELLS, MAX_TILES, descent_kernel
from solver.cuda.dialect import IS_SIMULATED, cuda
from solver.cuda.kinds import PLANES, CardRoots, Launch
from solver.cuda.pairs import PAIRS
from solver.cuda.units import UNITS, shape_of, unit_tables
from solver.engine import layout as mem
from solver.engine.database_engine import DatabaseEngine
from solver.engine.engine import NO_LAST, Roots, successor_words, too_deep
from solver.engine.rounds.catalogue import distinct_units, unit_key

# The length of a path has eight bits.
MOST_MOVES = 255


class CardTables:
    """Tables of an engine on the card, and how its kernel is launched.

    legal    uint8[32]: the blank's moves by its cell
    on_card  arguments of the kernel: successors, legal, tables
    """

    def __init__(self, engine: DatabaseEngine) -> None:
        """Raises `InputError` if a card cannot search with the tables."""
        kind = next((kind for kind in (PAIRS, UNITS) if kind.suits(engine.size, engine.sums)), None)
        if kind is None:
            raise InputError(
                f"a card searches boards of up to {MAX_CELLS} cells with additive tables in bits of up to {MAX_TILES} "
                f"tiles; {engine.source} is of another kind: use the processor"
            )
        self.engine, self.kind = engine, kind
        self.launch = Launch(1, 1, 0) if IS_SIMULATED else kind.launch
        self.units = unit_tables(engine)
        self.device, tables = kind.arrange(engine, self.units, self.launch.block)
        self.legal = np.zeros(32, dtype=np.uint8)
        self.legal[: engine.size.n_cells] = blank_moves(engine.size)[1]
        self.on_card = cuda.to_device(successor_words(engine.fsm)), cuda.to_device(self.legal), tables
        n_processors = 1 if IS_SIMULATED else cuda.get_current_device().MULTIPROCESSOR_COUNT
        self.grid = n_processors * self.launch.blocks
        self._memory = cuda.device_array(1, dtype=np.uint64)
        self._descend = descent_kernel(shape_of(engine, 1), engine.size.width)

    @property
    def n_words(self) -> int:
        """Return the words of an item before its path."""
        return HEAD + self.device.n_words

    def list_of(self, n_items: int, n_words: int) -> Any:
        """Return memory on the card for a list of items, always the same: to allocate it takes milliseconds."""
        if self._memory.size < n_items * n_words:
            self._memory = cuda.device_array(n_items * n_words, dtype=np.uint64)
        return self._memory[: n_items * n_words].reshape(n_items, n_words)

    def distances(self, boards: Bytes) -> Bytes:
        """Return the distances of all units of boards, uint8[m, n_units]. Raises `Engine.wrong_end`."""
        found = cuda.device_array((len(boards), self.units.starts.shape[0]), dtype=np.uint8)
        self._descend[self.grid, self.launch.block](cuda.to_device(boards), found, self.units)
        distances: Bytes = found.copy_to_host()
        if (distances == UNREACHED).any():
            raise self.engine.wrong_end()
        return distances


def evaluated(card: CardTables, boards: Bytes, states: npt.ArrayLike | None = None) -> CardRoots:
    """Make boards, uint8[m, n_cells], roots; `states` of the operator pruning FSM are those of roots by default.

    Raises `Engine.wrong_end` if a table holds no distance of a board.
    """
    engine, distances = card.engine, card.distances(boards)
    nodes = np.zeros((len(boards), PLANES + 4), dtype=np.uint32)
    nodes[:, mem.STATE] = engine.state_words(boards, states)
    for u, of_unit in enumerate(distances.T.astype(np.uint32)):
        for bit in range(2):
            nodes[:, PLANES + 2 * (u // 32) + bit] |= (of_unit >> bit & 1) << (u % 32)
    keys = list(distinct_units(engine.sums))
    sums = np.zeros((len(boards), len(engine.sums)), dtype=np.int64)
    for s, (heuristic, view, patterns) in enumerate(engine.sums):
        for pattern in patterns:
            sums[:, s] += distances[:, keys.index(unit_key(heuristic, view, pattern))]
    h = sums.max(axis=1)
    return CardRoots(boards, nodes, sums, h, h, np.full_like(h, NO_LAST))


def items_of(
    card: CardTables,
    roots: Roots,
    left: Int64s,
    n_path: int,
    moves: Int64s | None = None,
    lengths: Int64s | None = None,
) -> UInt64s:
    """Return the items of roots, each a job of its own, with the moves left to the threshold, int64[m].

    `moves`, int64[m, n], led to the roots, the first `lengths` of them, int64[m]; items have room for `n_path` words of
    them. Raises `Engine.wrong_end` and `LimitReachedError` as `Engine.with_slacks` does.
    """
    card.engine.check_slacks(roots.sums, left)
    if (left > MOST_MOVES).any():
        raise too_deep(int(left.max()))
    boards = roots.boards.astype(np.uint64)
    items = np.zeros((len(boards), card.n_words + n_path), dtype=np.uint64)
    state = roots.nodes[:, mem.STATE].astype(np.uint64)
    blank = boards.argmin(axis=1)
    untried = (state >> np.uint64(mem.ALLOWED_SHIFT)) & card.legal[blank]
    words = [(blank, 0), (untried, UNTRIED_SHIFT), (left, LEFT_SHIFT)]
    words += [(state & np.uint64(mem.FSM_STATE_MASK), STATE_SHIFT), (np.ones_like(state), ROOT_SHIFT)]
    if moves is not None and lengths is not None:
        words.append((lengths, G_SHIFT))
        for i, at_depth in enumerate(moves.T.astype(np.uint64)):
            items[:, card.n_words + i // MOVES_OF_WORD] |= at_depth << np.uint64(2 * (i % MOVES_OF_WORD))
    for values, shift in words:
        items[:, META] |= values.astype(np.uint64) << np.uint64(shift)
    items[:, JOB] = np.arange(len(items))
    card.kind.fill(card.engine, roots, left, items)
    return items
