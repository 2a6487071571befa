"""Optimal solutions of single boards by IDA* with any engine: what `Solver` and `HeuristicSolver` share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

from pdb_core.arguments import check_functions, check_kind
from pdb_core.board_size import BoardSize
from pdb_core.jit import seconds_compiling
from pdb_core.puzzle import Board, BoardLike, Tiles, as_goal
from pdb_core.resources import available_memory
from pdb_core.symmetry import BoardMapping
from solver.beams.beam_search import widest_beam
from solver.beams.fitted_values import fitted_size
from solver.beams.solutions import find_by_beams
from solver.engine.checkpoint import Checkpoint
from solver.engine.engine import Engine
from solver.engine.search import IdaStar
from solver.engine.threads import ONE_SOLUTION, Wanted
from solver.engine.tuning import Tuning
from solver.engine.worker_pool import WorkerPool
from solver.progress import LimitsLike, Report, as_limits
from solver.pruning.fsm import PruningFsm, fsm_for
from solver.solution import Solution, check_replay, check_solvable, one_move_away


class IdaStarSolver(ABC):
    """Solver by IDA* with one engine, which searches all boards in the terms of one goal. Thread-safe.

    ida_star  the search itself, in the terms of the engine's goal
    """

    def __init__(
        self,
        size: BoardSize,
        goal: Tiles,
        engine: Callable[[PruningFsm], Engine],
        *,
        plain: bool,
        operator_order: bool,
    ) -> None:
        """Make the search. `engine` returns an engine with an operator pruning FSM.

        For `operator_order`, see `IdaStar`.
        """
        self._size, self._goal, self._make_engine, self._plain = size, goal, engine, plain
        made = engine(fsm_for(size, plain=plain))
        find_solution = None if plain else partial(_find_by_beams, goal, size, made.tuning)
        self.ida_star = IdaStar(made, operator_order=operator_order, find_solution=find_solution)
        # Load or compile the kernels now: the first board's seconds are then those of its search.
        self.ida_star.load_kernels(one_move_away(goal, size))

    @cached_property
    def _all_star(self) -> IdaStar:
        # An FSM that prunes one of two equally long sequences would lose solutions.
        return IdaStar(self._make_engine(fsm_for(self._size, plain=self._plain, keeps_equals=True)))

    @property
    def goal(self) -> Board:
        """The goal of the solver."""
        return Board(self._goal, self._size)

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
        checked, checked_goal = Board(board, self._size), as_goal(self._goal if goal is None else goal, self._size)
        mapping = self._mapping(checked_goal)
        check_solvable(checked, checked_goal, self._size)
        check_report_and_pool(report, pool)
        check_kind(checkpoint, Checkpoint | None, "checkpoint", "a Checkpoint, or None")
        if checkpoint is not None:
            checkpoint.begin(checked, checked_goal, (self._method(), wanted.finds_all))
        if (listed := wanted.listed) is not None:

            def list_one(tiles: tuple[int, ...]) -> None:
                original = mapping.original_tiles(tiles)
                check_replay(checked, original, checked_goal, self._size)
                listed(original)

            wanted = replace(wanted, listed=list_one)
        ida_star = self._all_star if wanted.finds_all else self.ida_star
        result = ida_star.search(mapping.apply(checked), as_limits(limits), report, pool, checkpoint, wanted=wanted)
        return result.solution(checked, checked_goal, mapping)

    @abstractmethod
    def _mapping(self, goal: Tiles) -> BoardMapping:
        """Return the mapping of boards with `goal` to boards of the engine's goal. Raises `GoalError`."""

    @abstractmethod
    def _method(self) -> object:
        """Return the tables and options that the nodes of a search depend on, to be compared."""


def check_report_and_pool(report: object, pool: object) -> None:
    """Raise `InputError` if one of them is of another kind."""
    check_functions(report=report)
    check_kind(pool, WorkerPool | None, "pool", "a WorkerPool, or None")


def _find_by_beams(
    goal: Tiles,
    size: BoardSize,
    tuning: Tuning,
    board: Tiles,
    limit: int,
    n_nodes: int,
    end: float,
    report: Report | None,
) -> tuple[int, ...] | None:
    """Return a solution of at most `limit` moves found by beams, see `FindSolution`."""
    widest = widest_beam(fitted_size(size.height, size.width).n_cells, limit, available_memory())
    width = max(1, min(widest, n_nodes // tuning.nodes_per_board))
    search = tuning.beams or find_by_beams
    compiled_s = seconds_compiling()
    try:
        # Load or compile the kernels, whose time is not that of the search.
        search(one_move_away(goal, size), goal, size, 1, 1, math.inf, None)
        return search(board, goal, size, width, limit, end + seconds_compiling() - compiled_s, report)
    except MemoryError:
        return None
