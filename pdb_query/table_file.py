"""Opening of a table file: check its header, then map it, or copy it into memory."""

import errno
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, get_args

import numpy as np
import numpy.typing as npt

from pdb_core.errors import MemoryLimitError, TableFileDamagedError, TableFileError, TableFileMissingError
from pdb_core.messages import format_bytes
from pdb_core.schema import Header, read_header
from pdb_query.private_memory import private_memory

LoadMode = Literal["map", "copy", "huge"]
LOAD_MODES: tuple[LoadMode, ...] = get_args(LoadMode)
_ADVICE = "name a table file made with pdb build"


@dataclass(frozen=True, eq=False)
class TableFile:
    """Table file in memory: `memory` is uint8[file_bytes], read-only."""

    path: Path
    header: Header
    memory: npt.NDArray[np.uint8]

    @property
    def table_start(self) -> tuple[int, ...]:
        """Start of each pattern's table in `memory`, also if the table is that of another pattern."""
        return tuple(entry.offset for entry in self.header.patterns)


def read_table_header(path: Path) -> Header:
    """Return the header of a table file, without loading its tables. Raises the same as `load_table_file`."""
    with _opened(path) as file:
        return read_header(file, str(path))


def load_table_file(path: Path, load: LoadMode) -> TableFile:
    """Open a table file.

    `map` shares the pages with every process that maps the same file, and reads pages when they are used. `copy` reads
    all of it into memory of this process. `huge` reads it into huge pages if the system grants them; lookups in these
    miss the processor's cache of addresses (TLB) less often.

    Raises `TableFileMissingError`, `TableFileForeignError`, `TableFileVersionError`, `TableFileDamagedError`,
    `TableFileError` if the system cannot read it, `MemoryLimitError`, and `ValueError` for another `load`.
    """
    if load not in LOAD_MODES:
        raise ValueError(f"load must be one of {', '.join(LOAD_MODES)}, not {load!r}")
    # One open file for header and tables: it may be replaced under its name meanwhile.
    with _opened(path) as file:
        header = read_header(file, str(path))
        n_bytes = header.file_bytes
        try:
            if load == "map":
                memory = np.frombuffer(mmap.mmap(file.fileno(), n_bytes, access=mmap.ACCESS_READ), dtype=np.uint8)
            else:
                memory = private_memory(n_bytes, huge=load == "huge")
                _read_into(file.fileno(), memory, path)
                memory.flags.writeable = False
        except ValueError:  # of mmap
            raise _became_shorter(path) from None
        except MemoryError:
            raise _no_room(path, n_bytes, load) from None
        except OSError as error:
            if error.errno == errno.ENOMEM:
                raise _no_room(path, n_bytes, load) from error
            raise TableFileError(f"{path} cannot be read: {error.strerror}; copy it to another disk") from error
    return TableFile(path, header, memory)


def _became_shorter(path: Path) -> TableFileDamagedError:
    return TableFileDamagedError(f"{path} became shorter while it was read; build it again")


def _no_room(path: Path, n_bytes: int, load: LoadMode) -> MemoryLimitError:
    if load == "map":
        problem = "more than this process may address; raise its limit (ulimit -v)"
    else:
        problem = "more than the available memory; use the load mode map, which shares the file's pages"
    return MemoryLimitError(f"{path} cannot be opened: its {format_bytes(n_bytes)} are {problem}")


def _read_into(descriptor: int, memory: npt.NDArray[np.uint8], path: Path) -> None:
    view = memory.data
    done = 0
    while done < len(view):
        n_read = os.preadv(descriptor, [view[done : done + (1 << 30)]], done)
        if n_read == 0:
            raise _became_shorter(path)
        done += n_read


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a plain file. Raises `TableFileMissingError` and `TableFileError`."""
    try:
        # A pipe would wait for a writer otherwise.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        raise TableFileMissingError(f"there is no table file {path}; make one with pdb build") from None
    except OSError as error:
        raise TableFileError(f"{path} cannot be read: {error.strerror}; {_ADVICE}") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise TableFileError(f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'not a plain file'}; {_ADVICE}")
    with os.fdopen(descriptor, "rb") as file:
        try:
            yield file
        except OSError as error:
            if isinstance(error, TableFileError):
                raise
            raise TableFileError(f"{path} cannot be read: {error.strerror}; {_ADVICE}") from error
