"""Comparison of heuristics and searches on the same boards."""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from pdb_core.arguments import as_function, check_kind, refusal, shown
from pdb_core.errors import MemoryLimitError, UnsolvableError
from pdb_core.puzzle import BoardLike
from pdb_study.plots import Plotted, draw_points
from solver.answers.requests import Result
from solver.progress import Limits, LimitsLike, as_limits
from solver.solution import Solution


@dataclass(frozen=True)
class LengthMeans:
    """Means over the boards that one search solved in `length` moves.

    Attributes
    ----------
    mean_generated_error
        The standard error of `mean_generated`; None for one board.
    effective_branching_factor
        The b for which b + b^2 + ... + b^length is `mean_generated` (Nilsson 1971); None for length 0.
    """

    length: int
    n_boards: int
    mean_generated: float
    mean_generated_error: float | None
    effective_branching_factor: float | None


@dataclass(frozen=True)
class ComparisonRow:
    """Means over the boards that one search solved; None if it solved no board.

    Attributes
    ----------
    heuristic
        The name of the heuristic or of the solver; None for a search without one.
    algorithm
        The name of the algorithm, or "-" if no board can be solved.
    n_boards
        All boards; `n_unsolvable` and `n_solved` are part of them.
    mean_h
        The lower bound at the root.
    mean_length
        The moves of the solutions.
    mean_generated_error
        The standard error of `mean_generated`; None for fewer than two boards.
    nodes_per_second
        Generated nodes; None if no time was measured.
    by_length
        Means for each length of a solution, ascending.
    """

    heuristic: str | None
    algorithm: str
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
    by_length: tuple[LengthMeans, ...] = ()

    @property
    def label(self) -> str:
        """The heuristic and the algorithm, for plots."""
        return f"{self.heuristic or 'no heuristic'}, {self.algorithm}"

    @property
    def is_whole(self) -> bool:
        """Return True if every solvable board was solved."""
        return self.n_solved + self.n_unsolvable == self.n_boards


@dataclass(frozen=True, repr=False)
class Comparison(Plotted):
    """Searches compared on the same boards. A notebook shows it as a plot."""

    rows: tuple[ComparisonRow, ...]

    def __repr__(self) -> str:
        shown = [
            f"{row.heuristic}, {row.algorithm}: {row.n_solved:,} of {row.n_boards:,} solved, "
            f"mean length {_number(row.mean_length, ',.2f')}, mean nodes {_number(row.mean_generated, ',.0f')}"
            for row in self.rows[:8]
        ]
        return "\n".join([f"Comparison of {len(self.rows)} searches", *shown])

    @property
    def whole_rows(self) -> tuple[ComparisonRow, ...]:
        """The rows that solved every solvable board: their means are over the same boards."""
        return tuple(row for row in self.rows if row.is_whole and row.n_solved)

    def draw(self, axes: Any) -> None:
        """Draw the mean nodes of the rows that solved all boards, and their standard errors, on a logarithmic scale."""
        if rows := self.whole_rows:
            points = [(row.label, row.mean_generated or 0.0, row.mean_generated_error or 0.0) for row in rows]
            draw_points(axes, points, ",.0f")
            axes.set(xlabel="mean nodes generated", title=f"Mean nodes to solve the same {rows[0].n_solved:,} boards")

    def draw_by_length(self, axes: Any) -> None:
        """Draw the mean nodes by the length of the solution, of the rows that solved all boards."""
        if not self.whole_rows:
            return
        from matplotlib.ticker import MaxNLocator

        for row in self.whole_rows:
            lengths = [means.length for means in row.by_length]
            means = [means.mean_generated for means in row.by_length]
            axes.plot(lengths, means, "o-", markersize=3, label=row.label)
        axes.set(
            yscale="log",
            xlabel="length of the solution (moves)",
            ylabel="mean nodes generated",
            title=f"Mean nodes to solve the same {self.whole_rows[0].n_solved:,} boards",
        )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.legend()


class BoardSolver(Protocol):
    """Interface of the solvers that `compare` accepts: all solvers of this project."""

    def solve(self, board: BoardLike, /, *, limits: Limits | None = None) -> Solution:
        """Return the solution of `board`."""


def compare(
    solvers: Mapping[str, BoardSolver],
    boards: Iterable[BoardLike],
    *,
    limits: LimitsLike = None,
    progress: Callable[[str, int], None] | None = None,
) -> Comparison:
    """Solve the same boards with each solver, and return the means of each solver.

    Boards that cannot be solved, and those given up at a limit, are left out of the means.

    Parameters
    ----------
    solvers
        The solvers by name, such as `{"Manhattan": HeuristicSolver(...), "78": Solver(...)}`.
    limits
        Limits of each board: seconds, or limits of time and nodes.
    progress
        Called after each board with the name of the solver and the number of boards that it has finished.

    Returns
    -------
    Comparison
        A row for each solver.

    Raises
    ------
    BoardError, PdbError
        The errors of the solvers.

    Examples
    --------
    >>> from solver.heuristics.heuristic_solver import HeuristicSolver
    >>> compare({"Manhattan": HeuristicSolver("3x3")}, ["1 2 3/4 5 6/0 7 8"]).rows[0].mean_length
    2
    """
    check_kind(solvers, Mapping, "solvers", "a dictionary of solvers by name")
    progress = as_function(progress, "progress")
    check_kind(boards, Iterable, "boards", "a sequence of boards")
    given, limits = [boards] if isinstance(boards, str) else list(boards), as_limits(limits)
    for name, each in solvers.items():
        if not hasattr(each, "solve"):
            raise refusal(each, f"solver {shown(name)}", "a solver, such as HeuristicSolver('3x3')")

    def results(solver: BoardSolver) -> Iterator[Result]:
        for board in given:
            try:
                yield solver.solve(board, limits=limits)
            except (UnsolvableError, MemoryLimitError) as error:
                yield error

    rows = (comparison_row(name, None, results(solver), partial(progress, name)) for name, solver in solvers.items())
    return Comparison(tuple(rows))


def comparison_row(
    heuristic: str | None,
    algorithm: str | None,
    results: Iterable[Result],
    progress: Callable[[int], None],
) -> ComparisonRow:
    """Return the means over results, as solvers and sources of answers find them.

    `algorithm` is by default the name in the solutions. `progress` is called with the number of results so far.
    """
    answers: list[Result] = []
    for result in results:
        answers.append(result)
        progress(len(answers))
    solved = [answer for answer in answers if isinstance(answer, Solution) and answer.length is not None]
    generated = [answer.generated for answer in solved]
    seconds = sum(answer.seconds for answer in solved)
    n_solved = len(solved)
    means = {
        f"mean_{name}": _mean([getattr(answer, name) for answer in solved])
        for name in ("h", "length", "generated", "expanded", "seconds")
    }
    return ComparisonRow(
        heuristic=heuristic,
        algorithm=algorithm or next((answer.algorithm for answer in answers if isinstance(answer, Solution)), "-"),
        n_boards=len(answers),
        n_unsolvable=sum(isinstance(answer, UnsolvableError) for answer in answers),
        n_solved=n_solved,
        mean_generated_error=_standard_error(generated),
        nodes_per_second=round(sum(generated) / seconds) if seconds > 0 else None,
        by_length=tuple(_by_length(solved)),
        **means,
    )


def _by_length(solved: Sequence[Solution]) -> Iterator[LengthMeans]:
    nodes: dict[int, list[int]] = {}
    for solution in solved:
        nodes.setdefault(solution.length or 0, []).append(solution.generated)
    for length, generated in sorted(nodes.items()):
        mean = statistics.mean(generated)
        factor = effective_branching_factor(mean, length)
        yield LengthMeans(length, len(generated), round(mean, 6), _standard_error(generated), factor)


def effective_branching_factor(generated: float, length: int) -> float | None:
    """Return the branching factor of a uniform tree that has `generated` nodes below its root; None for length 0.

    >>> effective_branching_factor(52, 5)  # Russell and Norvig, section 3.6.1
    1.916729
    """
    if length == 0:
        return None
    low, high = 0.0, math.pow(generated, 1 / length)
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**k for k in range(1, length + 1)) < generated else (low, middle)
    return round(high, 6)


def _standard_error(values: Sequence[float]) -> float | None:
    return round(statistics.stdev(values) / math.sqrt(len(values)), 1) if len(values) > 1 else None


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.mean(values), 6) if values else None


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
