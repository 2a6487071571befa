"""Datasets in files: the finished rows in the folder `OUT.partial`, and the finished file.

description.json  what determines the labels
rows              the number of finished rows, in 8 bytes, then these rows
lock              locked by the command that writes
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import numpy as np
from filelock import FileLock, Timeout

from pdb_core.arguments import (
    FilePath,
    as_choice,
    as_count,
    as_function,
    as_path,
    as_threads,
    check_functions,
    check_kind,
)
from pdb_core.continuing import check_settings
from pdb_core.durable_files import bytes_of, write_all, writing_errors, written_safely
from pdb_core.errors import BuildRunningError, OutputError
from pdb_core.puzzle import format_board
from pdb_core.types import N_MOVES
from pdb_core.version import version_text
from pdb_query import Database
from pdb_query.database import as_databases
from pdb_study.labels.formats import MEANING, WRITERS, check_format, in_blocks
from pdb_study.labels.labelling import Content, label
from pdb_study.labels.sources import BoardSource
from solver.distances import LabelledBoards
from solver.progress import Report
from solver.solve import Solver

# Boards of up to so many cells take far less than a second.
_SMALL_CELLS = 16
_SMALL_CHUNK, _LARGE_CHUNK = 1000, 16
# Of the number of rows at the beginning of `rows`.
_COUNT_BYTES = 8
_DESCRIPTION = "description.json"
_ADVICE = "choose another file, or start over with --fresh (fresh=True)"


def write_labels(
    out: FilePath,
    source: BoardSource,
    databases: Database | FilePath | Sequence[Database | FilePath],
    *,
    content: Content = "moves",
    chunk: int | None = None,
    n_threads: int | None = None,
    command: str | None = None,
    fresh: bool = False,
    progress: Callable[[int], None] | None = None,
    report: Report | None = None,
) -> int:
    """Write boards and their labels to the file `out`, and return the number of unsolvable boards.

    The suffix of `out` gives the format: .npz, .csv or .parquet. Finished chunks are in the folder `OUT.partial` until
    all are finished. If the call ends early, the same call continues after the last whole chunk; the file is then the
    same to the byte.

    Parameters
    ----------
    databases
        Databases to solve the boards with, open or as paths.
    content, n_threads, report
        As in `label`.
    chunk
        Number of boards in a chunk. By default 1000; of boards of more than 16 cells, which may take hours, a hundredth
        of all, at most 16.
    command
        Text that is written into the file.
    fresh
        Start over instead of continuing from `OUT.partial`.
    progress
        Called with the number of finished boards, at first and after each chunk.

    Raises
    ------
    InputError
        The format does not exist, or an argument is invalid.
    TableFileError
        A file of `databases` is missing or cannot be used.
    TableMismatchError, GoalError
        A database is for boards of another size, or does not serve the goal.
    CheckpointMismatchError, BuildRunningError
        `OUT.partial` is of another dataset, or another process writes it.
    OutputError, DiskFullError
        A file cannot be written.

    Examples
    --------
    >>> from pdb_study.labels import RandomBoards
    >>> write_labels("labels.npz", RandomBoards("3x3", n_boards=100), "data/8.h5")
    0
    """
    out, opened = as_path(out, "out"), as_databases(databases)
    check_kind(source, BoardSource, "source", "a source of boards, such as RandomBoards('4x4')")
    as_choice(content, "content", get_args(Content))
    check_kind(command, str | None, "command", "text, or None")
    progress = as_function(progress, "progress")
    check_functions(report=report)
    chunk = _default_chunk(source) if chunk is None else as_count(chunk, "chunk", 1)
    n_threads = as_threads(n_threads)
    check_format(out)
    for database in opened:
        database.check_size(source.size)
    solver = Solver(*opened)
    folder, row_type = out.with_name(f"{out.name}.partial"), _row_type(content, source.size.n_cells)
    description = describe(source, opened, content, command, row_type)
    path = folder / "rows"
    with writing_errors(folder):
        folder.mkdir(exist_ok=True)
        try:
            lock = FileLock(folder / "lock", blocking=False).acquire()
        except Timeout:
            raise BuildRunningError(f"{folder} is in use by another command; wait for it, or {_ADVICE}") from None
        path.touch()
    with lock, path.open("r+b", buffering=0) as file:
        if fresh:
            file.truncate()
        n_done = int.from_bytes(file.read(_COUNT_BYTES), "little")
        if n_done:
            description = _continued(folder, description, _COUNT_BYTES + n_done * row_type.itemsize)
        else:
            with written_safely(folder / _DESCRIPTION, _ADVICE) as text:
                json.dump(description, text)
        progress(n_done)
        for labelled in label(
            source, solver, first=n_done, chunk=chunk, content=content, n_threads=n_threads, report=report
        ):
            part = _rows_of(labelled, row_type)
            with writing_errors(path, _ADVICE):
                write_all(file.fileno(), bytes_of(part), _COUNT_BYTES + n_done * row_type.itemsize)
                os.fsync(file.fileno())
                # After a power failure, the rows of the last count that was written are there.
                n_done += len(part)
                write_all(file.fileno(), memoryview(n_done.to_bytes(_COUNT_BYTES, "little")), 0)
            progress(n_done)
        # A file without rows cannot be mapped.
        rows = np.memmap(file, row_type, "r", _COUNT_BYTES, (n_done,)) if n_done else np.empty(0, row_type)
        with written_safely(out, is_text=False) as finished:
            WRITERS[out.suffix.lower()](finished, rows, json.dumps(description))
        n_unsolvable = sum(int((block["distance"] < 0).sum()) for block in in_blocks(rows))
        with suppress(OSError):  # the folder stays if it has other files
            for name in ("rows", _DESCRIPTION, f".{_DESCRIPTION}.*.partial", "lock"):
                for old in folder.glob(name):
                    old.unlink()
            folder.rmdir()
    return n_unsolvable


def _rows_of(labelled: LabelledBoards, row_type: np.dtype[Any]) -> Any:
    """Return labelled boards as rows of a dataset."""
    rows = np.empty(len(labelled.boards), row_type)
    columns = labelled.boards, labelled.distances, labelled.first_moves, labelled.after
    for name, array in zip(row_type.names or (), columns, strict=False):  # without moves, there are two
        rows[name] = array
    return rows


def _default_chunk(source: BoardSource) -> int:
    if source.size.n_cells > _SMALL_CELLS:
        return max(1, min(_LARGE_CHUNK, source.n_boards // 100))
    return _SMALL_CHUNK


def _row_type(content: Content, n_cells: int) -> np.dtype[Any]:
    """Return the type of the rows of a dataset, with a field for each column."""
    fields: list[Any] = [("board", np.uint8, n_cells), ("distance", np.int16)]
    if content == "moves":
        fields += [("first_moves", np.uint8), ("after", np.int16, N_MOVES)]
    return np.dtype(fields)


def _continued(folder: Path, description: dict[str, Any], n_bytes: int) -> dict[str, Any]:
    """Return the description in a folder with finished rows, which may have another command.

    Raises `OutputError` if there are fewer than `n_bytes` of rows, `CheckpointMismatchError` if the dataset is another.
    """
    try:
        found: dict[str, Any] = json.loads((folder / _DESCRIPTION).read_text("utf-8"))
        is_whole = (folder / "rows").stat().st_size >= n_bytes
    except (OSError, ValueError):
        is_whole = False
    if not is_whole:
        raise OutputError(f"{folder} is damaged; {_ADVICE}")
    check_settings(folder, found, description | {"command": found.get("command")}, _ADVICE)
    return found


def describe(
    source: BoardSource, databases: Sequence[Database], content: Content, command: str | None, row_type: np.dtype[Any]
) -> dict[str, Any]:
    """Return what is written into a dataset beside its columns, as JSON values."""
    return {
        "program": f"tile-pdb {version_text()}",
        "command": command,
        "size": str(source.size),
        "goal": format_board(source.goal, source.size),
        "content": content,
        "boards": source.describe(),
        "tables": [
            {
                "file": database.path.name,
                "partition": database.partition.name,
                "sha256": database.header.digest(),
            }
            for database in databases
        ],
        "columns": {name: MEANING[name] for name in row_type.names or ()},
    }
