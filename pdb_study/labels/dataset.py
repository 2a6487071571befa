"""Datasets in files: the description, the chunks in `OUT.partial`, and the finished file."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pdb_core import __version__
from pdb_core.durable_files import written_safely
from pdb_core.errors import InputError
from pdb_core.messages import shorten
from pdb_core.puzzle import format_board, is_solvable
from pdb_query import Database
from pdb_study.labels.formats import COLUMNS, MEANING, PICKLES, WRITERS, Dataset, check_format
from pdb_study.labels.labelling import Content, LabelledBoards, label
from pdb_study.labels.partial_labels import PartialLabels
from pdb_study.labels.sources import BoardSource, GivenBoards
from solver.solve import Solver

# Most characters of the command in a description, which must fit into a line of a CSV file of boards.
_MAX_COMMAND = 1000
# Yields the labels of the boards from an index on.
Search = Callable[[int, Content], Generator[LabelledBoards, None, None]]


def write_labels(
    out: str | Path,
    source: BoardSource,
    databases: Sequence[Database],
    *,
    content: Content = "moves",
    chunk: int = 1000,
    n_threads: int = 1,
    search: Search | None = None,
    command: str | None = None,
    fresh: bool = False,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write boards and their labels to the file `out`. Return the number of unsolvable boards.

    The suffix of `out` gives the format: .npz, .h5, .hdf5, .csv, .parquet, or .pkl and .pickle for DeepCubeA. Finished
    chunks are in `OUT.partial` until all are finished. If the call ends early, the same call continues after the last
    whole chunk; the file is then the same to the byte.

    content    as in `label`; a file of DeepCubeA has solutions, also with "moves"
    chunk      number of boards in a chunk
    n_threads  as in `label`
    search     replaces the search by `Solver(*databases)`; it is called with the number of finished boards and the
               content, and yields the labels of the boards that are left
    command    text that is written into the file
    fresh      start over instead of continuing from `OUT.partial`
    progress   is called with the number of finished boards, at first and after each chunk

    Raises `InputError` if the file cannot have this content, `CheckpointMismatchError` if `OUT.partial` is of another
    dataset, `BuildRunningError` if another process writes it, `OutputError`, `DiskFullError`, and what `label` raises.
    """
    out = Path(out)
    check_format(out, content, source.size, source.goal)
    if out.suffix.lower() in PICKLES:
        content = "solutions"
        _check_solvable(source)
    search = search or _search_here(source, databases, chunk=chunk, n_threads=n_threads)
    with PartialLabels(out, describe(source, databases, content, command), fresh=fresh) as partial:
        if progress is not None:
            progress(partial.n_boards)
        if partial.n_boards < source.n_boards:
            with closing(search(partial.n_boards, content)) as found:
                for labelled in found:
                    partial.append(labelled)
                    if progress is not None:
                        progress(partial.n_boards)
        dataset = Dataset(source.size, partial.n_boards, content, partial.description, partial.chunks)
        with written_safely(out, is_text=False) as file:
            WRITERS[out.suffix.lower()](file, dataset)
        n_unsolvable = sum(int((labelled.distances < 0).sum()) for labelled in partial.chunks())
        partial.remove()
    return n_unsolvable


def _search_here(source: BoardSource, databases: Sequence[Database], *, chunk: int, n_threads: int) -> Search:
    solver = Solver(*databases)
    return lambda first, content: label(source, solver, first=first, chunk=chunk, content=content, n_threads=n_threads)


def describe(
    source: BoardSource, databases: Sequence[Database], content: Content, command: str | None
) -> dict[str, Any]:
    """Return what is written into a dataset beside its columns, as JSON values."""
    columns = [COLUMNS[name] for name in COLUMNS if content == "moves" or name in ("boards", "distances")]
    return {
        "program": f"tile-pdb {__version__}",
        "command": None if command is None else shorten(command, _MAX_COMMAND),
        "size": str(source.size),
        "goal": format_board(source.goal, source.size),
        "content": content,
        "boards": source.describe(),
        "tables": [
            {
                "file": database.path.name,
                "partition": database.header.spec.partition.name,
                "sha256": database.header.digest(),
            }
            for database in databases
        ],
        "columns": {name: MEANING[name] for name in columns},
    }


def _check_solvable(source: BoardSource) -> None:
    """Raise `InputError` for a board that cannot be solved: a file of DeepCubeA cannot represent it."""
    if not isinstance(source, GivenBoards):
        return
    for number, board in enumerate(source.boards.tolist(), start=1):
        if not is_solvable(board, source.goal, source.size):
            raise InputError(
                f"board {number} cannot be solved, and files of DeepCubeA hold solutions only; leave it out, or write "
                ".npz or .h5"
            )
