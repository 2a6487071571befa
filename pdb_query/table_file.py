"""Opening a table file: check it, then map it, or copy it into memory."""

import errno
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pdb_core.errors import (
    MemoryLimitError,
    TableFileDamagedError,
    TableFileError,
    TableFileForeignError,
    TableFileMissingError,
)
from pdb_core.messages import format_bytes
from pdb_core.schema import PAGE_BYTES, TABLE_DATASET, Header, pattern_group, read_header
from pdb_query.hdf5_file import MAX_STRUCTURE_BYTES, SIGNATURE, Group, StructureError, read_root
from pdb_query.private_memory import private_memory

LoadMode = Literal["map", "copy", "huge"]
LOAD_MODES: tuple[LoadMode, ...] = get_args(LoadMode)


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
    with _opened(path) as descriptor:
        return _read_header_and_offsets(descriptor, path)[0]


def load_table_file(path: Path, load: LoadMode) -> TableFile:
    """Open a table file.

    `map` shares the pages with every process that maps the same file and reads only those that are asked for. `copy`
    reads all of it into memory of this process, `huge` into memory of huge pages, where the system grants them: the
    processor then knows where the table lies with fewer look-ups of its own.

    Raises `TableFileMissingError`, `TableFileForeignError`, `TableFileVersionError`, `TableFileDamagedError`,
    `TableFileError` where the system cannot read it, `MemoryLimitError`, and `ValueError` for another `load`.
    """
    if load not in LOAD_MODES:
        raise ValueError(f"load must be one of {', '.join(LOAD_MODES)}, not {load!r}")
    # One descriptor from the first byte to the last: a file that is replaced meanwhile is read whole, or the other is.
    with _opened(path) as descriptor:
        header, offsets = _read_header_and_offsets(descriptor, path)
        n_bytes = os.fstat(descriptor).st_size
        ends = (offset + entry.n_bytes for offset, entry in zip(offsets, header.patterns, strict=True))
        if n_bytes < max(ends):  # kernels look at no bounds
            raise _became_shorter(path)
        try:
            if load == "map":
                memory = np.frombuffer(mmap.mmap(descriptor, n_bytes, access=mmap.ACCESS_READ), dtype=np.uint8)
            else:
                memory = private_memory(n_bytes, huge=load == "huge")
                _read_into(descriptor, memory, path)
                memory.flags.writeable = False
        except ValueError:  # of mmap
            raise _became_shorter(path) from None
        except MemoryError:
            raise _no_room(path, n_bytes, load) from None
        except OSError as error:
            if error.errno == errno.ENOMEM:
                raise _no_room(path, n_bytes, load) from error
            raise TableFileError(f"{path} cannot be read: {error.strerror}; copy it to another disk") from error
    return TableFile(path, header, memory, tuple(offsets))


def _became_shorter(path: Path) -> TableFileDamagedError:
    return TableFileDamagedError(f"{path} became shorter while it was read; build it again")


def _no_room(path: Path, n_bytes: int, load: LoadMode) -> MemoryLimitError:
    if load == "map":
        problem = "more than this process may address; raise its limit (ulimit -v)"
    else:
        problem = "more than the memory at hand; use the load mode map, which shares the file's pages"
    return MemoryLimitError(f"{path} cannot be opened: its {format_bytes(n_bytes)} are {problem}")


def _read_into(descriptor: int, memory: npt.NDArray[np.uint8], path: Path) -> None:
    view = memory.data
    done = 0
    while done < len(view):
        n_read = os.preadv(descriptor, [view[done : done + (1 << 30)]], done)
        if n_read == 0:
            raise _became_shorter(path)
        done += n_read


def _read_header_and_offsets(descriptor: int, path: Path) -> tuple[Header, list[int]]:
    root = _read_root(descriptor, path)
    header = read_header(root, str(path))
    offsets: list[int] = []
    for index, entry in enumerate(header.patterns):
        group: Any = root[pattern_group(index)]
        offsets.append(group[TABLE_DATASET].offset if entry.use is None else offsets[entry.use.index])
    # A copy takes as much memory as the file is long, and a file may say that it is long and have nothing in it.
    n_table_bytes = sum(entry.n_bytes for entry in header.tables.values())
    rest = os.fstat(descriptor).st_size - n_table_bytes
    if rest > MAX_STRUCTURE_BYTES + PAGE_BYTES * len(offsets):
        raise TableFileDamagedError(f"{path} is damaged, {rest} of its bytes belong to no table; build it again")
    return header, offsets


def _read_root(descriptor: int, path: Path) -> Group:
    try:
        root = read_root(descriptor)
    except (StructureError, OSError) as error:
        raise TableFileDamagedError(f"{path} is damaged or truncated ({error}); build it again") from error
    if root is None:
        raise TableFileForeignError(
            f"{path} is an HDF5 file, but not a table file of tile-pdb; make one with pdb build"
        )
    return root


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The descriptor of a plain file that begins as a table file does."""
    advice = "name a table file made with pdb build"
    try:
        # A pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        raise TableFileMissingError(f"there is no table file {path}; make one with pdb build") from None
    except OSError as error:
        raise TableFileError(f"{path} cannot be read: {error.strerror}; {advice}") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise TableFileError(f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'no plain file'}; {advice}")
        try:
            start = os.pread(descriptor, len(SIGNATURE), 0)
        except OSError as error:
            raise TableFileError(f"{path} cannot be read: {error.strerror}; {advice}") from error
        if start != SIGNATURE:
            raise TableFileForeignError(f"{path} is not a table file of tile-pdb; make one with pdb build")
        yield descriptor
    finally:
        os.close(descriptor)
