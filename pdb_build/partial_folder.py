"""The folder `OUT.partial`: all files of a build until the table file has its name, and the lock of the builder.

table.h5        the unfinished table file
checkpoint      record of the finished tables in it, see `writer`
new             a text file that is being written
lock            locked by the builder
without a name  bits of a search that do not fit into the memory, see `bit_rows`
"""

from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pdb_core.durable_files import put_in_place, writing_errors
from pdb_core.errors import BuildRunningError, OutputError

_TABLE = "table.h5"


class PartialFolder:
    """Folder of the build of `out`, locked by this builder.

    Leaving the context removes the files of the build, and the folder if it is empty then. If an error ends the build
    and `keeps_tables` is set, all files stay.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = partial_path(out)
        self.table = self.path / _TABLE
        self.checkpoint = self.path / "checkpoint"
        self.keeps_tables = False
        self._new = self.path / "new"
        self._lock = FileLock(self.path / "lock", blocking=False)

    def __enter__(self) -> "PartialFolder":
        """Make the folder and lock it. Raises `BuildRunningError`, `OutputError`, `DiskFullError`."""
        with writing_errors(self.path):
            try:
                self.path.mkdir(exist_ok=True)
                self._lock.acquire()
                self.keeps_tables = self.checkpoint.exists()
            except Timeout:
                raise BuildRunningError(
                    f"{self.out} is being built by another process; wait until it is done, or choose another place"
                ) from None
            except BaseException:
                self._remove()
                raise
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None or not self.keeps_tables:
            self.clear()
            # Before it is unlocked: afterwards, another builder may have locked it.
            self._remove()
        self._lock.release()

    def _remove(self) -> None:
        """Remove the lock, and the folder if it is empty. Errors are ignored: they must not hide that of the build."""
        with suppress(OSError):
            Path(self._lock.lock_file).unlink(missing_ok=True)
            self.path.rmdir()

    def clear(self) -> None:
        """Remove all files of builds, the checkpoint first. Files that cannot be removed stay."""
        self.keeps_tables = False
        for path in (self.checkpoint, self.table, self._new):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def write(self, content: bytes, path: Path) -> None:
        """Write a file, whole or not at all, in place of another one. Raises `OSError`."""
        self._new.write_bytes(content)
        put_in_place(self._new, path)


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
        return (partial_path(out) / _TABLE).stat().st_blocks * 512
    except OSError:
        return 0
