"""Solving boards by IDA* with heuristics that need no database."""

from collections.abc import Sequence

from pdb_core.errors import GoalError
from pdb_core.puzzle import Board, BoardSize, check_board, check_table_size, format_board
from pdb_core.symmetry import BoardMapping
from solver.engine.heuristic_engine import heuristic_engine
from solver.ida_star_solver import IdaStarSolver


class HeuristicSolver(IdaStarSolver):
    """Solver for one goal with the largest of some heuristics. Thread-safe.

    It prunes duplicate sequences of moves; with `plain` only the move that undoes the last one, and one thread
    generates exactly the nodes of the textbook (Korf 1985).

    >>> solver = HeuristicSolver(BoardSize(3, 3), (1, 2, 3, 4, 5, 6, 7, 8, 0), ["linear-conflict"])
    >>> solver.solve((1, 2, 3, 4, 0, 6, 7, 5, 8)).tiles
    (5, 8)
    """

    def __init__(
        self,
        size: BoardSize,
        goal: Board,
        heuristics: Sequence[str],
        *,
        plain: bool = False,
        frontier_bytes: int | None = None,
    ) -> None:
        """Raises `BoardError` if the goal is no board, `InputError` if the size has no such heuristic."""
        check_table_size(size)
        goal = check_board(goal, size)
        super().__init__(
            size,
            goal,
            lambda machine: heuristic_engine(size, goal, heuristics, machine),
            plain=plain,
            in_order=plain,
            frontier_bytes=frontier_bytes,
        )

    def _mapping(self, goal: Board) -> BoardMapping:
        if goal != self._goal:
            raise GoalError(f"the solver's goal is {format_board(self._goal, self._size)}; make one for another goal")
        same = tuple(range(self._size.n_cells))
        return BoardMapping("identity", same, same)
