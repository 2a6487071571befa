"""Comparison of what HDF5 tools read in a table file with its header."""

from typing import Any

import h5py
import numpy as np

from pdb_core.errors import TableFileDamagedError
from pdb_core.messages import as_typed
from pdb_core.schema import HISTOGRAM_DATASET, TABLE_DATASET, Header, hdf5_attributes, pattern_group
from pdb_query.database import Database


def check_hdf5_view(database: Database) -> None:
    """Compare the HDF5 objects of a table file with its header.

    The HDF5 library crashes or loops on some damaged files. So the file must have passed `Database.verify`, which
    compares the HDF5 structures with their digest. Raises `TableFileDamagedError`, and `OSError` if the file cannot be
    opened.
    """
    with database.path.open("rb") as opened:
        try:
            with h5py.File(opened, "r") as file:
                found = _hdf5_view(file)
        except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise TableFileDamagedError(
                f"{database.path} is damaged: HDF5 cannot read it ({as_typed(str(error), 200)}); build it again"
            ) from error
    if found != _expected_view(database.header):
        raise TableFileDamagedError(
            f"{database.path} is damaged: its HDF5 objects differ from its header; build it again"
        )


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
