"""Addresses of arrays and the table for `compress`, for the glue around vector kernels."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.types import Bytes
from solver.vectors.vector_kernels import LANES


def address_of(array: npt.NDArray[Any]) -> int:
    """Return the address of an array's memory. The caller keeps the array alive. Raises `ValueError` for an array that
    is not contiguous.
    """
    if not array.flags.c_contiguous:
        raise ValueError("only contiguous arrays have one address")
    return int(array.ctypes.data)


def compress_permutations() -> Bytes:
    """Return what `compress` needs: for each mask the lanes in it, uint8[2^LANES, LANES]; next to nothing for 16 lanes,
    which have an instruction.
    """
    if LANES == 16:
        return np.zeros((1, 1), dtype=np.uint8)
    rows = np.zeros((1 << LANES, LANES), dtype=np.uint8)
    for mask, row in enumerate(rows):
        lanes = [lane for lane in range(LANES) if mask >> lane & 1]
        row[: len(lanes)] = lanes
    return rows
