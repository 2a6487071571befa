"""Tables that do not change during a search, arranged for the kernels of the engine."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize
from pdb_core.errors import LimitReachedError, PdbError, WrongAnswerError
from pdb_core.moves import blank_steps
from pdb_core.puzzle import Tiles
from pdb_core.symmetry import BoardMapping
from pdb_core.types import N_MOVES, Bytes, Int64s, UInt32s
from pdb_query import Database
from pdb_query.private_memory import private_memory
from solver.board_arrays import blank_moves
from solver.engine import layout as mem
from solver.engine.layout import EngineTables
from solver.engine.tuning import Tuning
from solver.pruning.fsm import START, PruningFsm
from solver.pruning.mirrored_moves import EVERY_MOVE, kept_moves
from solver.vectors.vectors import address_of, compress_permutations

Array = npt.NDArray[Any]

# The last threshold of a search that ends only at the goal.
NO_LAST = 1 << 30


class KeptArrays(list[Array]):
    """Arrays that kernels read by address."""

    def address(self, array: Array) -> int:
        """Keep an array. Returns its address."""
        self.append(array)
        return address_of(array)


@dataclass(frozen=True)
class Roots:
    """Roots of searches.

    boards      uint8[m, n_cells]
    nodes       uint32[m, n_columns], to be searched up to `thresholds`
    h           int64[m]  the largest lower bound of each board
    thresholds  int64[m]  the first threshold: h, or one more, since all solutions have the same parity
    last        int64[m]  the last threshold to search; NO_LAST by default
    highest     int64[m]  the highest threshold whose slacks fit their bits
    """

    boards: Bytes
    nodes: UInt32s
    h: Int64s
    thresholds: Int64s
    last: Int64s
    highest: Int64s

    def after(self, moves: Int64s) -> "Roots":
        """Return the roots for searches that do not begin with the move that undoes `moves`, int64[m], of the blank."""
        nodes = self.nodes.copy()
        nodes[:, mem.STATE] &= ~(1 << (mem.ALLOWED_SHIFT + N_MOVES - 1 - moves)).astype(np.uint32)
        return replace(self, nodes=nodes)


@dataclass(frozen=True)
class Engine(ABC):
    """Tables of a search.

    round_tables  the tables of the kind of round that searches, see `search_kernels.round_of`
    speed         nodes a second relative to the 15-puzzle with databases, in which a node takes about 10 ns
    tuning        numbers of the search
    _arrays       those that the tables refer to by address
    """

    size: BoardSize
    fsm: PruningFsm
    tables: EngineTables
    round_tables: Any
    speed: float
    tuning: Tuning
    _arrays: KeptArrays = field(repr=False)

    @property
    def goal(self) -> Tiles:
        return tuple(self.tables.goal.tolist())

    def start_states(self, boards: Bytes) -> Int64s:
        """Return the states of the operator pruning FSM at the roots of boards, uint8[m, n_cells], as int64[m]."""
        if self.fsm.own_image == START:
            return np.full(len(boards), START, dtype=np.int64)
        return np.where(kept_moves(boards, self.goal, self.size) == EVERY_MOVE, START, self.fsm.own_image)

    def roots(self, boards: npt.ArrayLike, states: Sequence[int] | None = None) -> Roots:
        """Evaluate boards, and make them roots; `states` of the operator pruning FSM are those of roots by default.

        Raises `TableFileDamagedError` if a table holds no distance of a board.
        """
        tables = self.tables
        rows = np.array(boards, dtype=np.uint8).reshape(-1, tables.n_cells)
        after = self.start_states(rows) if states is None else np.array(states, dtype=np.int64)
        allowed = self.fsm.allowed_moves[after].astype(np.int64)
        if self.fsm.own_image != START:
            own_images = np.flatnonzero(after == self.fsm.own_image)
            allowed[own_images] &= kept_moves(rows[own_images], self.goal, self.size)
        nodes = np.zeros((len(rows), tables.n_columns), dtype=np.uint32)
        nodes[:, mem.STATE] = after | allowed << mem.ALLOWED_SHIFT | rows.argmin(axis=1) << mem.BLANK_SHIFT
        if tables.board_column:
            n_words = -(-tables.n_cells // 4)
            words = np.pad(rows, ((0, 0), (0, 4 * n_words - tables.n_cells))).view(np.uint32)
            nodes[:, tables.board_column : tables.board_column + n_words] = words
        sums, h, thresholds = self._evaluated(rows, nodes)
        nodes[:, mem.MOVES_LEFT] = thresholds << mem.MOVES_LEFT_SHIFT
        for row, of_boards in zip(tables.sums, sums.T, strict=True):
            slacks = (thresholds - of_boards) // mem.THRESHOLD_STEP
            nodes[:, row[mem.SLACK]] |= (slacks << row[mem.SLACK_SHIFT]).astype(np.uint32)
        highest = sums.min(axis=1) + mem.THRESHOLD_STEP * mem.MAX_SLACK
        return Roots(rows, nodes, h, thresholds, np.full_like(h, NO_LAST), highest)

    @abstractmethod
    def _evaluated(self, rows: Bytes, nodes: UInt32s) -> tuple[Int64s, Int64s, Int64s]:
        """Evaluate boards, and fill the columns of nodes that hold units.

        Return the lower bounds that have a slack, int64[m, s], and `h` and `thresholds` of `Roots`.
        """

    def raised(self, roots: Roots, rows: Int64s, thresholds: Int64s) -> Roots:
        """Return some of the roots with other first thresholds, int64[rows], of the same parity.

        Raises `LimitReachedError` if one is too high, and `Engine.wrong_end` if one is below the first threshold so
        far: an earlier lookup of the board gave another sum.
        """
        if (thresholds > roots.highest[rows]).any():
            raise too_deep(int(thresholds.max()))
        steps = (thresholds - roots.thresholds[rows]) // mem.THRESHOLD_STEP
        if (steps < 0).any():
            raise self.wrong_end()
        nodes = roots.nodes[rows] + steps.astype(np.uint32)[:, np.newaxis] * self.tables.next_threshold
        return Roots(roots.boards[rows], nodes, roots.h[rows], thresholds, roots.last[rows], roots.highest[rows])

    def wrong_end(self) -> PdbError:
        """Return the error of a search that ends elsewhere than at the goal."""
        return WrongAnswerError("the search ended elsewhere than at the goal; please report this board")


class BoundHeuristic(ABC):
    """Heuristic of a solver, bound to the boards of one size and goal.

    databases       whose tables it looks up
    operator_order  whether plain searches visit nodes in the order of the textbook
    identity        what the nodes of a search depend on, to be compared
    """

    size: BoardSize
    goal: Tiles
    databases: tuple[Database, ...] = ()
    operator_order = False
    identity: object

    @abstractmethod
    def engine(self, fsm: PruningFsm, tuning: Tuning) -> Engine:
        """Return an engine for the goal of the heuristic."""

    @abstractmethod
    def mapping(self, goal: Tiles) -> BoardMapping:
        """Return the mapping of boards with `goal` to boards of the heuristic's goal. Raises `GoalError`."""


def too_deep(threshold: int) -> LimitReachedError:
    """Return the error of a threshold that the engine cannot search."""
    return LimitReachedError(
        f"a solution of more than {threshold - 1} moves is more than {mem.THRESHOLD_STEP * mem.MAX_SLACK} moves above "
        "a sum of the tables; such boards cannot be searched"
    )


def slack_rows(n_sums: int, n_fields: int = mem.OWN_FIELDS) -> tuple[Int64s, int]:
    """Return rows of `EngineTables.sums` in which only the place of the slack is filled, and the first column of a node
    behind the slacks.
    """
    rows = np.zeros((n_sums, n_fields), dtype=np.int64)
    for s, row in enumerate(rows):
        column, k = (-1, s) if s < mem.FIRST_SLACKS else divmod(s - mem.FIRST_SLACKS, mem.MORE_SLACKS)
        row[mem.SLACK], row[mem.SLACK_SHIFT] = mem.MOVES_LEFT + 1 + column, mem.SLACK_BITS * k
    return rows, int(rows[-1, mem.SLACK]) + 1


def engine_tables(
    size: BoardSize,
    goal: Bytes,
    fsm: PruningFsm,
    arrays: KeptArrays,
    sums: Int64s,
    n_columns: int,
    list_columns: int = 1,
    board_column: int = 0,
    *,
    batch: int = mem.BATCH,
) -> EngineTables:
    """Return the tables of a search.

    Raises `ValueError` for more than BATCH nodes in a round, and for an FSM with too many states.
    """
    if not 0 < batch <= mem.BATCH or fsm.n_states > mem.FSM_STATE_MASK + 1:
        raise ValueError(f"rounds of {batch} nodes or an FSM of {fsm.n_states} states exceed a field of a node")
    legal = np.zeros(mem.BLANK_MASK + 1, dtype=np.uint32)
    legal[: size.n_cells] = blank_moves(size)[1]
    steps = np.array([*blank_steps(size), *[0] * 12], dtype=np.int64)
    next_threshold = np.zeros(n_columns, dtype=np.uint32)
    next_threshold[mem.MOVES_LEFT] = mem.THRESHOLD_STEP << mem.MOVES_LEFT_SHIFT
    for row in sums:
        next_threshold[row[mem.SLACK]] += 1 << row[mem.SLACK_SHIFT]
    return EngineTables(
        batch=batch,
        n_columns=n_columns,
        first_sum_column=int(sums[-1, mem.SLACK]) + 1,
        board_column=board_column,
        list_columns=list_columns,
        n_sums=len(sums),
        n_cells=size.n_cells,
        sums=sums,
        next_threshold=next_threshold,
        goal=goal,
        legal=arrays.address(legal),
        steps=arrays.address(steps.astype(np.uint32)),
        successors=arrays.address(_successors(fsm)),
        permutations=arrays.address(compress_permutations()),
    )


def _successors(fsm: PruningFsm) -> UInt32s:
    """Return the state after each state and move, with the moves it allows above; 0 for a pruned move."""
    after = fsm.successors
    # The table of a large FSM is read all over: it lies in huge pages.
    table = private_memory(after.nbytes, huge=True).view(np.uint32).reshape(after.shape)
    table[:] = np.where(after < 0, 0, after | (fsm.allowed_moves.astype(np.uint32) << mem.ALLOWED_SHIFT)[after])
    return table.reshape(-1)
