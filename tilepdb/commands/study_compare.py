"""`pdb study compare`: heuristics and search algorithms on the same boards."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from pdb_core.errors import InputError, LimitReachedError, UnsolvableError
from solver.algorithms import IDA_STAR
from tilepdb.commands.answers import contradiction
from tilepdb.commands.board_input import read_all_boards
from tilepdb.commands.method import DATABASES, Method, parse_method, unused_options
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import (
    AlgorithmOptions,
    BoardOptions,
    FormatOption,
    LimitOptions,
    MemoryLimitOption,
    PlainOption,
    PlotOption,
    RandomSeedOption,
    TableOptions,
    WeightOption,
    option_group,
)
from tilepdb.commands.output import Record, message, plural, table, write_plot, write_study
from tilepdb.commands.solve import search_source
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pathlib import Path

    from pdb_query import Instance
    from pdb_study.compare import ComparisonRow, LengthMeans
    from solver.answers.requests import Result

_DEFAULT_HEURISTICS = ("manhattan", "linear-conflict", DATABASES)
_DEFAULT_BOARDS = 20
_TABLE = (
    ("heuristic", "<28"), ("algorithm", "<18"), ("solved", "11"), ("mean h", "8.3f"), ("length", "8.3f"),
    ("mean nodes", "15,.0f"), ("+-", "12,.0f"), ("mean s", "11.6f"), ("nodes/s", "13,"),
)  # fmt: skip
_LENGTH_TABLE = (
    ("heuristic", "<28"), ("algorithm", "<18"), ("length", "6"), ("boards", "7,"), ("mean nodes", "15,.0f"),
    ("+-", "12,.0f"), ("b*", "7.3f"),
)  # fmt: skip


@option_group
class SampleOptions(BoardOptions):
    """Boards."""

    n_boards: Annotated[
        int | None,
        Option(
            "--boards",
            min=1,
            help="Number of boards: the first of those given, or random ones. The default is all that are given, or "
            f"{_DEFAULT_BOARDS} random ones.",
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
        ),
    ] = None
    algorithm: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Algorithm to compare, as for pdb search. Repeat the option for several.",
            show_default=IDA_STAR,
        ),
    ] = None
    weight: WeightOption = None
    memory_limit: MemoryLimitOption = None
    plain: PlainOption = False


def compare(
    sample: SampleOptions,
    compared: MethodOptions,
    tables: TableOptions,
    limits: LimitOptions,
    by_length: Annotated[
        bool,
        Option("--by-length", help="Print nodes and effective branching factor by the length of the solution."),
    ] = False,
    plot: PlotOption = None,
    output: FormatOption = "text",
) -> None:
    """Compare heuristics and algorithms on the same boards.

    Print mean h, nodes, seconds and length. If no boards are given, random ones are solved, of the size of --db or 3x3.
    Means are over the boards that a row solved, without those that it gave up at a limit.

    Examples:
      pdb study compare --size 3x3 --boards 100 --heuristic manhattan --heuristic db
      pdb study compare --instances korf100 --boards 5 --db data/663.h5 --heuristic db
    """
    methods = _methods(compared, tables.db)
    from pdb_study.compare import Comparison, ComparisonRow, comparison_row
    from solver.progress import Limits

    rows: list[ComparisonRow] = []
    with OpenDatabases(tables) as databases, ProgressLine(message) as line:
        instances = _boards(sample, databases)
        for size in {instance.size for instance in instances} if databases.given else ():
            databases.given[0].check_size(size)

        def results(method: Method) -> "Iterator[Result]":
            search_limits = Limits(limits.time_limit, limits.max_nodes)
            source = search_source(method, databases, search_limits, n_threads=limits.threads or 1)
            for answer in source.answers(databases.request(instance, sample.goal) for instance in instances):
                if error := contradiction(answer):
                    raise error
                yield answer.result

        def compared_row(method: Method) -> ComparisonRow:
            def show(n_done: int) -> None:
                what = f"{method.heuristic or 'no heuristic'}, {method.algorithm}"
                line.show(f"{what}: {n_done:,} of {len(instances):,} boards", n_done / len(instances))

            algorithm = method.algorithm + (" (plain)" if method.plain else "")
            rows.append(comparison_row(method.heuristic, algorithm, results(method), show))
            line.clear()
            return rows[-1]

        found = map(compared_row, methods)
        if by_length:
            write_study(chain.from_iterable(map(_length_records, found)), output, _length_text)
        else:
            write_study(map(_record, found), output, lambda records: table(_TABLE, map(_cells, records)))
    comparison = Comparison(tuple(rows))
    if plot is not None and len(comparison.whole_rows) < len(rows):
        message("not drawn: rows that did not solve all boards")
    if comparison.whole_rows:
        write_plot(plot, comparison.draw_by_length if by_length else comparison.draw)
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
    unused = {algorithm: unused_options(algorithm) for algorithm in options.algorithm or (IDA_STAR,)}
    for name in ("weight", "memory_limit", "plain"):
        if getattr(options, name) and all(name in names for names in unused.values()):
            raise InputError(f"--{name.replace('_', '-')} cannot be given here: no --algorithm uses it")
    for algorithm, names in unused.items():
        given = {name: value for name, value in vars(options).items() if name not in names}
        heuristics = (options.heuristic or _DEFAULT_HEURISTICS) if "heuristic" in given else (None,)
        for heuristic in dict.fromkeys(heuristics):
            of_method = AlgorithmOptions(**given | {"algorithm": algorithm, "heuristic": heuristic})
            methods.append(parse_method(of_method, db if heuristic and DATABASES in heuristic else None))
    if db and not any(method.uses_databases for method in methods):
        raise InputError(f"no heuristic uses the tables of --db; give --heuristic {DATABASES}, too, or leave out --db")
    return methods


def _boards(sample: SampleOptions, databases: OpenDatabases) -> "list[Instance]":
    """Return the boards that every method solves."""
    if sample.boards or sample.instances is not None:
        if sample.seed is not None:
            raise InputError("--seed is for random boards; leave out --seed or --instances")
        return read_all_boards(sample, databases)
    from pdb_core.board_size import BoardSize, check_table_size, parse_size
    from pdb_core.puzzle import Board, random_boards
    from pdb_query import Instance

    size = parse_size(sample.size) if sample.size else databases.size or BoardSize(3, 3)
    check_table_size(size, what="heuristics and optimal solutions", instead="choose a smaller size")
    goal, n_boards = databases.goal_of(size, sample.goal), sample.n_boards or _DEFAULT_BOARDS
    rows = random_boards(size, goal, n_boards, sample.seed or 0)
    return [Instance(str(i), Board(row, size)) for i, row in enumerate(rows, start=1)]


def _record(row: "ComparisonRow | LengthMeans") -> Record:
    return {name.removeprefix("n_"): value for name, value in asdict(row).items() if name != "by_length"}


def _length_records(row: "ComparisonRow") -> Iterator[Record]:
    """Yield a record for each length, then one for all boards, with `length` None."""
    of_all = {
        "length": None,
        "boards": row.n_solved,
        "mean_generated": row.mean_generated,
        "mean_generated_error": row.mean_generated_error,
        "effective_branching_factor": None,
    }
    for means in (*map(_record, row.by_length), of_all):
        yield {"heuristic": row.heuristic, "algorithm": row.algorithm, **means}


def _length_text(records: Iterable[Record]) -> Iterator[str]:
    """Return a table in which the searches of a length are next to each other."""
    by_length = sorted(records, key=lambda record: (record["length"] is None, record["length"]))
    rows = ({**record, "length": "all" if record["length"] is None else record["length"]} for record in by_length)
    return table(_LENGTH_TABLE, ([*row.values()] for row in rows))


def _cells(record: Record) -> tuple[Any, ...]:
    """Return a row of the table of all lengths."""
    means = map(record.get, ("mean_h", "mean_length", "mean_generated", "mean_generated_error", "mean_seconds"))
    solved = f"{record['solved']:>5}/{record['boards']:<5}"
    return record["heuristic"] or "-", record["algorithm"], solved, *means, record["nodes_per_second"] or 0
