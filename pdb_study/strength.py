"""Strength of heuristics: eta, the mean of b^-h over all boards (Clausecker and Schintke 2021).

IDA* with the heuristic searches about eta times the nodes of a search without one, where b is the branching factor.
Few boards decide the mean: for the 24-puzzle and Manhattan distance those with h near 33, and h is 77 on average. So
random boards are led there in small steps, by annealed importance sampling (Neal 2001): chains of boards begin as
random boards, and b^-h becomes their distribution. The weight of each chain is an unbiased estimate of eta.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdb_core.arguments import FilePath, as_count, as_function, as_threads
from pdb_core.board_size import BoardSize, SizeLike
from pdb_core.puzzle import BoardLike, Boards, random_boards
from pdb_core.types import N_MOVES, Floats, Int64s
from pdb_query import Database
from pdb_study.complete_search import MAX_LISTED_CELLS, all_boards
from pdb_study.heuristics import checked_study, studied_name, studied_values
from pdb_study.plots import Plotted, draw_points
from solver.board_arrays import blank_moved, neighbours_by_move
from solver.engine.worker_pool import in_parallel
from solver.heuristics import HeuristicsLike
from solver.progress import Report

# Returns h of boards.
Evaluate = Callable[[Boards], Int64s]
# Chains that go on together: enough to look up many boards at once, few enough to show progress.
_GROUP = 200


@dataclass(frozen=True)
class Strength:
    """Eta of one heuristic.

    Attributes
    ----------
    name
        The heuristic or the database.
    eta
        The mean of b^-h over all boards.
    standard_error
        0 if all boards were evaluated.
    n_effective
        Number of equal weights that would have the error of the chains; the number of boards if all were evaluated.
    """

    name: str
    eta: float
    standard_error: float
    n_effective: float


@dataclass(frozen=True)
class StrengthStudy(Plotted):
    """Strengths of heuristics on boards of a size, with the branching factor of the size."""

    size: BoardSize
    branching_factor: float
    rows: tuple[Strength, ...]

    def draw(self, axes: Any) -> None:
        """Draw eta of each heuristic, and its standard error, on a logarithmic scale."""
        draw_points(axes, [(row.name, row.eta, row.standard_error) for row in self.rows], ".2e")
        axes.set(xlabel="eta", title=f"Eta of heuristics on boards of {self.size}")


def study_strength(
    size: SizeLike,
    heuristics: HeuristicsLike = ("manhattan", "linear-conflict"),
    databases: Database | FilePath | Sequence[Database | FilePath] = (),
    *,
    goal: BoardLike = "blank-last",
    n_chains: int = 1000,
    n_steps: int = 1000,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> StrengthStudy:
    """Return eta of heuristics and databases: exactly up to 10 cells, otherwise from chains of random boards.

    Parameters
    ----------
    heuristics
        One or several, as for `study_heuristics`.
    databases
        One database or several, open or as paths.
    n_chains
        Chains of boards: four times as many halve the error.
    n_steps
        Steps of each chain. With too few, single chains decide, and the error is underestimated: `n_effective` is small
        then.
    progress
        Called with the number of chains that are done, and that there are.

    Raises
    ------
    InputError
        For boards larger than 6x6, or if a heuristic does not exist for the size.
    GoalError
        For an invalid goal, or if a database cannot serve it.
    TableMismatchError
        If a database is of another size.

    Examples
    --------
    >>> f"{study_strength('3x3', 'manhattan').rows[0].eta:.2e}"
    '1.70e-03'
    """
    progress = as_function(progress, "progress")
    size, checked, studied = checked_study(size, heuristics, databases, goal, "heuristics")
    n_chains, n_steps = as_count(n_chains, "n_chains", 2), as_count(n_steps, "n_steps", 1)
    seed, n_threads = as_count(seed, "seed"), as_threads(n_threads)
    labels, b = [*map(studied_name, studied)], branching_factor(size)
    if size.n_cells <= MAX_LISTED_CELLS:
        boards, _ = all_boards(size, checked)
        etas = (b ** -studied_values(boards, size, checked, studied)).mean(axis=0)
        rows = [Strength(name, float(eta), 0.0, float(len(boards))) for name, eta in zip(labels, etas, strict=True)]
        return StrengthStudy(size, b, tuple(rows))

    starts = random_boards(size, checked, n_chains, seed).astype(np.uint8)
    studied_values(starts[:1], size, checked, studied)  # raises at once if one cannot be used
    groups = [(i, first) for i in range(len(labels)) for first in range(0, n_chains, _GROUP)]

    def weigh(group: tuple[int, int], report: Report, pool: object) -> Floats:  # noqa: ARG001
        i, first = group
        return log_weights(
            starts[first : first + _GROUP],
            lambda boards: studied_values(boards, size, checked, studied[i : i + 1])[:, 0],
            size,
            math.log(b),
            n_steps,
            np.random.default_rng([seed, first]),
        )

    found, total = [], len(labels) * n_chains
    for of_group in in_parallel(groups, weigh, n_threads=n_threads):
        found.append(of_group)
        progress(len(found) * total // len(groups), total)
    logs = np.concatenate(found).reshape(len(labels), n_chains)
    rows = [_strength(name, of_chains) for name, of_chains in zip(labels, logs, strict=True)]
    return StrengthStudy(size, b, tuple(rows))


def _strength(name: str, logs: Floats) -> Strength:
    """Return the strength of a heuristic from the logarithms of the weights of its chains."""
    weights = np.exp(logs - logs.max())
    scale, n = math.exp(logs.max()), len(logs)
    n_effective = weights.sum() ** 2 / (weights**2).sum()
    error = weights.std(ddof=1) / math.sqrt(n)
    return Strength(name, float(weights.mean() * scale), float(error * scale), float(n_effective))


def log_weights(
    boards: Boards, heuristic: Evaluate, size: BoardSize, log_b: float, n_steps: int, generator: np.random.Generator
) -> Floats:
    """Return the logarithms of the weights of chains that begin with `boards`, uint8[m, n_cells].

    Step k of n moves the boards by the rule of Metropolis for the distribution b^(-h k/n): the blank moves, and three
    tiles change places, which reaches all boards that can be solved.
    """
    cells = neighbours_by_move(size)
    h, logs = heuristic(boards), np.zeros(len(boards))
    for step in range(1, n_steps + 1):
        logs -= log_b / n_steps * h
        for change in (_move_blanks, _cycle_tiles):
            changed = change(boards, cells, generator)
            h_changed = heuristic(changed)
            limits = np.exp(np.minimum(0.0, log_b * step / n_steps * (h - h_changed)))
            is_taken = generator.random(len(boards)) < limits
            boards, h = np.where(is_taken[:, None], changed, boards), np.where(is_taken, h_changed, h)
    return logs


def _move_blanks(boards: Boards, cells: Int64s, generator: np.random.Generator) -> Boards:
    """Return boards after a random move of the blank; as they were if the board ends there."""
    blanks = boards.argmin(axis=1)
    to = cells[blanks, generator.integers(N_MOVES, size=len(boards))]
    return blank_moved(boards, np.where(to < 0, blanks, to))


def _cycle_tiles(boards: Boards, cells: Int64s, generator: np.random.Generator) -> Boards:
    """Return boards in which three random tiles have changed places."""
    # Without the blank's cell: the others are numbered from 0, and those from the blank's cell on are one further.
    three = generator.random((len(boards), len(cells) - 1)).argpartition(3, axis=1)[:, :3]
    three += three >= boards.argmin(axis=1)[:, None]
    changed = boards.copy()
    np.put_along_axis(changed, three, np.take_along_axis(boards, np.roll(three, 1, axis=1), axis=1), axis=1)
    return changed


def branching_factor(size: BoardSize) -> float:
    """Return the branching factor of deep searches that do not move back (Edelkamp and Korf 1998)."""
    cells = neighbours_by_move(size)
    steps = [(cell, int(to)) for cell in range(size.n_cells) for to in cells[cell] if to >= 0]
    follows = np.array([[to == cell and start != end for cell, end in steps] for start, to in steps], dtype=float)
    return float(np.abs(np.linalg.eigvals(follows)).max())
