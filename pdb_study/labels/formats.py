"""Formats of datasets: NPZ, CSV and Parquet, chosen by the ending of the file.

Each writer takes an open binary file and a `Dataset`, and reads the chunks as often as it needs to. The bytes do not
depend on the chunks.
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

from pdb_core.errors import InputError
from pdb_core.messages import as_typed
from pdb_core.puzzle import BoardSize, format_board
from pdb_study.labels.labelling import Content, LabelledBoards
from pdb_study.labels.sources import DIRECTIONS

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


@dataclass(frozen=True)
class Dataset:
    """Finished labels. `chunks()` yields them from the beginning; `description` is JSON."""

    size: BoardSize
    n_boards: int
    content: Content
    description: dict[str, Any]
    chunks: Callable[[], Iterator[LabelledBoards]]

    @property
    def shapes(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape of a row and dtype of each array of the file."""
        shapes = {"boards": ((self.size.n_cells,), "|u1"), "distances": ((), "<i2")}
        return shapes | ({"first_moves": ((), "|u1"), "after": ((4,), "<i2")} if self.content == "moves" else {})

    @property
    def text(self) -> str:
        """Description as JSON on one line, in ASCII."""
        return json.dumps(self.description)


def check_format(out: Path) -> None:
    """Raise `InputError` if no dataset can be written to `out`: before hours are spent on it."""
    suffix = out.suffix.lower()
    if suffix not in WRITERS:
        raise InputError(
            f"{as_typed(str(out))} has no known suffix; give --out a file that ends in {', '.join(WRITERS)}"
        )
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError("pyarrow is not installed; run pip install 'tile-pdb[parquet]', or write .npz")


def write_npz(file: IO[bytes], dataset: Dataset) -> None:
    """Write arrays as `numpy.savez` does, without holding them in memory."""
    with zipfile.ZipFile(file, "w") as archive:

        def member(name: str) -> IO[bytes]:
            # A fixed date: the same labels give the same bytes.
            return archive.open(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True)

        for name, (shape, dtype) in dataset.shapes.items():
            with member(COLUMNS[name]) as part:
                header = {"descr": dtype, "fortran_order": False, "shape": (dataset.n_boards, *shape)}
                np.lib.format.write_array_header_1_0(part, header)
                for chunk in dataset.chunks():
                    part.write(np.ascontiguousarray(chunk.arrays()[name], dtype=dtype).tobytes())
        with member("description") as part:
            np.lib.format.write_array(part, np.array(dataset.text), allow_pickle=False)


def write_csv(file: IO[bytes], dataset: Dataset) -> None:
    """Write text: the description behind a #, a header, a row per board."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    text.write(f"# {dataset.text}\n")
    writer = csv.writer(text, lineterminator="\n")
    has_moves = dataset.content == "moves"
    header = ["board", "distance"]
    writer.writerow([*header, "first_moves", *(f"after_{name}" for name in DIRECTIONS)] if has_moves else header)
    for chunk in dataset.chunks():
        columns = [array.tolist() for array in chunk.arrays().values()]
        for board, distance, *moves in zip(*columns, strict=True):
            first = [moves[0], *moves[1]] if has_moves else []
            writer.writerow([format_board(board, dataset.size), distance, *first])
    text.detach()


def write_parquet(file: IO[bytes], dataset: Dataset) -> None:
    """Write columns of Parquet; boards and distances after moves are lists of a fixed length."""
    import pyarrow as pa
    from pyarrow import parquet

    def kind(shape: tuple[int, ...], dtype: str) -> Any:
        item = pa.from_numpy_dtype(np.dtype(dtype))
        return pa.list_(item, shape[0]) if shape else item

    kinds = {name: kind(*of_row) for name, of_row in dataset.shapes.items()}
    schema = pa.schema(
        [pa.field(COLUMNS[name], of_column, nullable=False) for name, of_column in kinds.items()],
        metadata={"description": dataset.text},
    )

    def column(name: str, array: npt.NDArray[Any]) -> Any:
        if array.ndim == 1:
            return pa.array(array, kinds[name])
        return pa.FixedSizeListArray.from_arrays(pa.array(array.ravel(), kinds[name].value_type), array.shape[1])

    waiting = schema.empty_table()
    with parquet.ParquetWriter(file, schema) as writer:
        for chunk in dataset.chunks():
            columns = [column(name, array) for name, array in chunk.arrays().items()]
            waiting = pa.concat_tables([waiting, pa.Table.from_arrays(columns, schema=schema)])
            # Row groups must not depend on the chunks.
            while len(waiting) >= _ROWS:
                writer.write_table(waiting[:_ROWS].combine_chunks())
                waiting = waiting[_ROWS:]
        if len(waiting):
            writer.write_table(waiting.combine_chunks())


WRITERS: dict[str, Callable[[IO[bytes], Dataset], None]] = {
    ".npz": write_npz,
    ".csv": write_csv,
    ".parquet": write_parquet,
}
