"""Opening a table file: check it, then map it, or copy it into memory."""

import errno
import mmap
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import h5py
import numpy as np
import numpy.typing as npt

from pdb_core.errors import (
    TableFileDamagedError,
    TableFileError,
    TableFileForeignError,
    TableFileMissingError,
)
from pdb_core.schema import TABLE_DATASET, Header, pattern_group, read_header

LoadMode = Literal["map", "copy", "huge"]
LOAD_MODES: tuple[LoadMode, ...] = get_args(LoadMode)

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table file in memory. `memory` is uint8, read-only; the table of pattern i starts at `table_start[i]` in it,
    also where it is that of another pattern.
    """

    path: Path
    header: Header
    memory: npt.NDArray[np.uint8]
    table_start: tuple[int, ...]


def read_table_header(path: Path) -> Header:
    """What a table file says of itself, without loading it. Raises the same as `load_table_file`."""
    return _read_header_and_offsets(path)[0]


def load_table_file(path: Path, load: LoadMode) -> TableFile:
    """Open a table file.

    `map` shares the pages with every process that maps the same file and reads only those that are asked for. `copy`
    reads all of it into memory of this process, `huge` into memory of huge pages, where the system grants them: the
    processor then knows where the table lies with fewer look-ups of its own.

    Raises `TableFileMissingError`, `TableFileForeignError`, `TableFileVersionError`, `TableFileDamagedError`, and
    `ValueError` for another `load`.
    """
    if load not in LOAD_MODES:
        raise ValueError(f"load must be one of {', '.join(LOAD_MODES)}, not {load!r}")
    header, offsets = _read_header_and_offsets(path)
    with path.open("rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        for offset, entry in zip(offsets, header.patterns, strict=True):
            if offset + entry.n_bytes > n_bytes:
                raise TableFileDamagedError(
                    f"{path} is truncated: {n_bytes} bytes where there should be more; build it again"
                )
        if load == "map":
            memory = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
        else:
            memory = _private_memory(n_bytes, huge=load == "huge")
            _read_into(file.fileno(), memory, path)
            memory.flags.writeable = False
    return TableFile(path, header, memory, tuple(offsets))


def _private_memory(n_bytes: int, *, huge: bool) -> npt.NDArray[np.uint8]:
    """Memory of this process, of pages as asked for; numpy itself would always ask for huge ones."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # not Linux: pages are as they are
        return np.empty(n_bytes, dtype=np.uint8)
    memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=np.uint8)


def _read_into(descriptor: int, memory: npt.NDArray[np.uint8], path: Path) -> None:
    view = memory.data
    done = 0
    while done < len(view):
        n_read = os.preadv(descriptor, [view[done : done + (1 << 30)]], done)
        if n_read == 0:
            raise TableFileDamagedError(f"{path} became shorter while it was read; build it again")
        done += n_read


def _read_header_and_offsets(path: Path) -> tuple[Header, list[int]]:
    _check_signature(path)
    try:
        # No locking: finished files are never changed, and locks fail on some network file systems.
        file = h5py.File(path, "r", locking=False)
    except OSError as error:
        raise TableFileDamagedError(
            f"{path} is damaged or truncated, HDF5 cannot open it ({error}); build it again"
        ) from error
    with file:
        header = read_header(file, str(path))
        offsets: list[int] = []
        for index, entry in enumerate(header.patterns):
            if entry.use is not None:
                offsets.append(offsets[entry.use.index])
                continue
            offset = file[pattern_group(index)][TABLE_DATASET].id.get_offset()
            if offset is None:
                raise TableFileDamagedError(
                    f"{path} was rewritten by another program: the table of pattern {entry.pattern} is not "
                    "contiguous; build it again"
                )
            offsets.append(int(offset))
    return header, offsets


def _check_signature(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(_HDF5_SIGNATURE))
    except FileNotFoundError:
        raise TableFileMissingError(f"there is no table file {path}; make one with pdb build") from None
    except OSError as error:
        what = "is a folder" if error.errno == errno.EISDIR else f"cannot be read: {error.strerror}"
        raise TableFileError(f"{path} {what}; name a table file made with pdb build") from error
    if start != _HDF5_SIGNATURE:
        raise TableFileForeignError(f"{path} is not a table file of tile-pdb; make one with pdb build")
