"""`pdb info`, `pdb stats` and `pdb verify`: contents, statistics and checks of table files."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from pdb_core.errors import TableFileError
from tilepdb.commands.opened_tables import open_file
from tilepdb.commands.options import FormatOption, PlotOption, SeedOption, ThreadsOption
from tilepdb.commands.output import Record, bar_chart, joined, message, plural, write_plot, write_records
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_build.plan import PatternPlan
    from pdb_core.schema import Header, PatternHeader
    from pdb_core.table_spec import DatabaseSpec
    from pdb_query import Database

FilesArgument = Annotated[list[Path], Argument(metavar="FILE", help="Table files, made by pdb build.")]


def spec_record(path: Path, spec: "DatabaseSpec") -> dict[str, Any]:
    """Return the record of a table file that may not exist yet."""
    return {
        "file": str(path),
        "partition": spec.partition.name,
        "size": str(spec.size),
        "encoding": spec.encoding,
        "cost": spec.cost,
    }


def pattern_record(entry: "PatternPlan | PatternHeader") -> dict[str, Any]:
    """Return the record of a pattern: its tiles, and the index of the pattern whose table it uses, if any."""
    return {"tiles": list(entry.pattern.tiles), "same_as": None if entry.use is None else entry.use.index}


def header_record(path: Path, header: "Header") -> dict[str, Any]:
    """Return the record of a table file."""
    return spec_record(path, header.spec) | {
        "sha256": header.digest(),
        "patterns": [
            pattern_record(entry)
            | {
                "symmetry": None if entry.use is None else entry.use.symmetry(header.spec.size),
                "entries": entry.n_entries,
                "unreached": entry.n_unreached,
                "maximum": entry.maximum,
                "mean": entry.mean,
                "sha256": entry.sha256,
            }
            for entry in header.patterns
        ],
    }


def pattern_text(record: Record, entry: Record, contents: str) -> str:
    """Return a line about a pattern of a record: `contents` of its table, or the pattern whose table it uses."""
    if entry["same_as"] is not None:
        table = joined(record["patterns"][entry["same_as"]]["tiles"])
        contents = f"the table of {table}, by a symmetry of the board"
    return f"pattern {joined(entry['tiles'])}: {contents}"


def info(files: FilesArgument, output: FormatOption = "text") -> None:
    """Describe table files: partition, goal and patterns.

    Draw the partition and the goal on the board, and print the entries, maximum and mean of each pattern. Of a log of
    pdb solve, print the solutions, and lower bounds of unfinished boards. A file that cannot be read does not end the
    command.

    Examples:
      pdb info data/663.h5
      pdb info data/8.h5 data/663.h5 --format json
    """
    columns = ("file", "ok", "size", "goal", "partition", "encoding", "bytes", "sha256")
    _write_each(files, _info_record, output, _info_text, columns)


def _write_each(
    files: list[Path],
    record_of: Callable[[Path], Record],
    output: str,
    text: Callable[[Record], Iterator[str]],
    columns: tuple[str, ...],
) -> None:
    """Write the record of each file, with `ok`.

    A file that cannot be used is reported on stderr, too. The first error sets the exit code.
    """
    exit_codes = []

    def records() -> Iterator[Record]:
        for path in files:
            try:
                yield {**record_of(path), "ok": True}
            except TableFileError as error:
                message(str(error))
                exit_codes.append(error.exit_code)
                yield {"file": str(path), "ok": False, "error": str(error)}

    write_records(records(), output, lambda record: text(record) if record["ok"] else (), columns)
    if exit_codes:
        raise SystemExit(exit_codes[0])


def _info_record(path: Path) -> Record:
    from pdb_core.pattern import NAMED_PARTITIONS
    from pdb_query import read_table_header
    from solver.answers.log import read_log

    boards = read_log(path) if path.is_file() else None
    if boards is not None:
        return {"file": str(path), "boards": boards}
    header = read_table_header(path)
    spec = header.spec
    return header_record(path, header) | {
        "bytes": path.stat().st_size,
        "goal": list(spec.goal),
        "partition_source": getattr(NAMED_PARTITIONS.get(spec.partition.name), "source", None),
        "drawing": spec.partition.draw(spec.goal).splitlines(),
        "partitions": spec.partition.sums,
    }


def _log_text(record: Record) -> Iterator[str]:
    n_solved = sum("moves" in at for at in record["boards"])
    yield f"{record['file']}: log of {plural(len(record['boards']), 'board')}, {n_solved:,} solved"
    for at in record["boards"]:
        board = " ".join(map(str, at["board"]))
        if "moves" in at:
            yield f"  {board}: {plural(at['length'], 'move')}: {' '.join(map(str, at['moves']))}"
        else:  # subtrees of a threshold under way, or finished thresholds, which all have the parity of solutions
            bound = at.get("threshold") or at["thresholds"][-1][0] + 2
            yield f"  {board}: unfinished, at least {bound} moves"


def _info_text(record: Record) -> Iterator[str]:
    from pdb_core.board_size import parse_size
    from pdb_core.pattern import LETTERS
    from pdb_core.puzzle import draw_board, goal_name

    if "boards" in record:
        yield from _log_text(record)
        return
    goal, size = tuple(record["goal"]), parse_size(record["size"])
    cost = "" if record["cost"] == "additive" else ", every move counts"
    source = f" ({record['partition_source']})" if record["partition_source"] else ""
    yield (
        f"{record['file']}: partition {record['partition']}{source} of a {size} board, "
        f"goal {goal_name(goal, size)}, {record['encoding']}{cost}"
    )
    goal_rows = draw_board(goal, size).splitlines()
    yield from (f"    {row}    {goal_row}" for row, goal_row in zip(record["drawing"], goal_rows, strict=True))
    for letter, entry in zip(LETTERS, record["patterns"], strict=False):
        unreached = f", {entry['unreached']:,} unreached" if entry["unreached"] else ""
        contents = f"{entry['entries']:>13,} entries{unreached}, mean {entry['mean']:.2f}, maximum {entry['maximum']}"
        if entry["same_as"] is not None:
            contents = f"the table of {LETTERS[entry['same_as']]}, by the symmetry {entry['symmetry']}"
        yield f"  {letter}  {contents}  tiles {joined(entry['tiles'])}"
    if len(record["partitions"]) > 1:
        yield "  partitions " + " ".join("".join(LETTERS[i] for i in part) for part in record["partitions"])
    yield f"  {record['bytes']:,} bytes, header sha256 {record['sha256']}"


def stats(
    file: Annotated[Path, Argument(metavar="FILE", help="Table file, made by pdb build.")],
    boards: Annotated[int, Option(min=2, max=100_000_000, help="Number of random boards.")] = 100_000,
    seed: SeedOption = 0,
    plot: PlotOption = None,
    output: FormatOption = "text",
) -> None:
    """Print statistics of a table file.

    Print the histogram, mean and maximum of each table, and the mean lower bound over random boards.

    Examples:
      pdb stats data/663.h5
      pdb stats data/663.h5 --boards 10000 --plot 663.svg
    """
    from pdb_query import random_board_statistics
    from pdb_study.histograms import Histograms

    with open_file(file, "map", verify=False) as database:
        sample = random_board_statistics(database, n_boards=boards, seed=seed)
        record = header_record(file, database.header)
    for entry, pattern in zip(record["patterns"], database.header.patterns, strict=True):
        entry["histogram"] = list(pattern.histogram)
    record |= {
        "boards": boards,
        "seed": seed,
        "mean_sum": sample.sums[0][0],
        "mean_sum_error": sample.sums[0][1],
        "mean_h": sample.h[0],
        "mean_h_error": sample.h[1],
        "sums": len(sample.sums),
    }
    columns = (
        "file", "partition", "size", "mean_sum", "mean_sum_error", "mean_h", "mean_h_error", "boards",
        "seed",
    )  # fmt: skip
    write_records([record], output, _stats_text, columns)
    write_plot(plot, Histograms(database).draw)


def _stats_text(record: Record) -> Iterator[str]:
    for entry in record["patterns"]:
        contents = f"{entry['entries']:,} entries, mean {entry['mean']:.3f}, maximum {entry['maximum']}"
        yield pattern_text(record, entry, contents)
        if entry["same_as"] is None:
            yield from bar_chart(entry["histogram"], 13)
            if entry["unreached"]:
                yield f"   no {entry['unreached']:>13,} (cannot be reached)"
    yield f"over {record['boards']:,} random boards (seed {record['seed']}):"
    is_additive = record["cost"] == "additive"
    what = "mean sum     " if is_additive else "mean largest "
    yield f"  {what} {record['mean_sum']:.3f} +- {record['mean_sum_error']:.3f}"
    if record["sums"] > 1:
        yield (
            f"  mean h        {record['mean_h']:.3f} +- {record['mean_h_error']:.3f} of "
            f"{record['sums']} {'sums' if is_additive else 'of them'}, by reflection"
        )


def verify(
    files: FilesArgument,
    deep: Annotated[
        bool,
        Option("--deep", help="Also prove every distance, with a proof that is independent of the builder's search."),
    ] = False,
    threads: ThreadsOption = None,
    output: FormatOption = "text",
) -> None:
    """Compare table files with their digests, to find damage.

    With --deep, prove every entry. Print the checks that were made. A damaged file does not end the command.

    Examples:
      pdb verify data/663.h5
      pdb verify data/663.h5 --deep
    """

    def record_of(path: Path) -> Record:
        start = time.perf_counter()
        with open_file(path, "map", verify=True) as database, ProgressLine(message) as line:
            n_patterns = len(database.header.patterns) if deep else 0
            return header_record(path, database.header) | {
                "deep": deep,
                "proofs": [_prove(database, index, threads, line) for index in range(n_patterns)],
                "seconds": round(time.perf_counter() - start, 3),
            }

    _write_each(files, record_of, output, _verify_text, ("file", "ok", "deep", "sha256", "seconds"))


def _prove(database: "Database", index: int, threads: int | None, line: ProgressLine) -> dict[str, Any]:
    from pdb_build.deep_check import prove_table, required_bytes
    from pdb_core.errors import MemoryLimitError
    from pdb_core.messages import format_bytes
    from pdb_core.resources import available_cores, available_memory

    specs = database.header.spec.tables
    entry = database.header.patterns[index]
    pattern, start = entry.pattern, time.perf_counter()
    if entry.use is not None:  # that a symmetry maps it onto the other was checked when the file was opened
        return pattern_record(entry)
    needed, available = required_bytes(specs[index]), available_memory()
    if needed > available:
        raise MemoryLimitError(
            f"proving the table of pattern {pattern} needs {format_bytes(needed)} of memory, "
            f"{format_bytes(available)} are available; verify it on a larger machine, or without --deep"
        )
    proof = prove_table(
        specs[index],
        database.table(index),
        n_threads=threads or available_cores(),
        progress=lambda stage, part: line.show(
            f"{database.path}: pattern {pattern}: {stage}, {100 * part:.0f} %", part
        ),
    )
    return pattern_record(entry) | asdict(proof) | {"seconds": time.perf_counter() - start}


def _verify_text(record: Record) -> Iterator[str]:
    entries = [entry["entries"] for entry in record["patterns"] if entry["same_as"] is None]
    yield (f"{record['file']}: sound: header, HDF5 objects, {len(entries)} digests over {sum(entries):,} entries agree")
    for proof in record["proofs"]:
        contents = ""
        if proof["same_as"] is None:
            contents = (
                f"{proof['n_states']:,} zero-aware states, {proof['n_transitions']:,} moves, "
                f"{proof['n_entries']:,} entries, {proof['seconds']:.1f} s"
            )
        yield f"  proved: {pattern_text(record, proof, contents)}"
