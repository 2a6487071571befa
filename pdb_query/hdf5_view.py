"""Comparison of what HDF5 tools read in a table file with its header."""

import io
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from pdb_core.errors import TableFileDamagedError
from pdb_core.messages import as_typed
from pdb_core.schema import HISTOGRAM_DATASET, TABLE_DATASET, Header, hdf5_attributes, pattern_group


class _Content(io.RawIOBase):
    """Bytes of a table file, as a file for h5py."""

    def __init__(self, memory: npt.NDArray[np.uint8]) -> None:
        self._memory, self._at = memory, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, len(self._memory))[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        piece = self._memory[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece.data
        self._at += len(piece)
        return len(piece)


def check_hdf5_view(memory: npt.NDArray[np.uint8], header: Header, source: str) -> None:
    """Compare the HDF5 objects of a table file, uint8[file_bytes], with its header. `source` names the file.

    The HDF5 library crashes or loops on some damaged files. So compare the HDF5 structures with their digest before.
    Raises `TableFileDamagedError`.
    """
    try:
        with h5py.File(_Content(memory), "r") as file:
            found = _hdf5_view(file)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise TableFileDamagedError(
            f"{source} is damaged: HDF5 cannot read it ({as_typed(str(error), 200)}); build it again"
        ) from error
    if found != _expected_view(header):
        raise TableFileDamagedError(f"{source} is damaged: its HDF5 objects differ from its header; build it again")


def _hdf5_view(file: h5py.File) -> dict[str, Any]:
    """Return the attributes of each group, and of each pattern's datasets the place and the counts."""
    found: dict[str, Any] = {"/": _values(dict(file.attrs))}
    for name, group in file.items():
        found[name] = _values(dict(group.attrs))
        if set(group) == {TABLE_DATASET, HISTOGRAM_DATASET}:
            table = group[TABLE_DATASET]
            found[f"{name} table"] = table.id.get_offset(), table.shape, str(table.dtype)
            found[f"{name} histogram"] = tuple(group[HISTOGRAM_DATASET][:].tolist())
        elif len(group):
            found[name] = list(group)
    return found


def _expected_view(header: Header) -> dict[str, Any]:
    expected: dict[str, Any] = {name: _values(attributes) for name, attributes in hdf5_attributes(header).items()}
    for index, entry in header.tables.items():
        expected[f"{pattern_group(index)} table"] = entry.offset, (entry.n_bytes,), "uint8"
        expected[f"{pattern_group(index)} histogram"] = entry.histogram
    return expected


def _values(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in attributes.items()}
