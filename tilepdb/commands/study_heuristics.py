"""`pdb study heuristics`: values of heuristics on boards whose distances are known."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from pdb_core.errors import InputError
from pdb_core.messages import as_typed
from tilepdb.commands import completion
from tilepdb.commands.method import DATABASES
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import FormatOption, GoalOption, SeedOption, SizeArgument, TableOptions, ThreadsOption
from tilepdb.commands.output import message, table, write_study
from tilepdb.commands.plots import PlotOption, write_plot
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_study.heuristics import HeuristicStudy

_COLUMNS = ("distance", "boards", "heuristic", "mean", "standard_deviation", "minimum", "maximum", "standard_error")
# Columns of heuristics in a table that fits a terminal.
_ABREAST = 4

HeuristicsOption = Annotated[
    list[str] | None,
    Option(
        metavar="NAME",
        help="Heuristic to study, as for pdb search. Repeat the option for several.",
        show_default="all that the size has",
        autocompletion=completion.heuristics,
    ),
]


def heuristics(
    tables: TableOptions,
    size: SizeArgument = "3x3",
    heuristic: HeuristicsOption = None,
    goal: GoalOption = "blank-last",
    boards: Annotated[
        int,
        Option(min=2, max=1_000_000, help="Number of random boards, for sizes of more than 10 cells."),
    ] = 1000,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
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
    from pdb_core.board_size import parse_size
    from pdb_core.puzzle import parse_goal
    from pdb_study.heuristics import fitting_heuristics, study_heuristics

    board_size = parse_size(size)
    wanted = parse_goal(goal, board_size)
    names = studied_names(heuristic, tables)
    with OpenDatabases(tables) as opened, ProgressLine(message) as line:
        study = study_heuristics(
            board_size,
            names if heuristic else fitting_heuristics(board_size, wanted),
            opened.given,
            goal=wanted,
            n_boards=boards,
            seed=seed,
            solves_with=lambda: opened.databases_for(board_size, wanted),
            n_threads=threads,
            progress=lambda done, total: line.show(
                f"solving boards to know their distances: {done:,} of {total:,}", done / total
            ),
        )
    write_study(_text(study), _records(study), output, _COLUMNS)
    if study.rows:
        write_plot(plot, study.draw, width=8 if len(study.names) <= 4 else 10)
    elif plot is not None:
        message("nothing to draw: the distances of these boards are not known")


def studied_names(heuristic: list[str] | None, tables: TableOptions) -> list[str]:
    """Return the heuristics of a study without `db`, which means the tables: each of them is studied anyway."""
    names = [name for name in heuristic or () if name != DATABASES]
    for name in names:
        if DATABASES in re.split(r"[(),\s]+", name):
            raise InputError(f"{as_typed(name)}: tables are studied by themselves; give --heuristic {DATABASES}, too")
    if heuristic and not names and not tables.db:
        raise InputError(f"--heuristic {DATABASES} needs a table file; give one with --db")
    return names


def _records(study: "HeuristicStudy") -> Iterator[dict[str, Any]]:
    """Yield a record for each distance and heuristic, then for each heuristic over all boards, with `distance` None."""
    for row in study.all_rows:
        for name, spread, exceeds in zip(study.names, row.spreads, study.exceeds, strict=True):
            error = study.standard_error(spread, row.n_boards)
            record: dict[str, Any] = {"distance": row.distance, "boards": row.n_boards, "heuristic": name}
            record |= {key: round(value, 6) for key, value in vars(spread).items()}
            record["standard_error"] = None if error is None else round(error, 6)
            if row.distance is None:
                record["larger_than"] = dict(zip(study.names, exceeds, strict=True))
            yield record


def _text(study: "HeuristicStudy") -> Iterator[str]:
    mean = "" if study.mean_distance is None else f", mean distance {study.mean_distance:.3f}"
    yield f"{study.boards_text}{mean}; mean, standard deviation, minimum and maximum of h"
    for start in range(0, len(study.names), _ABREAST):
        shown = slice(start, start + _ABREAST)
        yield ""
        columns = [("distance", "8"), ("boards", "11,"), *((name, "24") for name in study.names[shown])]
        rows: list[tuple[Any, ...]] = [
            (
                row.distance_text,
                row.n_boards,
                *(f"{s.mean:8.3f} {s.standard_deviation:6.3f} {s.minimum:3} {s.maximum:3}" for s in row.spreads[shown]),
            )
            for row in study.all_rows
        ]
        if study.is_sample:
            errors = [study.standard_error(spread, study.n_boards) for spread in study.overall[shown]]
            rows.append(("+-", None, *(f"{error or 0.0:8.3f}".ljust(23) for error in errors)))
        yield from table(columns, rows)
    if len(study.names) > 1:
        yield ""
        yield "boards on which the heuristic of the row is larger than that of the column:"
        width = len(str(len(study.names)))
        labels = [f"{number:{width}} {name}" for number, name in enumerate(study.names, start=1)]
        columns = [("", f"<{max(map(len, labels))}"), *((str(i), "9,") for i in range(1, len(labels) + 1))]
        yield from table(columns, ((label, *n) for label, n in zip(labels, study.exceeds, strict=True)))
