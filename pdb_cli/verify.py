"""`pdb verify`: comparison of table files with their digests, and proofs of their distances."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.databases import digest_progress
from pdb_cli.options import FormatOption, ThreadsOption
from pdb_cli.output import Format, ProgressLine, Record, command, count, message, prepare, write_records

if TYPE_CHECKING:
    from pdb_query import Database

_COLUMNS = ("file", "deep", "ok", "sha256", "seconds")


@command
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Table files.")],
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Also prove every distance, by code that shares nothing with the builder's search."
        ),
    ] = False,
    threads: ThreadsOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Compare table files with their digests; with --deep, prove every entry. Print what was checked."""
    prepare()
    write_records((_verify_file(path, deep, threads) for path in files), output, columns=_COLUMNS, text=_text)


def _verify_file(path: Path, deep: bool, threads: int | None) -> dict[str, Any]:
    from pdb_query import open_database
    from pdb_query.hdf5_view import check_hdf5_view

    start = time.perf_counter()
    line = ProgressLine()
    with open_database(path) as database:
        database.verify(digest_progress(line, path))
        check_hdf5_view(database)
        proofs = (
            [_prove(database, index, threads, line) for index in range(len(database.header.patterns))] if deep else []
        )
        line.clear()
        return {
            "file": str(path),
            "partition": database.header.spec.partition.name,
            "size": str(database.size),
            "deep": deep,
            "ok": True,
            "sha256": database.header.digest(),
            "patterns": [
                {
                    "tiles": list(entry.pattern.tiles),
                    "same_as": None if entry.use is None else entry.use.index,
                    "entries": entry.n_entries,
                    "sha256": entry.sha256,
                }
                for entry in database.header.patterns
            ],
            "proofs": proofs,
            "seconds": round(time.perf_counter() - start, 3),
        }


def _prove(database: "Database", index: int, threads: int | None, line: ProgressLine) -> dict[str, Any]:
    from pdb_build.deep_check import prove_table, prove_use, required_bytes
    from pdb_core.errors import MemoryLimitError
    from pdb_core.messages import format_bytes
    from pdb_core.resources import available_cores, available_memory

    specs = database.header.spec.tables
    pattern, use = database.header.patterns[index].pattern, database.header.patterns[index].use
    if use is not None:
        prove_use(pattern, specs[use.index], use.cell_map)
        return {"tiles": list(pattern.tiles), "same_as": use.index}
    needed, available = required_bytes(specs[index]), available_memory()
    if needed > available:
        raise MemoryLimitError(
            f"proving the table of pattern {pattern} needs {format_bytes(needed)} of memory, "
            f"{format_bytes(available)} are "
            f"available; verify it on a larger machine, or without --deep"
        )
    if needed > 500_000_000:
        message(f"pdb: proving the table of pattern {pattern}, this takes about 10 s per billion states ...")
    proof = prove_table(
        specs[index],
        database.table(index),
        n_threads=threads or available_cores(),
        progress=lambda stage, part: line.show(f"{database.path}: pattern {pattern}: {stage}, {100 * part:.0f} %"),
    )
    return {"tiles": list(pattern.tiles), "same_as": None, **asdict(proof)}


def _text(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        tables = [entry for entry in record["patterns"] if entry["same_as"] is None]
        entries = sum(entry["entries"] for entry in tables)
        yield (
            f"{record['file']}: sound: header, HDF5 objects, {len(tables)} digests and histograms over "
            f"{count(entries)} entries agree"
        )
        for proof in record["proofs"]:
            if proof["same_as"] is not None:
                first = record["patterns"][proof["same_as"]]["tiles"]
                yield (
                    f"  proved: pattern {','.join(map(str, proof['tiles']))}: a symmetry of the board maps it onto "
                    f"{','.join(map(str, first))}, whose table it uses"
                )
                continue
            yield (
                f"  proved: pattern {','.join(map(str, proof['tiles']))}: {count(proof['n_states'])} zero-aware "
                "states, "
                f"{count(proof['n_transitions'])} moves, {count(proof['n_entries'])} entries, {proof['seconds']:.1f} s"
            )
