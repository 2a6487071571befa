"""`pdb study compare`: heuristics and search algorithms on the same boards."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain, repeat, starmap
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from pdb_core.errors import InputError, LimitReachedError, UnsolvableError
from solver.algorithms import ALGORITHMS, IDA_STAR, WEIGHTED_A_STAR
from tilepdb.commands import completion
from tilepdb.commands.answers import contradiction
from tilepdb.commands.board_input import read_all_boards
from tilepdb.commands.method import DATABASES, Method, parse_method
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import (
    AlgorithmOptions,
    BoardGoalOption,
    BoardOptions,
    FormatOption,
    InstancesOption,
    LimitOptions,
    MemoryLimitOption,
    PlainOption,
    RandomSeedOption,
    SizeOption,
    TableOptions,
    WeightOption,
    option_group,
)
from tilepdb.commands.output import Record, message, plural, table, write_study
from tilepdb.commands.plots import PlotOption, write_plot
from tilepdb.commands.solve import search_source
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pathlib import Path

    from pdb_query import Instance
    from pdb_study.compare import ComparisonRow, LengthMeans
    from solver.answers.requests import Result

_COLUMNS = (
    "heuristic", "algorithm", "boards", "unsolvable", "solved", "mean_h", "mean_length", "mean_generated",
    "mean_generated_error", "mean_expanded", "mean_seconds", "nodes_per_second",
)  # fmt: skip
_LENGTH_COLUMNS = ("heuristic", "algorithm", "length", "boards", "mean_generated", "effective_branching_factor")
_DEFAULT_HEURISTICS = ("manhattan", "linear-conflict", DATABASES)
_DEFAULT_BOARDS = 20
_TABLE = (
    ("heuristic", "<28"), ("algorithm", "<18"), ("solved", "11"), ("mean h", "8.3f"), ("length", "8.3f"),
    ("mean nodes", "15,.0f"), ("+-", "12,.0f"), ("mean s", "11.6f"), ("nodes/s", "13,"),
)  # fmt: skip


@option_group
class SampleOptions:
    """Boards."""

    instances: InstancesOption = None
    size: SizeOption = None
    goal: BoardGoalOption = None
    boards: Annotated[
        int | None,
        Option(
            min=1,
            help="Number of boards: the first ones of --instances, or random ones. The default is all of --instances, "
            f"or {_DEFAULT_BOARDS} random ones.",
        ),
    ] = None
    seed: RandomSeedOption = None


@option_group
class MethodOptions:
    """Heuristics and algorithms."""

    heuristic: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Heuristic to compare, as for pdb search. Repeat the option for several.",
            show_default=", ".join(_DEFAULT_HEURISTICS),
            autocompletion=completion.heuristics,
        ),
    ] = None
    algorithm: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Algorithm to compare, as for pdb search. Repeat the option for several.",
            show_default=IDA_STAR,
            autocompletion=completion.algorithms,
        ),
    ] = None
    weight: WeightOption = None
    memory_limit: MemoryLimitOption = None
    plain: PlainOption = False


@option_group
class SampleLimitOptions(LimitOptions):
    """Limits."""

    threads: Annotated[int, Option(min=1, max=1024, help="Number of threads.")] = 1


def compare(
    sample: SampleOptions,
    compared: MethodOptions,
    tables: TableOptions,
    limits: SampleLimitOptions,
    by_length: Annotated[
        bool,
        Option("--by-length", help="Print nodes and effective branching factor by the length of the solution."),
    ] = False,
    plot: PlotOption = None,
    output: FormatOption = "text",
) -> None:
    """Compare heuristics and algorithms on the same boards.

    Print mean h, nodes, seconds and length. Without --instances, random boards are solved, of the size of --db or 3x3.
    Means are over the boards that a row solved, without those that it gave up at a limit. With several --db, the
    heuristic db is a row for each, and one for their maximum.

    Examples:
      pdb study compare --size 3x3 --boards 100 --heuristic manhattan --heuristic db
      pdb study compare --instances korf100 --boards 5 --db data/663.h5 --heuristic db
    """
    methods = _methods(compared, tables.db)
    from pdb_study.compare import Comparison, ComparisonRow, comparison_row
    from solver import Limits
    from solver.answers.requests import Hooks

    rows: list[ComparisonRow] = []
    with OpenDatabases(tables) as databases, ProgressLine(message) as line:
        instances = _boards(sample, databases)
        for size in {instance.size for instance in instances} if databases.given else ():
            databases.given[0].check_size(size)

        def results(method: Method, tables_of: OpenDatabases) -> "Iterator[Result]":
            search_limits = Limits(limits.time_limit, limits.max_nodes)
            source = search_source(method, tables_of, search_limits, Hooks(), n_threads=limits.threads)
            for answer in source.answers(databases.request(instance, sample.goal) for instance in instances):
                if error := contradiction(answer):
                    raise error
                yield answer.result

        def compared_row(method: Method, heuristic: str | None, tables_of: OpenDatabases) -> ComparisonRow:
            def show(n_done: int) -> None:
                what = f"{heuristic or 'no heuristic'}, {method.algorithm}"
                line.show(f"{what}: {n_done:,} of {len(instances):,} boards", n_done / len(instances))

            algorithm = method.algorithm + (" (plain)" if method.plain else "")
            rows.append(comparison_row(heuristic, algorithm, results(method, tables_of), show))
            line.clear()
            return rows[-1]

        found = starmap(compared_row, _rows(methods, databases))
        if by_length:
            write_study(_length_table(found), chain.from_iterable(map(_length_records, found)), output, _LENGTH_COLUMNS)
        else:
            write_study(table(_TABLE, map(_cells, found)), map(_record, found), output, _COLUMNS)
    comparison = Comparison(tuple(rows))
    n_drawn = len(comparison.whole_rows)
    if plot is not None and n_drawn < len(rows):
        message("not drawn: rows that did not solve all boards")
    if n_drawn and by_length:
        write_plot(plot, comparison.draw_by_length)
    elif n_drawn:
        write_plot(plot, comparison.draw, width=9, height=1.5 + 0.4 * n_drawn)
    unsolvable = f"{plural(rows[0].n_unsolvable, 'board')} of {len(instances)} cannot be solved by any"
    if not all(row.is_whole for row in rows):
        if rows[0].n_unsolvable:
            message(unsolvable)
        raise LimitReachedError(
            "boards were given up at a limit (--time-limit, --max-nodes or --memory-limit): the means of rows that "
            "solved fewer are over fewer, easier boards"
        )
    if rows[0].n_unsolvable:
        raise UnsolvableError(unsolvable)


def _methods(options: MethodOptions, db: "list[Path] | None") -> list[Method]:
    """Return the method of each heuristic with each algorithm. Raises `InputError`."""
    methods = []
    algorithms = dict.fromkeys(options.algorithm or (IDA_STAR,))
    for option, value, is_used in (
        ("--weight", options.weight, WEIGHTED_A_STAR in algorithms),
        ("--memory-limit", options.memory_limit, algorithms.keys() - {IDA_STAR}),
        ("--plain", options.plain, IDA_STAR in algorithms),
    ):
        if value is not None and value is not False and not is_used:
            raise InputError(f"{option} cannot be given here: no --algorithm uses it")
    for algorithm in algorithms:
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
            methods.append(parse_method(of_method, db if uses_db else None))
    if db and not any(method.uses_databases for method in methods):
        raise InputError(f"no heuristic uses the tables of --db; give --heuristic {DATABASES}, too, or leave out --db")
    return methods


def _boards(sample: SampleOptions, databases: OpenDatabases) -> "list[Instance]":
    """Return the boards that every method solves."""
    if sample.instances is not None:
        if sample.seed is not None:
            raise InputError("--seed is for random boards; leave out --seed or --instances")
        options = BoardOptions(instances=sample.instances, n_boards=sample.boards, size=sample.size)
        return read_all_boards(options, databases)
    from pdb_core.board_size import BoardSize, check_table_size, parse_size
    from pdb_core.puzzle import Board, random_boards
    from pdb_query import Instance

    size = parse_size(sample.size) if sample.size else databases.size or BoardSize(3, 3)
    check_table_size(size, what="heuristics and optimal solutions", instead="choose a smaller size")
    goal, n_boards = databases.goal_of(size, sample.goal), sample.boards or _DEFAULT_BOARDS
    rows = random_boards(size, goal, n_boards, sample.seed or 0)
    return [Instance(str(i), Board(row, size)) for i, row in enumerate(rows, start=1)]


def _rows(methods: list[Method], databases: OpenDatabases) -> Iterator[tuple[Method, str | None, OpenDatabases]]:
    """Yield the method, the heuristic and the tables of each row."""
    paths = [str(database.path) for database in databases.given]
    for method in methods:
        if method.heuristic != DATABASES or len(paths) < 2:
            yield method, method.heuristic, databases
            continue
        yield from zip(repeat(method), paths, databases.each(), strict=False)
        yield method, f"max({','.join(paths)})", databases


def _record(row: "ComparisonRow | LengthMeans") -> Record:
    return {name.removeprefix("n_"): value for name, value in asdict(row).items() if name != "by_length"}


def _length_records(row: "ComparisonRow") -> Iterator[Record]:
    for means in row.by_length:
        yield {"heuristic": row.heuristic, "algorithm": row.algorithm, **_record(means)}


def _length_table(found: "Iterable[ComparisonRow]") -> Iterator[str]:
    """Yield the lines of a table with a row for each length, and two columns for each search."""
    rows = list(found)
    names = [f"{row.heuristic or '-'}, {row.algorithm}".rjust(25) for row in rows]
    yield " " * 14 + "".join(f"  {name}" for name in names)
    columns = [("length", "6"), ("boards", "7,")]
    for name in names:
        columns += [("mean nodes", f"{len(name) - 7},.0f"), ("b*", "7.3f")]
    by_length = [{means.length: means for means in row.by_length} for row in rows]

    def cells(length: int) -> list[Any]:
        here = [means.get(length) for means in by_length]
        found: list[Any] = [length, max(of.n_boards for of in here if of)]
        for of in here:
            found += [of.mean_generated, of.effective_branching_factor or 0.0] if of else [None, None]
        return found

    yield from table(columns, map(cells, sorted(set().union(*by_length))))


def _cells(row: "ComparisonRow") -> tuple[Any, ...]:
    """Return a row of the table of all lengths."""
    start = (row.heuristic or "-", row.algorithm, f"{row.n_solved:>5}/{row.n_boards:<5}")
    if not row.n_solved:
        return *start, f"none {'of them can be' if row.n_unsolvable == row.n_boards else 'within the limits'}"
    return (
        *start, row.mean_h, row.mean_length, row.mean_generated, row.mean_generated_error, row.mean_seconds,
        row.nodes_per_second or 0,
    )  # fmt: skip
