"""Optimal solutions by IDA* with databases or other heuristics (`Solver`). Read this first.

check      is it a board, can it be solved                pdb_core.puzzle
map        to the goal of the tables, by a symmetry       pdb_core.symmetry
search     IDA* with the largest of the databases' sums   engine/search.py
share      a threshold among threads                      engine/threads.py, engine/worker_pool.py
replay     the solution, before it is returned            engine/result.py
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import FilePath, as_threads, check_functions, check_kind
from pdb_core.errors import UnsolvableError
from pdb_core.puzzle import Board, BoardLike, Boards, Tiles, as_goal
from pdb_core.symmetry import BoardMapping
from pdb_core.types import N_MOVES, Int64s
from pdb_query import Database
from pdb_query.board_rows import checked_rows
from solver.board_arrays import mapped_moves
from solver.engine.checkpoint import Checkpoint
from solver.engine.database_engine import Databases
from solver.engine.engine import BoundHeuristic
from solver.engine.search import MOST_BOARDS, IdaStar
from solver.engine.threads import ONE_SOLUTION, Wanted
from solver.engine.tuning import TUNING, Tuning
from solver.engine.worker_pool import WorkerPool, in_parallel
from solver.labels import Labels, distances_with_moves, optimal_first_moves
from solver.progress import Iteration, LimitsLike, Report, as_limits
from solver.pruning.fsm import fsm_for
from solver.solution import Solution, SolvedBoards, check_replay, check_solvable, one_move_away, unsolvable

Found = TypeVar("Found")


class Solver:
    """Solver by IDA* with the tables of one or more databases. Its h is the largest of all their sums. Thread-safe.
    `HeuristicSolver` makes one with heuristics that need no database.

    The sums of a database are looked up only if those of the databases before it do not prune the node. All databases
    must be of one board size, and serve the goal of the first.

    The solver prunes duplicate sequences of moves, and searches the most promising child first. After a threshold of
    half a second or more, beams look for a solution of the next one. Kernels are loaded or compiled when the solver is
    made, and those of beams when they are needed first.

    Parameters
    ----------
    databases
        One or more databases, open or as paths of their files; or one other heuristic. The attribute `databases` has
        the databases open.
    goal
        Goal of boards for which none is given; by default that of the first database.
    plain
        Whether to prune only the move that undoes the last one. Complete thresholds then have the textbook's nodes.
    reflects
        Whether to look up reflections of the board, too.
    tuning
        Numbers that change the speed and the memory of the search, and no answer.

    Raises
    ------
    InputError
        If there is no database, or one is closed.
    TableMismatchError
        If the databases are of different sizes.
    GoalError
        If a database cannot serve the goal of the first, or the first `goal`.

    Examples
    --------
    >>> from pdb_query import open_database
    >>> with open_database("data/663.h5") as database:
    ...     Solver(database).solve((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 15)).moves
    (15,)
    """

    def __init__(
        self,
        *databases: Database | FilePath | BoundHeuristic,
        goal: BoardLike | None = None,
        plain: bool = False,
        reflects: bool = True,
        tuning: Tuning = TUNING,
    ) -> None:
        check_kind(tuning, Tuning, "tuning", "a Tuning")
        match databases:
            case (BoundHeuristic() as heuristic,):
                pass
            case _:
                heuristic = Databases(databases, reflects=reflects)
        self._made = partial(type(self), heuristic, goal=goal, plain=plain, tuning=tuning)
        self._heuristic, self._plain, self._tuning = heuristic, plain, tuning
        self.databases, self.size = heuristic.databases, heuristic.size
        self.goal = as_goal(heuristic.goal if goal is None else goal, self.size)
        heuristic.mapping(self.goal)
        self.ida_star = IdaStar(
            heuristic.engine(fsm_for(self.size, plain=plain), tuning),
            operator_order=plain and heuristic.operator_order,
            uses_beams=not plain,
        )
        # Load or compile the kernels now: the first board's seconds are then those of its search.
        self.ida_star.load_kernels(one_move_away(heuristic.goal, self.size))

    @cached_property
    def _all_star(self) -> IdaStar:
        # An FSM that prunes one of two equally long sequences would lose solutions.
        return IdaStar(self._heuristic.engine(fsm_for(self.size, plain=self._plain, keeps_equals=True), self._tuning))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made, ()

    def __repr__(self) -> str:
        return f"Solver({self._heuristic})"

    def solve(
        self,
        board: BoardLike,
        goal: BoardLike | None = None,
        *,
        limits: LimitsLike = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Solution:
        """Return an optimal solution of `board`, for the solver's goal or any other goal that it can serve.

        Parameters
        ----------
        board
            Board to solve.
        goal
            Board to reach; by default the solver's goal.
        limits
            Seconds, or limits of time and nodes. If one is reached, the solution has no length, but a lower bound.
        report
            Function that is called several times a second with the threshold that is searched. An exception from it
            ends the search.
        pool
            Workers that help if the search takes long (``with WorkerPool(1) as pool``). Lengths do not depend on it,
            nor do the nodes of thresholds before the last.
        checkpoint
            Work of earlier runs, from which the search continues, and in which it records finished work. Nodes and
            seconds are those of all runs; `limits` are on the nodes of all runs and on the seconds of this one.

        Raises
        ------
        BoardError, GoalError
            If the board or the goal is invalid, or the tables cannot serve the goal.
        UnsolvableError
            If the board cannot be solved.
        TableFileDamagedError
            If the tables contradict each other.
        LimitReachedError
            If the solution is too far above a sum for the search.
        WrongAnswerError
            If the solution fails its replay.
        InputError
            If `checkpoint` belongs to the search of another board, goal or method.
        """
        return self._searched(board, goal, limits, report, pool, checkpoint)

    def solve_all(
        self,
        board: BoardLike,
        goal: BoardLike | None = None,
        *,
        listed: Callable[[tuple[int, ...]], None] | None = None,
        limits: LimitsLike = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Solution:
        """Return an optimal solution of `board`, with the number of all optimal solutions.

        The last threshold is searched to its end. If a limit ends it, `n_solutions` counts those found so far, and
        `is_complete` is False. Errors, and parameters beside `listed`, are those of `solve`.

        Parameters
        ----------
        listed
            Function that is called with the tiles of each solution, replayed, one at a time, in no particular order, by
            any thread. Only finished thresholds of a checkpoint are used then.
        """
        check_functions(listed=listed)
        return self._searched(board, goal, limits, report, pool, checkpoint, Wanted(finds_all=True, listed=listed))

    def solve_batch(
        self,
        boards: Sequence[Tiles] | Sequence[str],
        goal: BoardLike | None = None,
        *,
        report: Callable[[int, Iteration], None] | None = None,
        pool: WorkerPool | None = None,
        checkpoints: Callable[[int], Checkpoint] | None = None,
    ) -> Iterator[list[Solution | UnsolvableError]]:
        """Yield the optimal solutions of boards in their order, in lists of those that are ready.

        Easy boards are searched without Python between them; their seconds are estimated from their nodes. For a board
        that cannot be solved, an `UnsolvableError` is yielded in its place. Other errors are those of `solve`.

        Parameters
        ----------
        boards
            Boards to solve.
        goal
            Board to reach; by default the solver's goal.
        pool
            Workers that help with hard boards.
        report
            Function that is called several times a second with the index of a hard board and its threshold.
        checkpoints
            Function that is called with the index of a hard board and returns its checkpoint.
        """
        _check_report_and_pool(report, pool)
        check_functions(checkpoints=checkpoints)
        checked_goal, mapping, mapped, solvable = self._prepared(boards, goal)
        if not len(mapped):
            return
        rows = {index: row for row, index in enumerate(solvable.tolist())}

        def answer(index: int) -> Solution | UnsolvableError:
            board = Board(boards[index], self.size)
            if index not in rows:
                return unsolvable(board, checked_goal, board.size)
            return found.result(rows[index]).solution(board, checked_goal, mapping)

        def of_hard_board(row: int) -> tuple[Report | None, Checkpoint]:
            index = int(solvable[row])
            checkpoint = Checkpoint() if checkpoints is None else checkpoints(index)
            checkpoint.begin(Board(boards[index], self.size), checked_goal, self._method(finds_all=False))
            return None if report is None else partial(report, index), checkpoint

        first = 0
        for found in self.ida_star.search_many(mapped[solvable], of_hard_board, pool):
            end = int(solvable[found.row]) if found.row < len(solvable) else len(boards)
            yield [answer(index) for index in range(first, end)]
            first = end

    def solve_many(
        self, boards: npt.ArrayLike, goal: BoardLike | None = None, *, n_threads: int | None = None, moves: bool = False
    ) -> SolvedBoards:
        """Return the optimal lengths of many boards, and with `moves` also the tiles moved.

        Boards that cannot be solved raise no error: their length is -1.

        Parameters
        ----------
        boards
            Integers of shape (m, n_cells) or (m, height, width), or a sequence of strings.
        goal
            Board to reach; by default the solver's goal.
        n_threads
            Threads that search easy boards without Python between them, and share hard boards. By default all cores.
        moves
            Whether to return the tiles moved.

        Raises
        ------
        InputError
            If `n_threads` is less than 1.
        BoardError
            For the first row that is not a board.
        GoalError
            If the tables cannot serve `goal`.
        TableFileDamagedError
            If the tables contradict each other.
        LimitReachedError
            If a solution is too far above a sum for the search.
        """
        n_threads = as_threads(n_threads)
        _goal, mapping, mapped, solvable = self._prepared(boards, goal)
        original = np.argsort(mapping.tile_map).astype(np.uint8)
        m = len(mapped)
        lengths = np.full(m, -1, dtype=np.int16)
        h, (generated, expanded) = np.full_like(lengths, -1), np.zeros((2, m), dtype=np.int64)
        tiles = np.zeros((m, 0), dtype=np.uint8)
        for chunk, found in self._in_chunks(mapped, solvable, n_threads, None, self.ida_star.search_boards):
            lengths[chunk], h[chunk] = found.lengths, found.roots.h
            generated[chunk], expanded[chunk] = found.nodes()
            longest = int(found.lengths.max(initial=0))
            if moves:
                if longest > tiles.shape[1]:
                    tiles = np.pad(tiles, ((0, 0), (0, longest - tiles.shape[1])))
                tiles[chunk, :longest] = original[found.paths[:, :longest]]
        return SolvedBoards(lengths, h, generated, expanded, tiles if moves else None)

    def label(
        self,
        boards: npt.ArrayLike,
        goal: BoardLike | None = None,
        *,
        n_threads: int | None = None,
        moves: bool = True,
        report: Report | None = None,
    ) -> Labels:
        """Return the exact distances of many boards, and with `moves` those after each move of the blank.

        Errors and other parameters are those of `solve_many`.

        Parameters
        ----------
        moves
            Whether to label the neighbours, too.
        report
            Function that is called several times a second with the threshold of a hard board, by any thread.
        """
        n_threads = as_threads(n_threads)
        check_functions(report=report)
        _goal, mapping, mapped, solvable = self._prepared(boards, goal)
        distances = np.full(len(mapped), -1, dtype=np.int16)
        if not moves:
            for chunk, found in self._in_chunks(mapped, solvable, n_threads, report, self.ida_star.search_boards):
                distances[chunk] = found.lengths
            return Labels(distances, None, None)
        after = np.full((len(mapped), N_MOVES), -1, dtype=np.int16)
        order = mapped_moves(mapping.cell_map, self.size)
        search = partial(distances_with_moves, self.ida_star)
        for chunk, (lengths, after_moves) in self._in_chunks(mapped, solvable, n_threads, report, search):
            distances[chunk], after[chunk] = lengths, after_moves[:, order]
        return Labels(distances, optimal_first_moves(distances, after), after)

    def _in_chunks(
        self,
        boards: Boards,
        rows: Int64s,
        n_threads: int,
        report: Report | None,
        search: Callable[[Boards, Report, WorkerPool | None], Found],
    ) -> Iterator[tuple[Int64s, Found]]:
        """Search some rows of boards. Yield rows that one call searches, and what it found."""
        # All threads get some.
        n_chunk = max(1, min(MOST_BOARDS, len(rows) // (8 * n_threads)))

        def work(first: int, check: Report, pool: WorkerPool | None) -> tuple[Int64s, Found]:
            def show(iteration: Iteration) -> None:
                check(iteration)
                if report is not None:
                    report(iteration)

            chunk = rows[first : first + n_chunk]
            return chunk, search(boards[chunk], show, pool)

        return in_parallel(range(0, len(rows), n_chunk), work, n_threads=n_threads)

    def _searched(
        self,
        board: BoardLike,
        goal: BoardLike | None,
        limits: LimitsLike,
        report: Report | None,
        pool: WorkerPool | None,
        checkpoint: Checkpoint | None,
        wanted: Wanted = ONE_SOLUTION,
    ) -> Solution:
        """Return the solution of one board. Raises what `solve` raises."""
        checked = Board(board, self.size)
        checked_goal, mapping = self._mapped_goal(goal)
        check_solvable(checked, checked_goal, self.size)
        _check_report_and_pool(report, pool)
        check_kind(checkpoint, Checkpoint | None, "checkpoint", "a Checkpoint, or None")
        checkpoint = checkpoint or Checkpoint()
        checkpoint.begin(checked, checked_goal, self._method(finds_all=wanted.finds_all))
        if (listed := wanted.listed) is not None:

            def list_one(tiles: tuple[int, ...]) -> None:
                original = mapping.original_tiles(tiles)
                check_replay(checked, original, checked_goal, self.size)
                listed(original)

            wanted = replace(wanted, listed=list_one)
        ida_star = self._all_star if wanted.finds_all else self.ida_star
        result = ida_star.search(mapping.apply(checked), as_limits(limits), report, pool, checkpoint, wanted=wanted)
        return result.solution(checked, checked_goal, mapping)

    def _prepared(self, boards: npt.ArrayLike, goal: BoardLike | None) -> tuple[Board, BoardMapping, Boards, Int64s]:
        """Return the goal, the mapping to boards of the tables, the mapped boards, and the rows of the solvable ones.
        Raises what `solve_many` raises.
        """
        checked_goal, mapping = self._mapped_goal(goal)
        rows, verdicts = checked_rows(boards, self.size, checked_goal)
        mapped = np.empty_like(rows)
        mapped[:, list(mapping.cell_map)] = np.array(mapping.tile_map, dtype=np.uint8)[rows]
        return checked_goal, mapping, mapped, np.flatnonzero(verdicts == 1)

    def _mapped_goal(self, goal: BoardLike | None) -> tuple[Board, BoardMapping]:
        """Return a goal, by default the solver's, and the mapping to boards of the tables. Raises `GoalError`."""
        checked = as_goal(self.goal if goal is None else goal, self.size)
        return checked, self._heuristic.mapping(checked)

    def _method(self, *, finds_all: bool) -> object:
        """Return the tables and options that the nodes of a search depend on, to be compared."""
        return self._heuristic.identity, self._plain, finds_all


def _check_report_and_pool(report: object, pool: object) -> None:
    """Raise `InputError` if one of them is of another kind."""
    check_functions(report=report)
    check_kind(pool, WorkerPool | None, "pool", "a WorkerPool, or None")
