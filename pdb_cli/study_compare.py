"""`pdb study compare`: heuristics and searches on the same boards, a row for each pair."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.databases import OpenDatabases
from pdb_cli.options import (
    DatabaseOption,
    FormatOption,
    GoalOption,
    InstancesOption,
    SizeOption,
    ThreadsOption,
    boards_asked_for,
    size_hint,
)
from pdb_cli.output import Format, ProgressLine, Record, command, count, message, plural, prepare, write_records
from pdb_cli.plots import PlotOption, check_plot, drawn
from pdb_cli.solve_batch import Batch
from pdb_cli.solvers import (
    DATABASES,
    MemoryLimitOption,
    Method,
    Solvers,
    WeightOption,
    parse_method,
)
from pdb_core.errors import InputError, InstanceError, WrongAnswerError
from pdb_core.messages import shorten
from solver.algorithms import ALGORITHMS, IDA_STAR

if TYPE_CHECKING:
    from pathlib import Path

    from pdb_query import Instance

_COLUMNS = (
    "heuristic", "search", "boards", "unsolvable", "solved", "mean_h", "mean_length", "mean_generated",
    "mean_generated_error", "mean_expanded", "mean_seconds", "nodes_per_second",
)  # fmt: skip
_DEFAULT_HEURISTICS = ("manhattan", "linear-conflict", DATABASES)
_DEFAULT_BOARDS = 20


@command
def compare(
    instances: InstancesOption = None,
    heuristic: Annotated[
        list[str] | None,
        typer.Option(
            "--heuristic", metavar="NAME", help="As of pdb solve; several.", show_default=", ".join(_DEFAULT_HEURISTICS)
        ),
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option("--search", metavar="NAME", help="As of pdb solve; several.", show_default=IDA_STAR),
    ] = None,
    db: DatabaseOption = None,
    size: SizeOption = None,
    goal: GoalOption = None,
    boards: Annotated[
        int | None,
        typer.Option(
            "--boards", min=1, help="The first boards of the set; or so many random ones.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of random boards.")] = 1,
    weight: WeightOption = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.0, metavar="S", help="Give a board up after so many seconds.")
    ] = None,
    max_nodes: Annotated[
        int | None,
        typer.Option("--max-nodes", min=1, metavar="N", help="Give a board up after so many generated nodes."),
    ] = None,
    memory_limit: MemoryLimitOption = None,
    plain: Annotated[bool, typer.Option("--plain", help="The textbook's IDA*, as of pdb solve.")] = False,
    no_reflection: Annotated[
        bool, typer.Option("--no-reflection", help="Ask the tables about each board alone, not its reflections.")
    ] = False,
    threads: ThreadsOption = 1,
    plot: PlotOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Compare heuristics and searches on the same boards: mean h, nodes, seconds and length.

    Without --instances the boards are random ones of --size, 3x3 if not given. Means are over the boards that a row has
    solved; boards that it has given up at a limit only count as such.
    """
    check_plot(plot)
    methods = [
        parse_method(
            name,
            (one if _uses_heuristic(name) else None),
            db if one == DATABASES or "db" in one else None,
            weight if name == "weighted-a-star" else None,
            memory_limit if name != IDA_STAR else None,
            plain=plain and name == IDA_STAR,
            reflects=not (no_reflection and one == DATABASES and name == IDA_STAR),
        )
        for name in dict.fromkeys(search or (IDA_STAR,))
        for one in (dict.fromkeys(heuristic or _DEFAULT_HEURISTICS) if _uses_heuristic(name) else (DATABASES,))
    ]
    if no_reflection and all(method.reflects for method in methods):
        raise InputError("--no-reflection cannot be given here: it goes with --search ida-star and --heuristic db")
    prepare()
    asked = _boards(instances, size, goal, boards, seed, db)
    if not asked:
        raise InstanceError(f"{shorten(str(instances))} holds no board; name a set or a file that does")
    records = []
    with OpenDatabases(db, "map") as databases:

        def rows() -> Iterator[dict[str, Any]]:
            for method in methods:
                solvers = Solvers(databases, method, n_at_a_time=threads or 1)
                batch = Batch(databases, solvers, goal, time_limit, max_nodes, False, None)
                answers = list(_watched(batch.records(asked, threads or 1), method, len(asked)))
                if isinstance(batch.worst, WrongAnswerError):
                    raise batch.worst
                records.append(_row(method, answers))
                yield records[-1]

        write_records(rows(), output, columns=_COLUMNS, text=_text)
    _tell_gaps(records)
    if plot is not None:
        _draw(records, plot)


def _uses_heuristic(search: str) -> bool:
    """Return whether a search evaluates a heuristic; an unknown search is rejected later."""
    return search not in ALGORITHMS or ALGORITHMS[search].uses_heuristic


def _boards(
    instances: str | None, size: str | None, goal: str | None, n: int | None, seed: int, db: "list[Path] | None"
) -> "list[Instance]":
    """The boards to be solved by every method."""
    if instances is not None:
        return list(islice(boards_asked_for(None, instances, size_hint(db, size)), n))
    from pdb_core.puzzle import blank_last, check_table_size, parse_goal, parse_size, random_boards
    from pdb_query import Instance

    board_size = parse_size(size or "3x3")
    check_table_size(board_size, what="heuristics and shortest solutions", instead="choose a smaller size")
    wanted = blank_last(board_size) if goal is None else parse_goal(goal, board_size)
    rows = random_boards(board_size, wanted, n or _DEFAULT_BOARDS, seed)
    return [Instance(str(i), tuple(row.tolist()), board_size, goal, None) for i, row in enumerate(rows, start=1)]


def _watched(answers: Iterable[Record], method: Method, n: int) -> Iterator[Record]:
    line = ProgressLine()
    for i, answer in enumerate(answers, start=1):
        line.show(f"{method.heuristic or 'no heuristic'}, {method.search}: {count(i)} of {count(n)} boards")
        yield answer
    line.clear()


def _row(method: Method, answers: Sequence[Record]) -> dict[str, Any]:
    solved = [answer for answer in answers if answer["length"] is not None]
    generated = [answer["generated"] for answer in solved]
    seconds = sum(answer["seconds"] for answer in solved)
    error = statistics.stdev(generated) / math.sqrt(len(generated)) if len(generated) > 1 else None
    return {
        "heuristic": method.heuristic if method.reflects else f"{method.heuristic} (no reflection)",
        "search": method.search + (" (plain)" if method.plain else ""),
        "boards": len(answers),
        "unsolvable": sum(not answer["solvable"] for answer in answers),
        "solved": len(solved),
        "mean_h": _mean(solved, "h"),
        "mean_length": _mean(solved, "length"),
        "mean_generated": _mean(solved, "generated"),
        "mean_generated_error": None if error is None else round(error, 1),
        "mean_expanded": _mean(solved, "expanded"),
        "mean_seconds": _mean(solved, "seconds"),
        "nodes_per_second": round(sum(generated) / seconds) if seconds > 0 else None,
    }


def _mean(answers: Sequence[Record], field: str) -> float | None:
    return round(statistics.mean(answer[field] for answer in answers), 6) if answers else None


def _text(records: Iterable[Record]) -> Iterator[str]:
    yield (
        f"{'heuristic':<28} {'search':<18} {'solved':>11} {'mean h':>8} {'length':>8} {'mean nodes':>15} {'+-':>12} "
        f"{'mean s':>11} {'nodes/s':>13}"
    )
    for row in records:
        start = f"{row['heuristic'] or '-':<28} {row['search']:<18} {row['solved']:>5}/{row['boards']:<5}"
        if row["solved"] == 0:
            yield f"{start} none {'of them can be' if row['unsolvable'] == row['boards'] else 'within the limits'}"
            continue
        error = "" if row["mean_generated_error"] is None else count(round(row["mean_generated_error"]))
        yield (
            f"{start} {row['mean_h']:8.3f} {row['mean_length']:8.3f} {count(round(row['mean_generated'])):>15} "
            f"{error:>12} {row['mean_seconds']:11.6f} {count(row['nodes_per_second'] or 0):>13}"
        )


def _tell_gaps(records: Sequence[Record]) -> None:
    """Say where means are over other boards than those asked for."""
    if records[0]["unsolvable"]:
        message(f"pdb: {plural(records[0]['unsolvable'], 'board')} of {records[0]['boards']} cannot be solved by any")
    if not all(map(_is_whole, records)):
        message("pdb: boards were given up at a limit; a row that solved fewer has its means over fewer, easier boards")


def _is_whole(row: Record) -> bool:
    """Whether a row has solved every board that can be."""
    return bool(row["solved"] + row["unsolvable"] == row["boards"])


def _draw(records: Sequence[Record], path: "Path") -> None:
    """Mean nodes of each pair, on a logarithmic scale: a group of bars for each heuristic."""
    drawable = [row for row in records if row["solved"] and _is_whole(row)]
    if len(drawable) < len(records):
        message("pdb: not drawn: what did not solve all boards")
    if not drawable:
        return
    heuristics = list(dict.fromkeys(row["heuristic"] or "no heuristic" for row in drawable))
    searches = list(dict.fromkeys(row["search"] for row in drawable))
    height = 0.8 / len(searches)
    with drawn(path, width=9, height=1.5 + 0.55 * len(heuristics) * max(1.0, len(searches) / 2)) as axes:
        for i, name in enumerate(searches):
            rows = [row for row in drawable if row["search"] == name]
            places = [heuristics.index(row["heuristic"] or "no heuristic") + height * i for row in rows]
            bars = axes.barh(places, [row["mean_generated"] for row in rows], height=height, label=name)
            axes.bar_label(bars, labels=[count(round(row["mean_generated"])) for row in rows], padding=3, fontsize=8)
        axes.set_yticks([i + height * (len(searches) - 1) / 2 for i in range(len(heuristics))], heuristics)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.margins(x=0.15)
        # A bar on a logarithmic scale starts somewhere: at a power of ten below the least.
        axes.set_xlim(left=10 ** math.floor(math.log10(max(1.0, min(row["mean_generated"] for row in drawable)))))
        axes.set_xlabel("mean nodes generated")
        axes.set_title(f"Mean nodes to solve the same {count(drawable[0]['solved'])} boards")
        axes.grid(axis="x", alpha=0.3)
        if len(searches) > 1:
            axes.legend()
