"""The folder `OUT.partial`: what belongs to a build until the file has its name, and whose build it is.

table.h5          the table file in the making
checkpoint-N...   checkpoints, see `checkpoint_files`
lock              held by the builder; says who that is
token             where the build is on a cluster: a random text, by which workers recognise the folder
without a name    bits of a search that do not fit into the memory, see `bit_rows`

The lock is one of the system's (flock): it ends with the process that holds it, however that ends.
"""

import errno
import fcntl
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from pdb_build.durable import writing_errors
from pdb_core.errors import BuildRunningError, OutputError

_TABLE, _LOCK, _TOKEN = "table.h5", "lock", "token"
CHECKPOINT_PREFIX = "checkpoint-"
MANIFEST_SUFFIX = ".json"
# What file systems without locks answer.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class PartialFolder:
    """The folder of the build of `out`, held by this builder alone.

    Leaving the context removes what a build put there, and the folder if nothing else is in it; where an error ends the
    build and a checkpoint is there, all stays.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = partial_path(out)
        self.table = self.path / _TABLE
        self.token = self.path / _TOKEN
        self._lock: int | None = None

    def __enter__(self) -> "PartialFolder":
        """Make the folder and take its lock. Raises `BuildRunningError`, `OutputError`, `DiskFullError`."""
        with writing_errors(self.out):
            if self.out.exists() and not self.out.is_file() and not self.out.is_dir():
                # A new file of that name would take the place of a device or a pipe.
                raise OutputError(f"cannot write {self.out}: it is no plain file; choose another place with --out")
            if self.path.exists() and not self.path.is_dir():
                raise OutputError(f"cannot write {self.out}: {self.path} is in the way; move it elsewhere")
            try:
                while self._lock is None:
                    self._lock = self._take_lock()
            except BaseException:
                with suppress(OSError):  # goes where it is empty alone: nobody else's, and no use to us
                    self.path.rmdir()
                raise
        with writing_errors(self.out):  # workers of a build that was killed must not write into this one
            self.token.unlink(missing_ok=True)
        self._note_owner()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or not self._has_checkpoint():
            self.clear()
            with suppress(OSError):  # what cannot be removed must not hide why
                (self.path / _LOCK).unlink(missing_ok=True)
                self.path.rmdir()
        if self._lock is not None:
            with suppress(OSError):
                os.close(self._lock)
            self._lock = None

    def clear(self) -> None:
        """Remove what builds left here, checkpoints too. What cannot be removed stays."""
        files = [self.table, self.token]
        with suppress(OSError):
            files += self.checkpoint_files()
        for path in files:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _has_checkpoint(self) -> bool:
        """Whether there is one, or may be: a disk that fails does not tell."""
        try:
            return bool(self.manifests())
        except OSError:
            return True

    def checkpoint_files(self) -> list[Path]:
        """All files of checkpoints, whole or not. Raises `OSError`."""
        return sorted(self.path.glob(f"{CHECKPOINT_PREFIX}*"))

    def manifests(self) -> dict[int, Path]:
        """The manifests of checkpoints by their numbers, the newest first. Raises `OSError`."""
        found = {}
        for path in self.path.glob(f"{CHECKPOINT_PREFIX}*{MANIFEST_SUFFIX}"):
            number = path.name.removeprefix(CHECKPOINT_PREFIX).removesuffix(MANIFEST_SUFFIX)
            if number.isdecimal():
                found[int(number)] = path
        return dict(sorted(found.items(), reverse=True))

    def _take_lock(self) -> int | None:
        """The open lock; None where its holder has just removed it with the folder, and it is to be tried again."""
        self.path.mkdir(exist_ok=True)
        try:
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(self.path / _LOCK)):  # noqa: PTH116
                return descriptor
        except BlockingIOError:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise BuildRunningError(
                f"{self.out} is being built by {owner}; wait until it is done, or choose another place with --out"
            ) from None
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return descriptor
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    def _note_owner(self) -> None:
        """Write who holds the lock into it; without room for that, another builder is told less."""
        assert self._lock is not None
        with suppress(OSError):
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)


def partial_path(out: Path) -> Path:
    """The folder of the build of a file."""
    return out.absolute().with_name(f"{out.name}.partial")


def held_table_bytes(out: Path) -> int:
    """What the unfinished table file of an earlier build of `out` takes of the disk: a build that goes on needs no
    other room for it.
    """
    try:
        return (partial_path(out) / _TABLE).stat().st_blocks * 512
    except OSError:
        return 0


def _owner(descriptor: int) -> str:
    try:
        owner = json.loads(os.pread(descriptor, 1000, 0))
        return f"process {int(owner['pid'])} on {owner['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
