"""Base class of the solvers by IDA*: it finds one optimal solution of a board, or counts all of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock

from pdb_core.puzzle import Board, BoardSize, check_board
from pdb_core.symmetry import BoardMapping
from solver.checkpoint import Checkpoint
from solver.engine.boards_search import SearchResult
from solver.engine.engine import Engine
from solver.engine.frontier import FrontierLimits
from solver.engine.ida_star import IdaStar, solution_of
from solver.engine.worker_pool import WorkerPool
from solver.move_pruning.move_pruning import MoveMachine, machine_for
from solver.progress import Limits, Report
from solver.solution import Solution, check_solvable, one_move_away, replay


class IdaStarSolver(ABC):
    """Solver by IDA* with one engine. Boards are searched in the terms of its goal. Thread-safe."""

    def __init__(
        self,
        size: BoardSize,
        goal: Board,
        engine: Callable[[MoveMachine], Engine],
        *,
        plain: bool,
        in_order: bool,
        frontier_bytes: int | None = None,
    ) -> None:
        """`engine` makes an engine with a machine that prunes moves; for `in_order` and for `frontier_bytes`, the
        memory of a frontier, see `IdaStar`.
        """
        self._size, self._goal = size, goal
        self._make_engine, self._plain, self._in_order = engine, plain, in_order
        self._frontier_limits = None if frontier_bytes is None else FrontierLimits(frontier_bytes)
        self._lock = Lock()
        self._all_star: IdaStar | None = None
        self._ida_star = self._make_ida_star()
        # Load or compile the kernels now: the first board's seconds are then those of its search.
        self._ida_star.load_kernels(one_move_away(goal, size))

    @property
    def ida_star(self) -> IdaStar:
        """The search itself, in the terms of the engine's goal."""
        return self._ida_star

    def solve(
        self,
        board: Board,
        goal: Board | None = None,
        *,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Solution:
        """Return an optimal solution of `board`, for the solver's goal or any other it can serve.

        Workers of `pool` help if it takes long (`with WorkerPool(1) as pool`); lengths do not depend on it, nor do the
        nodes of any threshold but the last. `report` is called every fraction of a second with the threshold being
        searched; what it raises ends the search. If a limit is reached the solution has no length.

        With `checkpoint` the search continues from there, and keeps there what it has finished. Nodes and seconds are
        those of all runs; `limits` are on the nodes of all runs and on the seconds of this one.

        Raises `BoardError`, `GoalError`, `UnsolvableError`, and `WrongAnswerError` if the answer fails its replay.
        """
        board, goal, mapping = self._checked(board, goal)
        result = self._ida_star.search(mapping.apply(board), limits, report, pool, checkpoint=checkpoint)
        return self._solution(board, goal, mapping, result)

    def solve_all(
        self,
        board: Board,
        goal: Board | None = None,
        *,
        listed: Callable[[tuple[int, ...]], None] | None = None,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Solution:
        """Count all optimal solutions of `board`: the last threshold is searched to its end.

        `listed` is called with the tiles of each, one at a time, in no particular order; each is replayed to the goal
        before. A `checkpoint` keeps finished thresholds only. All else as in `solve`.
        """
        board, goal, mapping = self._checked(board, goal)
        with self._lock:
            if self._all_star is None:
                # A machine that prunes one of two equally long sequences would lose solutions.
                self._all_star = self._make_ida_star(keeps_equals=True)

        def list_one(tiles: tuple[int, ...]) -> None:
            original = mapping.original_tiles(tiles)
            replay(board, original, goal, self._size)
            if listed is not None:
                listed(original)

        result = self._all_star.search(
            mapping.apply(board),
            limits,
            report,
            pool,
            finds_all=True,
            listed=None if listed is None else list_one,
            checkpoint=checkpoint,
        )
        return self._solution(board, goal, mapping, result)

    @abstractmethod
    def _mapping(self, goal: Board) -> BoardMapping:
        """Return how boards with `goal` are read as boards of the engine's goal. Raises `GoalError`."""

    def _make_ida_star(self, *, keeps_equals: bool = False) -> IdaStar:
        machine = machine_for(self._size, plain=self._plain, keeps_equals=keeps_equals)
        limits = None if keeps_equals else self._frontier_limits
        return IdaStar(self._make_engine(machine), in_order=self._in_order, frontier_limits=limits)

    def _checked(self, board: Board, goal: Board | None) -> tuple[Board, Board, BoardMapping]:
        """Return the board, the goal, and the mapping to the engine's goal. Raises what `solve` raises."""
        board = check_board(board, self._size)
        goal = self._goal if goal is None else check_board(goal, self._size)
        mapping = self._mapping(goal)
        check_solvable(board, goal, self._size)
        return board, goal, mapping

    def _solution(self, board: Board, goal: Board, mapping: BoardMapping, result: SearchResult) -> Solution:
        """Return what was found in the terms of the engine's goal in those of the board; replayed."""
        tiles = None if result.tiles is None else mapping.original_tiles(result.tiles)
        return solution_of(board, goal, self._size, result, tiles)
