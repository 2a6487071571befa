"""Comparison of heuristics and searches on the same boards."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pdb_core.errors import PdbError, UnsolvableError
from pdb_core.puzzle import BoardLike
from pdb_study import plots
from solver.progress import Limits
from solver.solution import Solution


@dataclass(frozen=True)
class ComparisonRow:
    """Means over the boards that one search solved; None if it solved no board.

    heuristic             name of the heuristic or of the solver; None for a search without one
    search                name of the search, or "-" if no board can be solved
    n_boards              all boards; `n_unsolvable` and `n_solved` are part of them
    mean_h                lower bound at the root
    mean_length           moves of the solutions
    mean_generated_error  standard error of `mean_generated`; None for fewer than two boards
    nodes_per_second      generated nodes; None if no time was measured
    """

    heuristic: str | None
    search: str
    n_boards: int
    n_unsolvable: int
    n_solved: int
    mean_h: float | None
    mean_length: float | None
    mean_generated: float | None
    mean_generated_error: float | None
    mean_expanded: float | None
    mean_seconds: float | None
    nodes_per_second: int | None

    @property
    def is_whole(self) -> bool:
        """Return True if every solvable board was solved."""
        return self.n_solved + self.n_unsolvable == self.n_boards


@dataclass(frozen=True)
class Comparison:
    """Searches compared on the same boards. A notebook shows it as a plot and a table."""

    rows: tuple[ComparisonRow, ...]

    @property
    def whole_rows(self) -> tuple[ComparisonRow, ...]:
        """The rows that solved every solvable board: their means are over the same boards."""
        return tuple(row for row in self.rows if row.is_whole and row.n_solved)

    def _repr_html_(self) -> str:
        header = ("heuristic", "search", "solved", "mean h", "length", "mean nodes", "+-", "mean s", "nodes/s")
        cells = [
            (
                row.heuristic or "-", row.search, f"{row.n_solved:,} of {row.n_boards:,}", _number(row.mean_h, ".3f"),
                _number(row.mean_length, ".3f"), _number(row.mean_generated, ",.0f"),
                _number(row.mean_generated_error, ",.0f"), _number(row.mean_seconds, ".6f"),
                _number(row.nodes_per_second, ",d"),
            )
            for row in self.rows
        ]  # fmt: skip
        return plots.html(self._draw, header, cells)

    def _draw(self, axes: object) -> None:
        if self.whole_rows:
            plots.draw_comparison(self, axes)


class BoardSolver(Protocol):
    """Interface of the solvers that `compare` accepts: all solvers of this project."""

    def solve(self, board: BoardLike, /, *, limits: Limits | None = None) -> Solution:
        """Return the solution of `board`."""


def compare(
    solvers: Mapping[str, BoardSolver],
    boards: Iterable[BoardLike],
    *,
    limits: Limits | None = None,
    progress: Callable[[str, int], None] = lambda _name, _n_boards: None,
) -> Comparison:
    """Solve the same boards with each solver, and return the means of each solver.

    `solvers` maps names to solvers, such as `{"Manhattan": HeuristicSolver(...), "78": Solver(...)}`. Boards that
    cannot be solved, and those given up at `limits`, are left out of the means. `progress` is called after each board
    with the name of the solver and the number of boards that it has finished. Raises what the solvers raise, such as
    `BoardError`.
    """
    given = list(boards)
    rows = []
    for name, solver in solvers.items():
        answers: list[Solution | PdbError] = []
        for number, board in enumerate(given, start=1):
            try:
                answers.append(solver.solve(board, limits=limits))
            except UnsolvableError as error:
                answers.append(error)
            progress(name, number)
        search = next((answer.search for answer in answers if isinstance(answer, Solution)), "-")
        rows.append(comparison_row(name, search, answers))
    return Comparison(tuple(rows))


def comparison_row(heuristic: str | None, search: str, answers: Sequence[Solution | PdbError]) -> ComparisonRow:
    """Return the means over `answers`: for each board its solution, or the error that the search raised."""
    solved = [answer for answer in answers if isinstance(answer, Solution) and answer.length is not None]
    generated = [answer.generated for answer in solved]
    seconds = sum(answer.seconds for answer in solved)
    error = statistics.stdev(generated) / math.sqrt(len(generated)) if len(generated) > 1 else None
    return ComparisonRow(
        heuristic=heuristic,
        search=search,
        n_boards=len(answers),
        n_unsolvable=sum(isinstance(answer, UnsolvableError) for answer in answers),
        n_solved=len(solved),
        mean_h=_mean([answer.h for answer in solved]),
        mean_length=_mean([answer.length or 0 for answer in solved]),
        mean_generated=_mean(generated),
        mean_generated_error=None if error is None else round(error, 1),
        mean_expanded=_mean([answer.expanded for answer in solved]),
        mean_seconds=_mean([answer.seconds for answer in solved]),
        nodes_per_second=round(sum(generated) / seconds) if seconds > 0 else None,
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.mean(values), 6) if values else None


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
