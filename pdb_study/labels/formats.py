"""Formats of datasets: NPZ, CSV and Parquet, chosen by the ending of the file.

Each writer takes an open binary file, the columns by name, and the description as JSON on one line, in ASCII.
"""

import csv
import importlib.util
import io
import json
from collections.abc import Callable
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

Columns = dict[str, npt.NDArray[Any]]
# Rows per row group of Parquet, and written at a time.
_ROWS = 65_536
# Names of the columns in files, by the names of the arrays.
COLUMNS = {"boards": "board", "distances": "distance", "first_moves": "first_moves", "after": "after"}
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


def write_npz(file: IO[bytes], columns: Columns, description: str) -> None:
    """Write an array for each column, and the description."""
    np.savez(file, **columns, description=np.array(description))  # type: ignore[arg-type]


def write_csv(file: IO[bytes], columns: Columns, description: str) -> None:
    """Write text: the description behind a #, a header, a row per board."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    text.write(f"# {description}\n")
    writer = csv.writer(text, lineterminator="\n")
    boards, *others = columns.values()
    labels = np.column_stack(others)
    header = ("board", "distance", "first_moves", *(f"after_{name}" for name in DIRECTIONS))
    writer.writerow(header[: 1 + labels.shape[1]])
    size = parse_size(json.loads(description)["size"])
    for start in range(0, len(boards), _ROWS):
        rows = slice(start, start + _ROWS)
        for board, row in zip(boards[rows].tolist(), labels[rows].tolist(), strict=True):
            writer.writerow([format_board(board, size), *row])
    text.detach()


def write_parquet(file: IO[bytes], columns: Columns, description: str) -> None:
    """Write columns of Parquet; boards and distances after moves are lists of a fixed length."""
    import pyarrow as pa
    from pyarrow import parquet

    arrays = [
        pa.array(array) if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(array.reshape(-1), array.shape[1])
        for array in columns.values()
    ]
    schema = pa.schema(
        [pa.field(name, array.type, nullable=False) for name, array in zip(columns, arrays, strict=True)],
        metadata={"description": description},
    )
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), file, row_group_size=_ROWS)


WRITERS: dict[str, Callable[[IO[bytes], Columns, str], None]] = {
    ".npz": write_npz,
    ".csv": write_csv,
    ".parquet": write_parquet,
}
