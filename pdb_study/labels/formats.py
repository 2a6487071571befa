"""Formats of datasets: NPZ, CSV and Parquet, chosen by the ending of the file.

Each writer takes an open binary file, the rows, and the description as JSON on one line, in ASCII. The rows are an
array with a field for each column; they may be mapped from a file, because a writer copies only some of them at a time.
"""

import csv
import importlib.util
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import parse_size
from pdb_core.durable_files import check_output
from pdb_core.errors import InputError
from pdb_core.messages import as_typed, how_to_install
from pdb_core.puzzle import format_board
from pdb_study.labels.sources import DIRECTIONS

Rows = npt.NDArray[Any]
# Rows that are converted at a time: a row group of Parquet.
_ROWS = 65_536
MEANING = {
    "board": "tiles row by row, 0 for the blank",
    "distance": "optimal length of a solution; -1: the board cannot be solved",
    "first_moves": "mask: 1, 2, 4 or 8 is set if moving the blank up, left, right or down begins an optimal solution",
    "after": "distance after the blank moved up, left, right, down; -1: no cell there, or the board cannot be solved",
}


def check_format(out: Path) -> None:
    """Raise `InputError`, `OutputError` if no dataset can be written to `out`: before hours are spent on it."""
    suffix = out.suffix.lower()
    if suffix not in WRITERS:
        raise InputError(
            f"{as_typed(str(out))}: unknown suffix {as_typed(suffix) or '(none)'}; choose one of {', '.join(WRITERS)}"
        )
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"pyarrow is not installed; write .npz, or {how_to_install('parquet')}")
    check_output(out)


def in_blocks(rows: Rows) -> Iterator[Rows]:
    """Yield the rows again, some at a time: one empty block if there are none."""
    for start in range(0, max(1, len(rows)), _ROWS):
        yield rows[start : start + _ROWS]


def write_npz(file: IO[bytes], rows: Rows, description: str) -> None:
    """Write an array for each column, and the description."""
    columns: dict[str, Any] = {name: rows[name] for name in rows.dtype.names or ()}
    np.savez(file, **columns, description=description)


def write_csv(file: IO[bytes], rows: Rows, description: str) -> None:
    """Write text: the description behind a #, a header, a row per board."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    text.write(f"# {description}\n")
    writer = csv.writer(text, lineterminator="\n")
    first, *others = rows.dtype.names or ()
    after = [f"after_{name}" for name in DIRECTIONS] if "after" in others else []
    writer.writerow([first, *(name for name in others if name != "after"), *after])
    size = parse_size(json.loads(description)["size"])
    for block in in_blocks(rows):
        labels = np.column_stack([block[name] for name in others])
        for board, row in zip(block[first].tolist(), labels.tolist(), strict=True):
            writer.writerow([format_board(board, size), *row])
    text.detach()


def write_parquet(file: IO[bytes], rows: Rows, description: str) -> None:
    """Write columns of Parquet; boards and distances after moves are lists of a fixed length."""
    import pyarrow as pa
    from pyarrow import parquet

    def table(block: Rows) -> Any:
        columns = {name: np.ascontiguousarray(block[name]) for name in block.dtype.names or ()}
        return pa.table(
            {
                name: pa.array(of) if of.ndim == 1 else pa.FixedSizeListArray.from_arrays(of.reshape(-1), of.shape[1])
                for name, of in columns.items()
            }
        )

    schema = table(rows[:0]).schema.with_metadata({"description": description})
    with parquet.ParquetWriter(file, schema) as writer:
        for block in in_blocks(rows):
            writer.write_table(table(block))


WRITERS: dict[str, Callable[[IO[bytes], Rows, str], None]] = {
    ".npz": write_npz,
    ".csv": write_csv,
    ".parquet": write_parquet,
}
