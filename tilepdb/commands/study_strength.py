"""`pdb study strength`: how much heuristics shrink the search tree of IDA*."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import FormatOption, GoalOption, SeedOption, SizeArgument, TableOptions, ThreadsOption
from tilepdb.commands.output import message, table, write_study
from tilepdb.commands.study_heuristics import HeuristicsOption, studied_names
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_study.strength import StrengthStudy

_COLUMNS = ("heuristic", "eta", "standard_error", "effective_chains", "branching_factor")
# With fewer, single chains decide, and the error is underestimated.
_FEW_EFFECTIVE = 20


def strength(
    tables: TableOptions,
    size: SizeArgument = "3x3",
    heuristic: HeuristicsOption = None,
    goal: GoalOption = "blank-last",
    chains: Annotated[
        int, Option(min=2, max=1_000_000, help="Chains of boards, for sizes of more than 10 cells.")
    ] = 1000,
    steps: Annotated[int, Option(min=1, max=10_000_000, help="Steps of each chain.")] = 1000,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    output: FormatOption = "text",
) -> None:
    """Estimate how much heuristics shrink the search tree: eta.

    Eta is the mean of b^-h over all boards, where b is the branching factor (Clausecker and Schintke 2021). IDA* with a
    heuristic searches about eta times the nodes of a search without one. Up to 10 cells all boards are evaluated. On
    larger boards eta is estimated, with its standard error (+-), by chains from random boards to those with a small h.
    Each --db is a heuristic, too, and the only one by default.

    Examples:
      pdb study strength 3x3
      pdb study strength 4x4 --heuristic manhattan --db data/663.h5
    """
    from pdb_core.board_size import parse_size
    from pdb_core.puzzle import parse_goal
    from pdb_study.heuristics import fitting_heuristics
    from pdb_study.strength import study_strength

    board_size = parse_size(size)
    wanted, names = parse_goal(goal, board_size), studied_names(heuristic, tables)
    with OpenDatabases(tables) as opened, ProgressLine(message) as line:
        study = study_strength(
            board_size,
            names if heuristic or tables.db else fitting_heuristics(board_size, wanted),
            opened.given,
            goal=wanted,
            n_chains=chains,
            n_steps=steps,
            seed=seed,
            n_threads=threads,
            progress=lambda done, total: line.show(f"{done:,} of {total:,} chains", done / total),
        )
    write_study(_text(study), _records(study), output, _COLUMNS)
    few = [row.name for row in study.rows if row.standard_error and row.n_effective < _FEW_EFFECTIVE]
    if few:
        message(f"few chains decide eta of {', '.join(few)}: its error is larger than shown; give more --steps")


def _records(study: "StrengthStudy") -> Iterator[dict[str, Any]]:
    for row in study.rows:
        yield {
            "heuristic": row.name,
            "eta": row.eta,
            "standard_error": row.standard_error,
            "effective_chains": round(row.n_effective, 1),
            "branching_factor": study.branching_factor,
        }


def _text(study: "StrengthStudy") -> Iterator[str]:
    yield f"boards of {study.size}, branching factor {study.branching_factor:.4f}; the smaller eta, the stronger"
    width = max(len(row.name) for row in study.rows)
    errors = (f"{row.standard_error:.1e}" if row.standard_error else "exact" for row in study.rows)
    rows = ((row.name, row.eta, error) for row, error in zip(study.rows, errors, strict=True))
    yield from table([("heuristic", f"<{width}"), ("eta", "10.3e"), ("+-", "8")], rows)
