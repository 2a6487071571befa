"""The size of objects that are sent between processes, for Dask's limits, spilling and dashboard."""

import sys
from typing import Any

import numpy as np


class ReportsSize:
    """Base class of objects that are sent between workers: `sys.getsizeof` includes what their fields hold.

    Without it, Dask takes 56 bytes for the size of any such object.
    """

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(_held_bytes(value) for value in vars(self).values())


def _held_bytes(value: Any) -> int:
    """Return the bytes of an object and of those that it contains. An array counts in full, a view too."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple | list):
        return sys.getsizeof(value) + sum(map(_held_bytes, value))
    return sys.getsizeof(value)
