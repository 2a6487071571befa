"""Memory of this process, in huge pages if the system grants them. Used by loads of tables and by searches."""

import mmap
from contextlib import suppress

import numpy as np

from pdb_core.resources import available_memory
from pdb_core.types import Bytes

_HUGE_PAGE_BYTES = 1 << 21


def private_memory(n_bytes: int, *, huge: bool) -> Bytes:
    """Return uint8[n_bytes], all zeros. With `huge` it begins at a huge page, and has huge pages if the system grants
    them. (NumPy requests huge pages for all large arrays, and only for these.)

    Raises `MemoryError` or `OSError` if there is not enough.
    """
    if n_bytes > available_memory():
        raise MemoryError  # the system may grant it, and kill the process when it is filled
    room = _HUGE_PAGE_BYTES if huge else 0
    memory = mmap.mmap(-1, n_bytes + room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError, AttributeError):  # a system without huge pages, or without calls that request them
        memory.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    array = np.frombuffer(memory, dtype=np.uint8)
    start = -array.ctypes.data % _HUGE_PAGE_BYTES if huge else 0
    return array[start : start + n_bytes]
