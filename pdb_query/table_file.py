"""Opening of a table file: check its header, then map it, or copy it into memory."""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from pdb_core.arguments import as_choice
from pdb_core.errors import MemoryLimitError, TableFileDamagedError, TableFileError, TableFileMissingError
from pdb_core.messages import format_bytes
from pdb_core.schema import Header, read_header
from pdb_core.types import Bytes
from pdb_query.private_memory import private_memory

# Values of `load`, see `open_database`.
LoadMode = Literal["map", "copy", "huge"]
LOAD_MODES: tuple[LoadMode, ...] = get_args(LoadMode)
_ADVICE = "name a table file made with pdb build"


def read_table_header(path: Path) -> Header:
    """Read the header of a table file, without loading its tables.

    Raises
    ------
    TableFileError
        The file cannot be read. `TableFileMissingError`, `TableFileForeignError`, `TableFileVersionError` and
        `TableFileDamagedError` tell why.
    """
    with _opened(path) as file:
        return read_header(file, str(path))


def load_table_file(path: Path, load: LoadMode) -> tuple[Header, Bytes]:
    """Return the header of a table file and all its bytes, read-only uint8[file_bytes].

    Lookups in `huge` pages miss the processor's cache of addresses (TLB) less often. Raises as `open_database`.
    """
    as_choice(load, "load", LOAD_MODES)
    # One open file for header and tables: it may be replaced under its name meanwhile.
    with _opened(path) as file:
        header = read_header(file, str(path))
        n_bytes = header.file_bytes
        try:
            if load == "map":
                memory = np.frombuffer(mmap.mmap(file.fileno(), n_bytes, access=mmap.ACCESS_READ), dtype=np.uint8)
            else:
                memory = private_memory(n_bytes, huge=load == "huge")
                file.seek(0)
                if file.readinto(memory.data) < n_bytes:
                    raise ValueError
                memory.flags.writeable = False
        except ValueError:  # also of mmap
            raise TableFileDamagedError(f"{path} became shorter while it was read; build it again") from None
        except MemoryError:
            raise MemoryLimitError(
                f"{path} cannot be opened: its {format_bytes(n_bytes)} are more than the available memory; use the "
                "load mode map, which shares the file's pages"
            ) from None
    return header, memory


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Open a file. Raises `TableFileMissingError`, and `TableFileError` for errors of the system meanwhile."""
    try:
        if path.exists() and not path.is_file():  # a pipe or a terminal would wait for input
            raise TableFileError(f"{path} is a folder or a device; {_ADVICE}")
        with path.open("rb") as file:
            yield file
    except TableFileError:  # one of them is an OSError
        raise
    except FileNotFoundError:
        raise TableFileMissingError(f"there is no table file {path}; make one with pdb build") from None
    except OSError as error:
        raise TableFileError(f"{path} cannot be read: {error.strerror}; {_ADVICE}") from error
