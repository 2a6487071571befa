"""Formats of datasets: NPZ, CSV and Parquet, chosen by the ending of the file.

Each writer takes an open binary file, the rows, and the description as JSON on one line, in ASCII. It holds a block of
rows in memory at a time.
"""

import csv
import importlib.util
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import parse_size
from pdb_core.durable_files import check_output
from pdb_core.errors import InputError
from pdb_core.messages import as_typed, how_to_install
from pdb_core.puzzle import format_board
from pdb_study.labels.sources import DIRECTIONS, in_chunks

# Rows per row group of Parquet.
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


@dataclass(frozen=True)
class Rows:
    """Rows of a dataset, which may be too many for the memory.

    n       number of rows
    dtype   type of a row, with a field for each column
    blocks  returns the rows from the first on, in arrays of this type
    """

    n: int
    dtype: np.dtype[Any]
    blocks: Callable[[], Iterator[npt.NDArray[Any]]]


def write_npz(file: IO[bytes], rows: Rows, description: str) -> None:
    """Write an array for each column, and the description, with the bytes of `np.savez`."""
    npy = np.lib.format
    with zipfile.ZipFile(file, "w") as archive:
        for name in rows.dtype.names or ():
            column = rows.dtype[name]
            header = {"descr": column.base.str, "fortran_order": False, "shape": (rows.n, *column.shape)}
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array_header_1_0(member, header)
                for block in rows.blocks():
                    member.write(block[name].tobytes())
        with archive.open("description.npy", "w", force_zip64=True) as member:
            npy.write_array(member, np.array(description))


def write_csv(file: IO[bytes], rows: Rows, description: str) -> None:
    """Write text: the description behind a #, a header, a row per board."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    text.write(f"# {description}\n")
    writer = csv.writer(text, lineterminator="\n")
    first, *others = rows.dtype.names or ()
    after = [f"after_{name}" for name in DIRECTIONS] if "after" in others else []
    writer.writerow([first, *(name for name in others if name != "after"), *after])
    size = parse_size(json.loads(description)["size"])
    for block in rows.blocks():
        labels = np.column_stack([block[name] for name in others])
        for board, row in zip(block[first].tolist(), labels.tolist(), strict=True):
            writer.writerow([format_board(board, size), *row])
    text.detach()


def write_parquet(file: IO[bytes], rows: Rows, description: str) -> None:
    """Write columns of Parquet; boards and distances after moves are lists of a fixed length."""
    import pyarrow as pa
    from pyarrow import parquet

    def arrays(block: npt.NDArray[Any]) -> list[Any]:
        columns = [np.ascontiguousarray(block[name]) for name in names]
        return [
            pa.array(array) if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(array.reshape(-1), array.shape[1])
            for array in columns
        ]

    names, none = rows.dtype.names or (), np.empty(0, rows.dtype)
    schema = pa.schema(
        [pa.field(name, array.type, nullable=False) for name, array in zip(names, arrays(none), strict=True)],
        metadata={"description": description},
    )
    with parquet.ParquetWriter(file, schema) as writer:
        for block in in_chunks(rows.blocks(), _ROWS) if rows.n else [none]:
            writer.write_table(pa.Table.from_arrays(arrays(block), schema=schema))


WRITERS: dict[str, Callable[[IO[bytes], Rows, str], None]] = {
    ".npz": write_npz,
    ".csv": write_csv,
    ".parquet": write_parquet,
}
