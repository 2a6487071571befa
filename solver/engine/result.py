"""Result of a run of the engine, on a board or on subtrees."""

from dataclasses import dataclass

from pdb_core.puzzle import Board
from pdb_core.symmetry import BoardMapping
from solver.progress import Iteration
from solver.solution import Solution, check_replay, solution_of


@dataclass(frozen=True)
class SearchResult:
    """Result of a run of the engine, in the terms of the tables.

    moves        the tiles moved, in order; None if no solution was found
    thresholds   the thresholds searched: without that of the solution, if it was found by beams; one for subtrees
    seconds      of the search
    h            lower bound at the root; 0 for subtrees
    n_solutions  optimal solutions found; all that exist, if all were wanted and `is_complete`
    rest         paths of what is left of a threshold in which a limit was reached, see `Frontier.paths`: empty only if
                 nothing is left
    """

    moves: tuple[int, ...] | None
    thresholds: tuple[Iteration, ...]
    seconds: float
    h: int = 0
    n_solutions: int = 0
    is_complete: bool = False
    rest: tuple[bytes, ...] | None = None

    @property
    def generated(self) -> int:
        return sum(iteration.generated for iteration in self.thresholds)

    @property
    def expanded(self) -> int:
        return sum(iteration.expanded for iteration in self.thresholds)

    def solution(self, board: Board, goal: Board, mapping: BoardMapping) -> Solution:
        """Return the solution of `board`, which `mapping` maps to the terms of the tables, replayed.

        Raises `WrongAnswerError`.
        """
        moves = None if self.moves is None else mapping.original_tiles(self.moves)
        if moves is not None:
            check_replay(board, moves, goal, board.size)
        bound = self.thresholds[-1].threshold if self.thresholds else self.h
        return solution_of(
            board,
            goal,
            moves,
            bound if moves is None else len(moves),
            h=self.h,
            generated=self.generated,
            expanded=self.expanded,
            seconds=self.seconds,
            thresholds=self.thresholds,
            n_solutions=self.n_solutions,
            is_complete=self.is_complete,
        )
