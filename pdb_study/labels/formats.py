"""Formats of datasets: NPZ, HDF5, CSV, Parquet, and the pickle of DeepCubeA; chosen by the ending of the file.

Each writer takes an open binary file and a `Dataset`, and reads the chunks as often as it needs to. The bytes do not
depend on the chunks.
"""

import csv
import importlib.util
import io
import json
import pickle
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from pdb_core.errors import InputError
from pdb_core.messages import as_typed
from pdb_core.puzzle import BoardSize, Tiles, blank_last, format_board, square_size
from pdb_study.labels.labelling import Content, LabelledBoards
from pdb_study.labels.sources import DIRECTIONS
from solver.board_arrays import neighbours_by_move

# Rows per row group of Parquet, and written at a time.
_ROWS = 65_536
# Protocol 3 has no frames, so the name of a class can be replaced; Python 3.0 and later read it.
_PROTOCOL = 3
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


def check_format(out: Path, content: Content, size: BoardSize, goal: Tiles) -> None:
    """Raise `InputError` if no dataset of that content can be written to `out`: before hours are spent on it."""
    suffix = out.suffix.lower()
    if suffix not in WRITERS:
        raise InputError(
            f"{as_typed(str(out))} has no known suffix; give --out a file that ends in {', '.join(WRITERS)}"
        )
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError("pyarrow is not installed; run pip install 'tile-pdb[parquet]', or write .npz or .h5")
    if suffix in PICKLES and content == "distances":
        raise InputError("a file of DeepCubeA holds solutions; leave out --distances-only, or write .npz or .h5")
    if suffix in PICKLES and (square_size(size.n_cells) != size or goal != blank_last(size)):
        raise InputError("boards of DeepCubeA are square and their goal is blank-last; write .npz or .h5 for others")


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


def write_hdf5(file: IO[bytes], dataset: Dataset) -> None:
    """Write datasets of HDF5, with the description as an attribute of the file."""
    import h5py

    with h5py.File(file.name, "w") as archive:
        archive.attrs["description"] = dataset.text
        for name, (shape, dtype) in dataset.shapes.items():
            column = COLUMNS[name]
            target = archive.create_dataset(column, (dataset.n_boards, *shape), dtype)
            target.attrs["meaning"] = MEANING[column]
            start = 0
            for chunk in dataset.chunks():
                target[start : start + len(chunk.boards)] = chunk.arrays()[name]
                start += len(chunk.boards)


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

    with parquet.ParquetWriter(file, schema) as writer:
        for arrays in _row_groups(dataset):
            columns = [column(name, array) for name, array in arrays.items()]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=_ROWS)


def _row_groups(dataset: Dataset) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the arrays of `_ROWS` boards at a time: row groups must not depend on the chunks."""
    waiting: list[dict[str, npt.NDArray[Any]]] = []
    n_waiting = 0

    def joined() -> dict[str, npt.NDArray[Any]]:
        return {name: np.concatenate([arrays[name] for arrays in waiting]) for name in dataset.shapes}

    for chunk in dataset.chunks():
        waiting.append(chunk.arrays())
        n_waiting += len(chunk.boards)
        while n_waiting >= _ROWS:
            arrays = joined()
            yield {name: array[:_ROWS] for name, array in arrays.items()}
            waiting = [{name: array[_ROWS:] for name, array in arrays.items()}]
            n_waiting -= _ROWS
    if n_waiting:
        yield joined()


class _State:
    """Stand-in of DeepCubeA's class of boards, pickled under its name."""

    __slots__ = ("hash", "tiles")

    def __init__(self, tiles: npt.NDArray[np.uint8]) -> None:
        self.tiles, self.hash = tiles, None


def write_pickle(file: IO[bytes], dataset: Dataset) -> None:
    """Write `states` and `solutions` as in the test files of DeepCubeA. All boards are held in memory."""
    # A tile moves against the blank: direction k of the blank is one of these moves of DeepCubeA.
    letters = "DRLU"
    directions = {
        (cell, other): letters[direction]
        for cell, near in enumerate(neighbours_by_move(dataset.size).tolist())
        for direction, other in enumerate(near)
    }
    states, solutions = [], []
    for chunk in dataset.chunks():
        assert chunk.tiles is not None
        for board, distance, tiles in zip(chunk.boards, chunk.distances.tolist(), chunk.tiles.tolist(), strict=True):
            states.append(_State(board.copy()))
            cells = np.argsort(board).tolist()
            moves = []
            for tile in tiles[:distance]:
                moves.append(directions[cells[0], cells[tile]])
                cells[0], cells[tile] = cells[tile], cells[0]
            solutions.append(moves)
    content = pickle.dumps({"states": states, "solutions": solutions}, protocol=_PROTOCOL)
    own = f"c{_State.__module__}\n{_State.__qualname__}\n".encode()
    content = content.replace(own, b"cenvironments.n_puzzle\nNPuzzleState\n", 1)
    # NumPy 1 lacks the name of NumPy 2, which knows both.
    file.write(content.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n", 1))


PICKLES = (".pkl", ".pickle")
WRITERS: dict[str, Callable[[IO[bytes], Dataset], None]] = {
    ".npz": write_npz,
    ".h5": write_hdf5,
    ".hdf5": write_hdf5,
    ".csv": write_csv,
    ".parquet": write_parquet,
    **dict.fromkeys(PICKLES, write_pickle),
}
