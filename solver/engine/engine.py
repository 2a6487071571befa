"""Tables that do not change during a search, arranged for the kernels of the engine."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdb_core.errors import PdbError, WrongAnswerError
from pdb_core.puzzle import Board, BoardSize
from pdb_query.lookup import Int64s
from pdb_query.private_memory import private_memory
from solver.board_arrays import blank_moves
from solver.engine.board_kernels import fill_boards
from solver.engine.layout import (
    ALLOWED_SHIFT,
    BATCH,
    BLANK_MASK,
    FIRST_SLACKS,
    LEFT,
    MORE_SLACKS,
    SLACK,
    SLACK_BITS,
    SLACK_SHIFT,
    SUM_FIELDS,
    WORDS,
)
from solver.move_pruning.move_pruning import START, PruningFsm
from solver.vectors.vectors import address_of, compress_permutations

Array = npt.NDArray[Any]

UNUSED = np.empty(0, dtype=np.uint8)


class EngineTables(NamedTuple):
    """Constants of a search, in the form that kernels read. The owner keeps the arrays of `Engine` alive.

    batch         nodes of a round, up to BATCH
    n_columns     of a node; the sums' columns begin at `first_sum_column`. Scalar stages: the board's begin at
                  `board_column`, those of the units' words at `word_column`; 0 for vector stages
    list_columns  of a list of children; `n_far_columns` of them hold digits
    sums          int64[s, SUM_FIELDS + units * UNIT_FIELDS]
    order, n_far  int64[2, s]: for horizontal and for vertical moves the order in which the sums are looked up, and how
                  many columns of digits the list has by then
    all_cells     mask
    between       mask of as many cells as a tile can jump over
    goal          uint8[n_cells]
    Addresses of uint32[64]: `legal`, the mask of moves by the blank's cell; uint32[16]: `steps` of the moves; uint32:
    `successors`, the states of the operator pruning FSM by state and move, with the moves that they allow; uint64:
    `sets`, by cell set, see `layout`; uint16: `jumps`; and `permutations`, see `compress`.
    """

    batch: int
    n_columns: int
    first_sum_column: int
    board_column: int
    word_column: int
    list_columns: int
    n_far_columns: int
    n_sums: int
    n_cells: int
    sums: Int64s
    order: Int64s
    n_far: Int64s
    all_cells: int
    between: int
    goal: npt.NDArray[np.uint8]
    legal: int
    steps: int
    successors: int
    sets: int
    jumps: int
    permutations: int


@dataclass(frozen=True)
class Roots:
    """Roots of searches.

    boards      uint8[m, n_cells]
    nodes       uint32[m, n_columns]
    sums        int64[m, s]  lower bounds that have a slack
    h           int64[m]     the largest lower bound of each board
    thresholds  int64[m]     the first threshold: h, or one more, since all solutions have the same parity
    """

    boards: npt.NDArray[np.uint8]
    nodes: npt.NDArray[np.uint32]
    sums: Int64s
    h: Int64s
    thresholds: Int64s


@dataclass(frozen=True)
class Engine(ABC):
    """Tables of a search.

    stages   the tables of the kind of round that searches, see `search_kernels.round_of`
    speed    nodes a second, in terms of a search with tables of databases
    _arrays  those that the tables refer to by address
    """

    size: BoardSize
    fsm: PruningFsm
    tables: EngineTables
    stages: Any
    speed: float
    _arrays: list[Array] = field(repr=False)

    @property
    def goal(self) -> Board:
        return tuple(self.tables.goal.tolist())

    def roots(self, boards: npt.ArrayLike, states: Sequence[int] | None = None) -> Roots:
        """Evaluate boards, and make them roots; `states` of the operator pruning FSM are START by default.

        Raises `TableFileDamagedError` if a table holds no distance of a board.
        """
        rows = np.array(boards, dtype=np.uint8).reshape(-1, self.size.n_cells)
        nodes = np.zeros((len(rows), self.tables.n_columns), dtype=np.uint32)
        at = np.full(len(rows), START, dtype=np.int64) if states is None else np.array(states, dtype=np.int64)
        allowed = self.fsm.allowed_moves[at].astype(np.int64)
        fill_boards(self.tables, rows, (at | allowed << ALLOWED_SHIFT).astype(np.uint32), nodes)
        return self._evaluated(rows, nodes)

    @abstractmethod
    def _evaluated(self, rows: npt.NDArray[np.uint8], nodes: npt.NDArray[np.uint32]) -> Roots:
        """Return the roots of boards; fill the columns of nodes that `fill_boards` leaves."""

    def wrong_end(self) -> PdbError:
        """Return the error of a search that ends elsewhere than at the goal."""
        return WrongAnswerError("the search ended elsewhere than at the goal; please report this board")


def first_column_after_slacks(n_sums: int) -> int:
    """Return the first column of a node behind the slacks of its sums."""
    return LEFT + 1 + max(0, -(-(n_sums - FIRST_SLACKS) // MORE_SLACKS))


def slack_rows(n_sums: int, n_fields: int = SUM_FIELDS) -> Int64s:
    """Return rows of `EngineTables.sums` in which only the place of the slack is filled."""
    rows = np.zeros((n_sums, n_fields), dtype=np.int64)
    for s, row in enumerate(rows):
        column, k = (0, s) if s < FIRST_SLACKS else divmod(s - FIRST_SLACKS, MORE_SLACKS)
        row[SLACK], row[SLACK_SHIFT] = LEFT if s < FIRST_SLACKS else LEFT + 1 + column, SLACK_BITS * k
    return rows


def engine_tables(
    size: BoardSize,
    goal: npt.NDArray[np.uint8],
    fsm: PruningFsm,
    arrays: list[Array],
    *,
    n_columns: int,
    sums: Int64s,
    batch: int = BATCH,
    **others: Any,
) -> EngineTables:
    """Return the tables of a search; `others` are the fields that not all kinds of rounds have. The arrays that are
    referred to by address are appended to `arrays`.
    """

    def address(array: Array) -> int:
        arrays.append(array)
        return address_of(array)

    legal = np.zeros(BLANK_MASK + 1, dtype=np.uint32)
    legal[: size.n_cells] = blank_moves(size)[1]
    steps = np.array([-size.width, -1, 1, size.width] + [0] * 12, dtype=np.int64)
    common: dict[str, Any] = {
        "batch": batch,
        "n_columns": n_columns,
        "first_sum_column": first_column_after_slacks(len(sums)),
        "n_sums": len(sums),
        "n_cells": size.n_cells,
        "sums": sums,
        "all_cells": (1 << size.n_cells) - 1,
        "between": (1 << (size.width - 1)) - 1,
        "goal": goal,
        "legal": address(legal),
        "steps": address(steps.astype(np.uint32)),
        "successors": address(_successors(fsm)),
        "permutations": address(compress_permutations()),
    }
    no_order = np.zeros((2, len(sums)), dtype=np.int64)
    unused: dict[str, Any] = {
        **dict.fromkeys(("board_column", "word_column", "n_far_columns"), 0),
        "list_columns": WORDS,
        "order": no_order,
        "n_far": no_order,
        "sets": address(UNUSED),
        "jumps": address(UNUSED),
    }
    return EngineTables(**(common | unused | others))


def _successors(fsm: PruningFsm) -> npt.NDArray[np.uint32]:
    """Return the state after each state and move, with the moves it allows above; 0 for a move that is pruned.

    The table of a large FSM is read all over: it lies in huge pages.
    """
    after = fsm.successors
    table = private_memory(after.nbytes, huge=True).view(np.uint32).reshape(after.shape)
    table[:] = np.where(after < 0, 0, after | (fsm.allowed_moves.astype(np.uint32) << ALLOWED_SHIFT)[after])
    return table.reshape(-1)
