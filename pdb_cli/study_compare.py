"""`pdb study compare`: heuristics and search algorithms on the same boards."""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.answers import Answers
from pdb_cli.board_input import read_boards, size_hint
from pdb_cli.databases import OpenDatabases
from pdb_cli.options import (
    AlgorithmOptions,
    FormatOption,
    GoalOption,
    IdaStarOptions,
    InstancesOption,
    LimitOptions,
    MemoryLimitOption,
    SizeOption,
    TableOptions,
    ThreadsOption,
    WeightOption,
)
from pdb_cli.output import Format, Record, count, message, plural, prepare, write_records
from pdb_cli.plots import PlotOption, check_plot, drawn
from pdb_cli.process import command
from pdb_cli.progress import ProgressLine
from pdb_cli.solvers import DATABASES, Method, Solvers, parse_method
from pdb_cli.solving import Batch, solve_boards
from pdb_core.errors import InstanceError, WrongAnswerError
from pdb_core.messages import shorten
from solver.algorithms import ALGORITHMS, IDA_STAR, WEIGHTED_A_STAR

if TYPE_CHECKING:
    from pathlib import Path

    from pdb_query import Instance

_COLUMNS = (
    "heuristic", "search", "boards", "unsolvable", "solved", "mean_h", "mean_length", "mean_generated",
    "mean_generated_error", "mean_expanded", "mean_seconds", "nodes_per_second",
)  # fmt: skip
_DEFAULT_HEURISTICS = ("manhattan", "linear-conflict", DATABASES)
_DEFAULT_BOARDS = 20
_HEADER = (
    f"{'heuristic':<28} {'search':<18} {'solved':>11} {'mean h':>8} {'length':>8} {'mean nodes':>15} {'+-':>12} "
    f"{'mean s':>11} {'nodes/s':>13}"
)


@dataclass(frozen=True)
class SampleOptions:
    """Boards."""

    instances: InstancesOption = None
    size: SizeOption = None
    goal: GoalOption = None
    boards: Annotated[
        int | None,
        typer.Option(min=1, help="Number of boards: the first of the set, or random ones."),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of random boards.")] = 1


@dataclass(frozen=True)
class MethodOptions:
    """Heuristics and algorithms."""

    heuristic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Heuristic to compare, as in pdb search; repeat the option.",
            show_default=", ".join(_DEFAULT_HEURISTICS),
        ),
    ] = None
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Algorithm to compare, as in pdb search; repeat the option.",
            show_default=IDA_STAR,
        ),
    ] = None
    weight: WeightOption = None
    memory_limit: MemoryLimitOption = None
    plain: Annotated[bool, typer.Option("--plain", help="Textbook IDA*, as in pdb search.")] = False


@dataclass(frozen=True)
class SampleLimitOptions(LimitOptions):
    """Limits."""

    threads: ThreadsOption = 1


@command
def compare(
    sample: SampleOptions,
    compared: MethodOptions,
    tables: TableOptions,
    limits: SampleLimitOptions,
    plot: PlotOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Compare heuristics and algorithms on the same boards: mean h, nodes, seconds and length.

    Without --instances, random boards of --size are solved, of 3x3 by default. Means are over the boards that a row
    solved, without those that it gave up at a limit.
    """
    check_plot(plot)
    methods = _methods(compared, tables.db)
    prepare()
    instances = _boards(sample, tables.db)
    if not instances:
        raise InstanceError(f"{shorten(str(sample.instances))} holds no board; name a set or a file that does")
    records = []
    if output is Format.text:
        print(_HEADER, flush=True)
    with tables.open() as databases:

        def row(method: Method) -> Record:
            records.append(_row(method, _answers(method, instances, databases, sample.goal, limits)))
            return records[-1]

        write_records(map(row, methods), output, columns=_COLUMNS, text=_text)
    _report_gaps(records)
    if plot is not None:
        _draw(records, plot)


def _methods(options: MethodOptions, db: "list[Path] | None") -> list[Method]:
    """Return the method of each heuristic with each algorithm. Raises `InputError`."""
    methods = []
    for algorithm in dict.fromkeys(options.algorithm or (IDA_STAR,)):
        uses_none = algorithm in ALGORITHMS and not ALGORITHMS[algorithm].uses_heuristic
        for heuristic in (None,) if uses_none else dict.fromkeys(options.heuristic or _DEFAULT_HEURISTICS):
            of_method = AlgorithmOptions(
                algorithm=algorithm,
                heuristic=heuristic,
                weight=options.weight if algorithm == WEIGHTED_A_STAR else None,
                memory_limit=options.memory_limit if algorithm != IDA_STAR else None,
                plain=options.plain and algorithm == IDA_STAR,
            )
            uses_db = heuristic is not None and DATABASES in heuristic
            methods.append(parse_method(of_method, db if uses_db else None, IdaStarOptions()))
    return methods


def _answers(
    method: Method, instances: "list[Instance]", databases: OpenDatabases, goal: str | None, limits: LimitOptions
) -> list[Record]:
    """Return the records of all boards, solved by a method. Raises `WrongAnswerError`."""
    from solver import Limits

    n_threads = limits.threads or 1
    batch = Batch(
        Solvers(databases, method, n_at_a_time=n_threads),
        lambda instance: databases.goal_of(instance, goal),
        Limits(seconds=limits.time_limit, nodes=limits.max_nodes),
    )
    answers = Answers(method.search, method.heuristic)
    records: list[Record] = []
    with ProgressLine() as line:
        for outcome in solve_boards(batch, instances, n_threads):
            records.append(answers.record(outcome))
            name = method.heuristic or "no heuristic"
            line.show(f"{name}, {method.search}: {count(len(records))} of {count(len(instances))} boards")
    if isinstance(answers.worst, WrongAnswerError):
        raise answers.worst
    return records


def _boards(sample: SampleOptions, db: "list[Path] | None") -> "list[Instance]":
    """Return the boards that every method solves."""
    if sample.instances is not None:
        return list(islice(read_boards(None, sample.instances, size_hint(db, sample.size)), sample.boards))
    from pdb_core.puzzle import Board, check_table_size, parse_goal, parse_size, random_boards
    from pdb_query import Instance

    size = parse_size(sample.size or "3x3")
    check_table_size(size, what="heuristics and optimal solutions", instead="choose a smaller size")
    rows = random_boards(
        size, parse_goal(sample.goal or "blank-last", size), sample.boards or _DEFAULT_BOARDS, sample.seed
    )
    return [Instance(str(i), Board(row, size), sample.goal) for i, row in enumerate(rows, start=1)]


def _row(method: Method, answers: Sequence[Record]) -> dict[str, Any]:
    solved = [answer for answer in answers if answer["length"] is not None]
    generated = [answer["generated"] for answer in solved]
    seconds = sum(answer["seconds"] for answer in solved)
    error = statistics.stdev(generated) / math.sqrt(len(generated)) if len(generated) > 1 else None
    return {
        "heuristic": method.heuristic,
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


def _text(row: Record) -> Iterator[str]:
    start = f"{row['heuristic'] or '-':<28} {row['search']:<18} {row['solved']:>5}/{row['boards']:<5}"
    if row["solved"] == 0:
        yield f"{start} none {'of them can be' if row['unsolvable'] == row['boards'] else 'within the limits'}"
        return
    error = "" if row["mean_generated_error"] is None else count(round(row["mean_generated_error"]))
    yield (
        f"{start} {row['mean_h']:8.3f} {row['mean_length']:8.3f} {count(round(row['mean_generated'])):>15} "
        f"{error:>12} {row['mean_seconds']:11.6f} {count(row['nodes_per_second'] or 0):>13}"
    )


def _report_gaps(records: Sequence[Record]) -> None:
    """Report on stderr which boards the means leave out."""
    if records[0]["unsolvable"]:
        message(f"pdb: {plural(records[0]['unsolvable'], 'board')} of {records[0]['boards']} cannot be solved by any")
    if not all(map(_is_whole, records)):
        message("pdb: boards were given up at a limit; rows that solved fewer have means over fewer, easier boards")


def _is_whole(row: Record) -> bool:
    """Return True if a row solved every solvable board."""
    return bool(row["solved"] + row["unsolvable"] == row["boards"])


def _draw(records: Sequence[Record], path: "Path") -> None:
    """Draw the mean nodes on a logarithmic scale."""
    drawable = [row for row in records if row["solved"] and _is_whole(row)]
    if len(drawable) < len(records):
        message("pdb: not drawn: rows that did not solve all boards")
    if not drawable:
        return
    with drawn(path, width=9, height=1.5 + 0.4 * len(drawable)) as axes:
        labels = [f"{row['heuristic'] or 'no heuristic'}, {row['search']}" for row in drawable]
        bars = axes.barh(labels, [row["mean_generated"] for row in drawable])
        axes.bar_label(bars, labels=[count(round(row["mean_generated"])) for row in drawable], padding=3, fontsize=8)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.margins(x=0.15)
        # Bars on a logarithmic scale start at the power of ten below the least.
        axes.set_xlim(left=10 ** math.floor(math.log10(max(1.0, min(row["mean_generated"] for row in drawable)))))
        axes.set_xlabel("mean nodes generated")
        axes.set_title(f"Mean nodes to solve the same {count(drawable[0]['solved'])} boards")
        axes.grid(axis="x", alpha=0.3)
