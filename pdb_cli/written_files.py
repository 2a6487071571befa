"""Files that commands write beside stdout."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pdb_core.errors import PdbError, writing_error
from pdb_core.messages import shorten


@contextmanager
def written_safely(path: Path, *, option: str = "--out", is_text: bool = True) -> Iterator[IO[Any]]:
    """A file in UTF-8, or of bytes, that gets its name when it is whole; nothing is left where that fails.

    What has the name and is no plain file, such as a device, a pipe or a link, is not replaced but written to. `option`
    is what named the file. Raises `OutputError` where it cannot be written, `DiskFullError`.
    """
    encoding = "utf-8" if is_text else None
    kind = "" if is_text else "b"
    temporary = path.parent / f".{path.name}.{os.getpid()}.partial"
    try:
        if not _is_new_or_plain(path):
            with path.open(f"w{kind}", encoding=encoding) as file:
                yield file
            return
        with temporary.open(f"x{kind}", encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except PdbError:  # such as of stdout
        raise
    except OSError as error:
        raise writing_error(error, shorten(str(path)), f"choose another place with {option}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _is_new_or_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return True
