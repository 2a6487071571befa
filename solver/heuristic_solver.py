"""Solving boards by IDA* with heuristics that need no database."""

from collections.abc import Callable, Sequence
from threading import Lock

from pdb_core.puzzle import Board, BoardSize, check_board, check_table_size
from solver.engine.heuristic_engine import heuristic_engine
from solver.engine.ida_star import IdaStar, solution_of
from solver.engine.worker_pool import WorkerPool
from solver.move_pruning.move_pruning import DEFAULT_LENGTH, UNDO_LENGTH, move_machine
from solver.progress import Limits, Report
from solver.solution import Solution, check_solvable, one_move_away, replay


class HeuristicSolver:
    """Finds shortest solutions for one goal with the largest of some heuristics. Any number of threads may use one.

    `plain` as in `solve.Solver`.

    >>> solver = HeuristicSolver(BoardSize(3, 3), (1, 2, 3, 4, 5, 6, 7, 8, 0), ["linear-conflict"])
    >>> solver.solve((1, 2, 3, 4, 0, 6, 7, 5, 8)).tiles
    (5, 8)
    """

    def __init__(self, size: BoardSize, goal: Board, heuristics: Sequence[str], *, plain: bool = False) -> None:
        """Raises `BoardError` where the goal is no board, `InputError` where the size has no such heuristic."""
        check_table_size(size)
        self._size, self._goal = size, check_board(goal, size)
        self._heuristics, self._plain = tuple(heuristics), plain
        self._ida_star = self._make_ida_star()
        self._lock = Lock()
        self._all_star: IdaStar | None = None
        # Load or compile the kernels now: the first board's seconds are then those of its search.
        self._ida_star.load_kernels(one_move_away(self._goal, size))

    def _make_ida_star(self, *, keeps_equals: bool = False) -> IdaStar:
        machine = move_machine(UNDO_LENGTH if self._plain else DEFAULT_LENGTH, keeps_equals=keeps_equals)
        return IdaStar(heuristic_engine(self._size, self._goal, self._heuristics, machine), in_order=self._plain)

    def solve(
        self,
        board: Board,
        *,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
    ) -> Solution:
        """A shortest solution of `board`. All as in `Solver.solve`."""
        board = check_board(board, self._size)
        check_solvable(board, self._goal, self._size)
        result = self._ida_star.search(board, limits, report, pool)
        return solution_of(board, self._goal, self._size, result, result.tiles)

    def solve_all(
        self,
        board: Board,
        *,
        listed: Callable[[tuple[int, ...]], None] | None = None,
        limits: Limits | None = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
    ) -> Solution:
        """Every shortest solution of `board`, counted. All as in `Solver.solve_all`."""
        board = check_board(board, self._size)
        check_solvable(board, self._goal, self._size)
        with self._lock:
            if self._all_star is None:
                self._all_star = self._make_ida_star(keeps_equals=True)

        def list_one(tiles: tuple[int, ...]) -> None:
            replay(board, tiles, self._goal, self._size)
            if listed is not None:
                listed(tiles)

        result = self._all_star.search(
            board, limits, report, pool, finds_all=True, listed=None if listed is None else list_one
        )
        return solution_of(board, self._goal, self._size, result, result.tiles)
