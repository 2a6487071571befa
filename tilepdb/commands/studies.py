"""`pdb study heuristics`, `pdb study strength` and `pdb study space`: values of heuristics, and state spaces."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tilepdb.commands.method import DATABASES
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import (
    FormatOption,
    GoalOption,
    PlotOption,
    SeedOption,
    SizeArgument,
    TableOptions,
    ThreadsOption,
    option_group,
)
from tilepdb.commands.output import Record, bar_chart, message, plural, table, write_plot, write_records, write_study
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_study.heuristics import HeuristicStudy
    from pdb_study.strength import StrengthStudy

# Columns of heuristics in a table that fits a terminal.
_ABREAST = 4
# With fewer, single chains decide, and the error of eta is underestimated.
_FEW_EFFECTIVE = 20


@option_group
class StudyOptions:
    """Study."""

    size: SizeArgument = "3x3"
    heuristic: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Heuristic to study, as for pdb search. Repeat the option for several.",
            show_default="all that the size has",
        ),
    ] = None
    goal: GoalOption = "blank-last"
    seed: SeedOption = 0
    threads: ThreadsOption = None


def heuristics(
    studied: StudyOptions,
    tables: TableOptions,
    boards: Annotated[
        int,
        Option(min=2, max=1_000_000, help="Number of random boards, for sizes of more than 10 cells."),
    ] = 1000,
    plot: PlotOption = None,
    output: FormatOption = "text",
) -> None:
    """Compare heuristics by distance from the goal.

    Print mean, standard deviation, minimum and maximum of each heuristic. Up to 10 cells all boards are evaluated. Up
    to 16 cells random boards are evaluated and solved; larger random boards are not solved. Means of random boards have
    standard errors (+-). Each --db is a heuristic, too.

    Examples:
      pdb study heuristics 3x3
      pdb study heuristics 3x3 --heuristic manhattan --heuristic linear-conflict --plot h.svg
    """
    from pdb_study.heuristics import study_heuristics

    common = _common_arguments(studied, tables)
    with OpenDatabases(tables) as opened, ProgressLine(message) as line:
        study = study_heuristics(
            **common,
            databases=opened.given,
            n_boards=boards,
            solves_with=lambda: opened.databases_for(common["size"], common["goal"]),
            progress=lambda done, total: line.show(
                f"solving boards to know their distances: {done:,} of {total:,}", done / total
            ),
        )
    write_study(_heuristic_records(study), output, lambda _: _heuristic_text(study))
    if study.rows:
        write_plot(plot, study.draw)
    elif plot is not None:
        message("nothing to draw: the distances of these boards are not known")


def _common_arguments(options: StudyOptions, tables: TableOptions, *, all_with_tables: bool = True) -> dict[str, Any]:
    """Return arguments that both studies take. The heuristics are without `db`: each table is studied by itself.

    By default these are all heuristics of the size, but none beside tables without `all_with_tables`.
    """
    from pdb_core.board_size import parse_size
    from pdb_core.puzzle import parse_goal
    from pdb_study.heuristics import fitting_heuristics

    names = [name for name in options.heuristic or () if name != DATABASES]
    size = parse_size(options.size)
    goal = parse_goal(options.goal, size)
    if not options.heuristic and (all_with_tables or not tables.db):
        names = fitting_heuristics(size, goal)
    return {"size": size, "heuristics": names, "goal": goal, "seed": options.seed, "n_threads": options.threads}


def _heuristic_records(study: "HeuristicStudy") -> Iterator[Record]:
    """Yield a record for each distance and heuristic, then for each heuristic over all boards, with `distance` None."""
    for row in study.all_rows:
        for name, spread in zip(study.names, row.spreads, strict=True):
            error = study.standard_error(spread, row.n_boards)
            record: dict[str, Any] = {"distance": row.distance, "boards": row.n_boards, "heuristic": name}
            record |= {key: round(value, 6) for key, value in vars(spread).items()}
            record["standard_error"] = None if error is None else round(error, 6)
            yield record


def _heuristic_text(study: "HeuristicStudy") -> Iterator[str]:
    mean = "" if study.mean_distance is None else f", mean distance {study.mean_distance:.3f}"
    yield f"{study.boards_text}{mean}; mean, standard deviation, minimum and maximum of h"
    for start in range(0, len(study.names), _ABREAST):
        shown = slice(start, start + _ABREAST)
        yield ""
        columns = [("distance", "8"), ("boards", "11,"), *((name, "24") for name in study.names[shown])]
        rows: list[tuple[Any, ...]] = [
            (
                "all" if row.distance is None else row.distance,
                row.n_boards,
                *(f"{s.mean:8.3f} {s.standard_deviation:6.3f} {s.minimum:3} {s.maximum:3}" for s in row.spreads[shown]),
            )
            for row in study.all_rows
        ]
        if study.is_sample:
            errors = [study.standard_error(spread, study.n_boards) for spread in study.overall[shown]]
            rows.append(("+-", None, *(f"{error or 0.0:8.3f}".ljust(23) for error in errors)))
        yield from table(columns, rows)


def strength(
    studied: StudyOptions,
    tables: TableOptions,
    chains: Annotated[
        int, Option(min=2, max=1_000_000, help="Chains of boards, for sizes of more than 10 cells.")
    ] = 1000,
    steps: Annotated[int, Option(min=1, max=10_000_000, help="Steps of each chain.")] = 1000,
    plot: PlotOption = None,
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
    from pdb_study.strength import study_strength

    common = _common_arguments(studied, tables, all_with_tables=False)
    with OpenDatabases(tables) as opened, ProgressLine(message) as line:
        study = study_strength(
            **common,
            databases=opened.given,
            n_chains=chains,
            n_steps=steps,
            progress=lambda done, total: line.show(f"{done:,} of {total:,} chains", done / total),
        )
    write_study(_strength_records(study), output, lambda _: _strength_text(study))
    write_plot(plot, study.draw)
    few = [row.name for row in study.rows if row.standard_error and row.n_effective < _FEW_EFFECTIVE]
    if few:
        message(f"few chains decide eta of {', '.join(few)}: its error is larger than shown; give more --steps")


def _strength_records(study: "StrengthStudy") -> Iterator[Record]:
    for row in study.rows:
        yield {
            "heuristic": row.name,
            "eta": row.eta,
            "standard_error": row.standard_error,
            "effective_chains": round(row.n_effective, 1),
            "branching_factor": study.branching_factor,
        }


def _strength_text(study: "StrengthStudy") -> Iterator[str]:
    yield f"boards of {study.size}, branching factor {study.branching_factor:.4f}; the smaller eta, the stronger"
    width = max(len(row.name) for row in study.rows)
    rows = ((row.name, row.eta, f"{row.standard_error:.1e}" if row.standard_error else "exact") for row in study.rows)
    yield from table([("heuristic", f"<{width}"), ("eta", "10.3e"), ("+-", "8")], rows)


def space(
    size: SizeArgument,
    goal: GoalOption = "blank-last",
    threads: ThreadsOption = None,
    plot: PlotOption = None,
    output: FormatOption = "text",
) -> None:
    """Count the boards at each distance from the goal.

    Boards have up to 12 cells. Up to 20 boards at the maximum depth are listed. With --format csv, each distance is a
    line.

    Examples:
      pdb study space 3x3
      pdb study space 3x4 --plot 3x4.svg
    """
    from pdb_core.puzzle import format_board
    from pdb_study.space import explore_space

    with ProgressLine(message) as line:
        found = explore_space(
            size,
            goal,
            n_threads=threads,
            progress=lambda depth, n_reached: line.show(f"depth {depth}: {n_reached:,} boards"),
        )
    record: Record = vars(found) | {
        "size": str(found.size),
        "goal": format_board(found.goal, found.size),
        "boards": found.n_boards,
        "max_depth": found.max_depth,
        "mean": found.mean,
        "antipodes": [format_board(board, found.size) for board in found.antipodes],
    }
    by_distance = ({**record, "distance": distance, "boards": n} for distance, n in enumerate(found.counts))
    records = by_distance if output == "csv" else [record]
    write_records(records, output, _space_text, ("size", "goal", "distance", "boards"))
    write_plot(plot, found.draw)


def _space_text(record: Record) -> Iterator[str]:
    yield f"{record['size']}, goal {record['goal']}: {record['boards']:,} boards"
    yield from bar_chart(record["counts"], len(f"{max(record['counts']):,}"))
    yield f"maximum depth {record['max_depth']}, mean {record['mean']:.3f}, {record['seconds']:.2f} s"
    n_farthest, n_listed = record["counts"][-1], len(record["antipodes"])
    listed = "" if n_listed == n_farthest else f", {n_listed:,} of them"
    yield f"{plural(n_farthest, 'board')} at distance {record['max_depth']}{listed}"
    for board in record["antipodes"]:
        yield f"  {board}"
