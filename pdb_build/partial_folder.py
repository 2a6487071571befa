"""The folder `OUT.partial`: all files of a build until the table file has its name, and the lock of the builder.

table.h5        the unfinished table file
checkpoint      see `checkpoint`; `checkpoint.new` until it is complete
lock            held by the builder; names its process and host
report          the unfinished report
without a name  bits of a search that do not fit into the memory, see `bit_rows`
"""

import os
import socket
from contextlib import suppress
from pathlib import Path

from pdb_core import system
from pdb_core.durable_files import lock_file, writing_errors
from pdb_core.errors import BuildRunningError, OutputError
from pdb_core.messages import as_typed

_TABLE = "table.h5"


class PartialFolder:
    """Folder of the build of `out`, locked by this builder.

    Leaving the context removes the files of the build, and the folder if it is empty then. If an error ends the build
    and there is a checkpoint, all files stay.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = partial_path(out)
        self.table = self.path / _TABLE
        self.checkpoint = self.path / "checkpoint"
        self.report = self.path / "report"
        self._lock_path = self.path / "lock"
        self._lock: int | None = None

    def __enter__(self) -> "PartialFolder":
        """Make the folder and lock it. Raises `BuildRunningError`, `OutputError`, `DiskFullError`."""
        with writing_errors(self.out):
            try:
                while self._lock is None:
                    with writing_errors(self.path):
                        self.path.mkdir(exist_ok=True)
                    try:
                        self._lock = lock_file(self._lock_path)
                    except FileNotFoundError:
                        if self._lock_path.is_symlink():
                            raise  # otherwise the folder was removed meanwhile
                # Without room for the note, another builder reports "another process".
                with suppress(OSError):
                    os.ftruncate(self._lock, 0)
                    note = f" process {os.getpid()} on {socket.gethostname()}"
                    system.write_at(self._lock, memoryview(note.encode()), 0)
            except BlockingIOError:
                raise BuildRunningError(
                    f"{self.out} is being built by {self._owner()}; wait until it is done, or choose another place"
                ) from None
            except BaseException:
                with suppress(OSError):  # only an empty folder is removed
                    self.path.rmdir()
                raise
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        is_over = error is None or not self._may_have_checkpoint()
        if is_over:
            self.clear()
        if is_over and system.REMOVES_OPEN_FILES:
            # Before it is unlocked: afterwards, another builder may have locked it.
            self._remove()
        if self._lock is not None:
            with suppress(OSError):
                os.close(self._lock)
            self._lock = None
        if is_over and not system.REMOVES_OPEN_FILES:
            self._remove()

    def _remove(self) -> None:
        """Remove the lock, and the folder if it is empty. Errors are ignored: they must not hide that of the build."""
        with suppress(OSError):
            self._lock_path.unlink(missing_ok=True)
            self.path.rmdir()

    def clear(self) -> None:
        """Remove all files of builds, checkpoints too. Files that cannot be removed stay."""
        with suppress(OSError):
            for path in (self.checkpoint, self.checkpoint.with_suffix(".new"), self.table, self.report):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _may_have_checkpoint(self) -> bool:
        try:
            return self.checkpoint.exists()
        except OSError:  # a disk that fails cannot be read
            return True

    def _owner(self) -> str:
        try:
            with self._lock_path.open("rb", buffering=0) as file:
                file.seek(1)  # on Windows, byte 0 of a locked file cannot be read
                return as_typed(file.read().decode(errors="replace")) or "another process"
        except OSError:
            return "another process"


def check_replaceable(out: Path) -> None:
    """Raise `OutputError` if a build cannot give its table file or its report a name: a new file, or that of a file."""
    for path in (out, report_path(out)):
        with writing_errors(path):
            if path.exists() and not path.is_file():
                what = "a folder" if path.is_dir() else "no plain file"
                raise OutputError(f"cannot write {path}: it is {what}; choose another place")


def report_path(out: Path) -> Path:
    """Return the report of the build of a file."""
    return out.parent / f"{out.name}.build.json"


def partial_path(out: Path) -> Path:
    """Return the folder of the build of a file."""
    return out.absolute().with_name(f"{out.name}.partial")


def held_table_bytes(out: Path) -> int:
    """Return the disk space of an unfinished table file of `out`: a build that continues needs no other."""
    try:
        return system.disk_bytes((partial_path(out) / _TABLE).stat())
    except OSError:
        return 0
