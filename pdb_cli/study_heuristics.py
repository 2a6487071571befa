"""`pdb study heuristics`: values of heuristics on boards whose distances are known."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.databases import OpenDatabases
from pdb_cli.options import FormatOption, GoalOption, TableOptions, ThreadsOption
from pdb_cli.output import Format, count, message, prepare, write_records
from pdb_cli.plots import PlotOption, check_plot, drawn
from pdb_cli.process import command
from pdb_cli.progress import ProgressLine
from pdb_core.resources import available_cores

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from pdb_core.puzzle import Boards, BoardSize, Tiles
    from pdb_query import Database
    from pdb_study.heuristics import HeuristicStudy

_COLUMNS = ("distance", "boards", "heuristic", "mean", "standard_deviation", "minimum", "maximum", "standard_error")
# Random boards of the 15-puzzle are solved to know their distances; on larger boards that may take hours.
_MAX_SOLVED_CELLS = 16
# Boards solved between two updates of the progress.
_CHUNK = 2000
# Columns of heuristics in a table that fits a terminal.
_ABREAST = 4
# Bands of standard deviations that can be distinguished in a plot.
_MOST_SHADED = 4


@command
def heuristics(
    tables: TableOptions,
    size: Annotated[str, typer.Argument(metavar="WxH", help="Board size.")] = "3x3",
    heuristic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Heuristic to study; repeat the option.",
            show_default="all that the size has",
        ),
    ] = None,
    goal: GoalOption = None,
    boards: Annotated[
        int, typer.Option(min=2, max=1_000_000, help="Number of random boards of more than 10 cells.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random boards.")] = 1,
    threads: ThreadsOption = None,
    plot: PlotOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Compare values of heuristics by distance from the goal: mean, standard deviation, minimum and maximum.

    Up to 10 cells all boards are evaluated. Up to 16 cells random boards are evaluated and solved; larger random boards
    are not solved. Means of random boards have standard errors (+-). Each --db is a heuristic too.
    """
    check_plot(plot)
    prepare()
    from pdb_core.puzzle import check_table_size, parse_goal, parse_size
    from pdb_study.heuristics import heuristic_values, study_values
    from solver.heuristics import parse_heuristic

    board_size = parse_size(size)
    check_table_size(board_size, what="heuristics and optimal solutions", instead="choose a smaller size")
    wanted = parse_goal(goal or "blank-last", board_size)
    names = tuple(name for text in heuristic or () for name in parse_heuristic(text)) or _fitting(board_size, wanted)
    with tables.open() as opened:
        databases = opened.databases_for(board_size, wanted) if tables.db else ()
        for database in databases:
            database.views(wanted)  # raises at once if it cannot serve the goal
        rows, distances = _boards(board_size, wanted, boards, seed, opened, threads)
        values = heuristic_values(rows, board_size, wanted, names, databases)
    labels = (*names, *(f"db {database.header.spec.partition.name} {database.encoding}" for database in databases))
    study = study_values(labels, values, distances, is_sample=len(rows) < math.factorial(board_size.n_cells) // 2)
    if output is Format.text:
        for line in _text(study, board_size):
            print(line)
    else:
        write_records(_records(study), output, columns=_COLUMNS, text=lambda _: ())
    if plot is not None:
        _draw(study, board_size, plot)


def _fitting(size: "BoardSize", goal: "Tiles") -> tuple[str, ...]:
    """Return the heuristics that exist for this size and goal."""
    from pdb_core.errors import InputError
    from solver.heuristics import HEURISTICS, heuristic_tables

    names = []
    for name in HEURISTICS:
        try:
            heuristic_tables((name,), size, goal)
        except InputError as error:
            message(f"pdb: left out: {error}")
        else:
            names.append(name)
    return tuple(names)


def _boards(
    size: "BoardSize", goal: "Tiles", n_boards: int, seed: int, databases: OpenDatabases, threads: int | None
) -> "tuple[Boards, npt.NDArray[np.int64] | None]":
    """Return boards and their distances: all boards of a small size, else random ones."""
    import numpy as np

    from pdb_core.puzzle import random_boards
    from pdb_study.layer_search import MAX_CELLS, all_boards

    if size.n_cells <= MAX_CELLS:
        boards, distances = all_boards(size, goal)
        return boards, distances.astype(np.int64)
    boards = random_boards(size, goal, n_boards, seed).astype(np.uint8)
    if size.n_cells > _MAX_SOLVED_CELLS:
        return boards, None
    return boards, _optimal_lengths(boards, goal, databases.databases_for(size, goal), threads)


def _optimal_lengths(
    boards: "Boards", goal: "Tiles", databases: "tuple[Database, ...]", threads: int | None
) -> "npt.NDArray[np.int64]":
    """Return the optimal length of each board."""
    import numpy as np

    from solver import Solver

    solver = Solver(*databases)
    lengths = []
    with ProgressLine() as line:
        for first in range(0, len(boards), _CHUNK):
            line.show(f"solving boards to know their distances: {count(first)} of {count(len(boards))}")
            chunk = boards[first : first + _CHUNK]
            lengths.append(solver.solve_many(chunk, goal, n_threads=threads or available_cores()).lengths)
    return np.concatenate(lengths).astype(np.int64)


def _records(study: "HeuristicStudy") -> Iterator[dict[str, Any]]:
    """Yield a record for each distance and heuristic, then for each heuristic over all boards, with `distance` None."""
    rows = [(row.distance, row.n_boards, row.spreads) for row in study.rows]
    for distance, n_boards, spreads in [*rows, (None, study.n_boards, study.overall)]:
        for name, spread, exceeds in zip(study.names, spreads, study.exceeds, strict=True):
            error = study.standard_error(spread, n_boards)
            record: dict[str, Any] = {
                "distance": distance,
                "boards": n_boards,
                "heuristic": name,
                "mean": round(spread.mean, 6),
                "standard_deviation": round(spread.standard_deviation, 6),
                "minimum": spread.minimum,
                "maximum": spread.maximum,
                "standard_error": None if error is None else round(error, 6),
            }
            if distance is None:
                record["larger_than"] = dict(zip(study.names, exceeds, strict=True))
            yield record


def _text(study: "HeuristicStudy", size: "BoardSize") -> Iterator[str]:
    mean = "" if study.mean_distance is None else f", mean distance {study.mean_distance:.3f}"
    yield f"{_boards_text(study, size)}{mean}; mean, standard deviation, minimum and maximum of h"
    rows = [(str(row.distance), row.n_boards, row.spreads) for row in study.rows]
    rows.append(("all", study.n_boards, study.overall))
    for start in range(0, len(study.names), _ABREAST):
        shown = slice(start, start + _ABREAST)
        yield ""
        yield f"{'distance':>8} {'boards':>11}  " + "  ".join(name.rjust(23) for name in study.names[shown])
        for distance, n_boards, spreads in rows:
            cells = (f"{s.mean:8.3f} {s.standard_deviation:6.3f} {s.minimum:3} {s.maximum:3}" for s in spreads[shown])
            yield f"{distance:>8} {count(n_boards):>11}  " + "  ".join(cell.rjust(23) for cell in cells)
        errors = [study.standard_error(spread, study.n_boards) for spread in study.overall[shown]]
        if study.is_sample:
            yield f"{'+-':>8} {'':>11}  " + "  ".join(f"{error or 0.0:8.3f}".ljust(23) for error in errors).rstrip()
    if len(study.names) > 1:
        yield ""
        yield "boards on which the heuristic of the row is larger than that of the column:"
        labels = [f"{number} {name}" for number, name in enumerate(study.names, start=1)]
        first = max(map(len, labels))
        yield " " * first + "".join(f"{number:>10}" for number in range(1, len(labels) + 1))
        for label, row in zip(labels, study.exceeds, strict=True):
            yield label.ljust(first) + "".join(f"{count(n):>10}" for n in row)


def _boards_text(study: "HeuristicStudy", size: "BoardSize") -> str:
    return f"{count(study.n_boards)} {'random ' if study.is_sample else ''}boards of {size}"


def _draw(study: "HeuristicStudy", size: "BoardSize", path: "Path") -> None:
    if not study.rows:
        message("pdb: nothing to draw: the distances of these boards are not known")
        return
    import numpy as np

    shades = len(study.names) <= _MOST_SHADED
    with drawn(path, width=8 if shades else 10) as axes:
        distances = [row.distance for row in study.rows]
        axes.plot(distances, distances, color="black", linewidth=0.8, linestyle=":", label="the distance itself")
        # By decreasing mean, so that the legend has the order of the lines.
        for i in sorted(range(len(study.names)), key=lambda i: -study.overall[i].mean):
            means = np.array([row.spreads[i].mean for row in study.rows])
            deviations = np.array([row.spreads[i].standard_deviation for row in study.rows])
            (line,) = axes.plot(distances, means, marker="o", markersize=3, label=study.names[i])
            if shades:
                axes.fill_between(
                    distances, means - deviations, means + deviations, color=line.get_color(), alpha=0.12, linewidth=0
                )
        axes.set_xlabel("distance from the goal (moves)")
        axes.set_ylabel("h: mean and standard deviation" if shades else "mean h")
        axes.set_title(f"Heuristics on {_boards_text(study, size)}")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left" if shades else "center left", bbox_to_anchor=None if shades else (1.01, 0.5))
