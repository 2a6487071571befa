"""Solving boards with a database. Read this first.

look       is it a board, can it be solved                      pdb_core.puzzle
translate  to the goal of the tables, by a symmetry             pdb_core.symmetry
search     IDA* with the largest of the databases' sums         engine/ida_star.py
share      a threshold among threads                            engine/threshold.py, engine/worker_pool.py
replay     move by move to the goal, before anyone is told      solution.py
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdb_core.errors import UnsolvableError
from pdb_core.puzzle import Board, check_board
from pdb_core.symmetry import BoardMapping
from pdb_query import Database
from pdb_query.lookup import Int64s
from solver.checkpoint import Checkpoint
from solver.engine.boards_search import BoardsSearch
from solver.engine.database_engine import database_engine
from solver.engine.unit_tables import Heuristic
from solver.engine.worker_pool import WorkerPool, in_parallel
from solver.ida_star_solver import IdaStarSolver
from solver.progress import Iteration, Report
from solver.solution import Solution, unsolvable

# Boards that one call searches at most: enough to keep Python out, few enough to keep all threads busy.
MOST_BOARDS = 64


@dataclass(frozen=True)
class SolvedBoards:
    """Optimal solutions of m boards.

    lengths              int16[m]  -1 for a board that cannot be solved
    h                    int16[m]  the lower bound at the root
    generated, expanded  int64[m]  nodes, over all thresholds
    tiles                uint8[m, n], if asked for: the tiles moved, in order, then zeros
    """

    lengths: npt.NDArray[np.int16]
    h: npt.NDArray[np.int16]
    generated: Int64s
    expanded: Int64s
    tiles: npt.NDArray[np.uint8] | None


class Solver(IdaStarSolver):
    """Solver with the tables of one database or several, by the largest of all their sums. Thread-safe.

    The first database's sums are looked up first, and each of the others only if those before did not prune. All must
    be of one board size, and serve the goal of the first. Boards are searched in the terms of the tables, so that one
    set of moves and views serves every goal.

    It prunes duplicate sequences of moves and searches the most promising child first. With `plain` it does neither:
    that is the textbook's IDA*, for node counts to be compared with published ones. With `reflects=False` the tables
    are not looked up for reflections of the board, as in published rows of one sum. With `frontier_bytes` large
    thresholds are searched breadth first near the root, in up to so much memory, and then below the nodes with the
    least h first. On hard boards that is several times as fast, with the same lengths.

    >>> from pdb_query import open_database
    >>> with open_database("data/663.h5") as database:
    ...     Solver(database).solve((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 15)).tiles
    (15,)
    """

    def __init__(
        self,
        *databases: Database,
        plain: bool = False,
        reflects: bool = True,
        frontier_bytes: int | None = None,
    ) -> None:
        """Raises `TableMismatchError` if the databases are of different sizes, `GoalError` if one cannot serve the goal
        of the first.
        """
        self._database = database = databases[0]
        for other in databases[1:]:
            other.check_size(database.size)
        heuristics = [
            Heuristic(other.lookup_tables, other.views(database.goal, reflects=reflects)) for other in databases
        ]
        source = " or ".join(str(other.path) for other in databases)
        super().__init__(
            database.size,
            database.goal,
            lambda machine: database_engine(database.size, heuristics, machine, source=source),
            plain=plain,
            in_order=False,
            frontier_bytes=frontier_bytes,
        )

    def _mapping(self, goal: Board) -> BoardMapping:
        return self._database.mappings(goal)[0]

    def solve_batch(
        self,
        boards: Sequence[Board],
        goal: Board | None = None,
        *,
        report: Callable[[int, Iteration], None] | None = None,
        pool: WorkerPool | None = None,
        checkpoints: Callable[[int], Checkpoint] | None = None,
    ) -> Iterator[list[Solution | UnsolvableError]]:
        """Yield the optimal solutions of boards in their order, in lists of those that are ready.

        Easy boards are searched without Python between them; their seconds are estimated from their nodes. `report` is
        called every fraction of a second with the index of a hard board. `UnsolvableError` is yielded, not raised. All
        else as in `solve`.
        """
        if not boards:
            return
        goal, mapping, mapped, solvable = self._prepared(boards, goal)
        rows = {index: row for row, index in enumerate(solvable.tolist())}

        def answer(index: int) -> Solution | UnsolvableError:
            if index not in rows:
                return unsolvable(boards[index], goal, self._database.size)
            return self._solution(boards[index], goal, mapping, found.result(rows[index]))

        def indexed_report(row: int, iteration: Iteration) -> None:
            if report is not None:
                report(int(solvable[row]), iteration)

        first = 0
        of_row = None if checkpoints is None else lambda row: checkpoints(int(solvable[row]))
        for found in self._ida_star.search_many(mapped[solvable], indexed_report, pool, of_row):
            end = int(solvable[found.board]) if found.board < len(solvable) else len(boards)
            yield [answer(index) for index in range(first, end)]
            first = end

    def solve_many(
        self, boards: npt.ArrayLike, goal: Board | None = None, *, n_threads: int = 1, moves: bool = False
    ) -> SolvedBoards:
        """Optimal solutions of many boards, an array of integers of shape (m, n_cells).

        Easy boards are searched without Python between them, by `n_threads` threads, which also share hard boards.
        Boards that cannot be solved are no error: their length is -1.

        Raises `ValueError` if `n_threads` is less than 1, `BoardError` for the first row that is no board, `GoalError`
        if the tables cannot serve `goal`, and `TableFileDamagedError` if the tables lead elsewhere than to the goal.
        """
        if n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, not {n_threads}")
        _goal, mapping, mapped, solvable = self._prepared(boards, goal)
        original = np.argsort(mapping.tile_map).astype(np.uint8)
        n_chunk = max(1, min(MOST_BOARDS, len(solvable) // (8 * n_threads)))
        chunks = [solvable[first : first + n_chunk] for first in range(0, len(solvable), n_chunk)]

        def search(chunk: Int64s, report: Report, pool: WorkerPool | None) -> tuple[Int64s, BoardsSearch]:
            *_, found = self._ida_star.search_many(mapped[chunk], lambda _row, iteration: report(iteration), pool)
            return chunk, found

        m = len(mapped)
        lengths = np.full(m, -1, dtype=np.int16)
        h, generated, expanded = np.zeros(m, dtype=np.int16), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        tiles = np.zeros((m, 0), dtype=np.uint8)
        for chunk, found in in_parallel(chunks, search, n_threads=n_threads):
            lengths[chunk], h[chunk] = found.lengths, found.h
            generated[chunk], expanded[chunk] = found.nodes()
            longest = int(found.lengths.max(initial=0))
            if moves:
                if longest > tiles.shape[1]:
                    tiles = np.pad(tiles, ((0, 0), (0, longest - tiles.shape[1])))
                tiles[chunk, :longest] = original[found.paths[:, :longest]]
        return SolvedBoards(lengths, h, generated, expanded, tiles if moves else None)

    def _prepared(
        self, boards: npt.ArrayLike, goal: Board | None
    ) -> tuple[Board, BoardMapping, npt.NDArray[np.uint8], Int64s]:
        """Return the goal, the mapping to boards of the tables, the mapped boards, and the rows of the solvable ones.
        Raises what `solve_many` raises.
        """
        database = self._database
        goal = database.goal if goal is None else check_board(goal, database.size)
        mapping = self._mapping(goal)
        rows, verdicts = database.check_boards(boards, goal)
        mapped = np.empty_like(rows)
        mapped[:, list(mapping.cell_map)] = np.array(mapping.tile_map, dtype=np.uint8)[rows]
        return goal, mapping, mapped, np.flatnonzero(verdicts == 1)
