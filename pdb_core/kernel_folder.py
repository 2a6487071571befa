"""Folder of compiled kernels: private to one user, locked while a process uses it, removed when it is old.

A process that loads a compiled kernel runs it. Whoever can write to the folder can therefore run code as its user.
On Windows owners and modes are not checked: the cache folder is in the user's profile, which is private.
"""

import os
import re
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from pdb_core import system
from pdb_core.durable_files import lock_file

# Folders of other versions are removed if they were not used for this time.
KEPT_DAYS = 28
_LOCK = "in-use.lock"
# Names that `use_kernel_folder` gives: a digest, and the name of a folder while it is removed.
_NAME = re.compile(r"[0-9a-f]{16}(\.removed)?")
_PRIVATE = 0o700

# The locks of this process: the system releases them when it ends.
_held: list[int] = []


class UnsafeFolderError(OSError):
    """Another user owns a folder of compiled kernels, or can write to it."""


def use_kernel_folder(parent: Path, name: str) -> Path:
    """Return the folder `name` in `parent`, for this process until it ends. Both are made with mode 0700.

    `name` is a digest of 16 hexadecimal digits. When the folder is new, those of other digests that no process uses,
    and none has used for `KEPT_DAYS`, are removed.

    Raises `UnsafeFolderError` if another user owns one of both or can write to it, `OSError` if nothing can be written.
    """
    folder = parent / name
    _make_private(parent)
    is_new = _make_private(folder)
    while not _lock(folder):
        _make_private(folder)
    # numba tries the same when it compiles. If that fails, it writes next to our sources, without a message.
    tempfile.TemporaryFile(dir=folder).close()
    if is_new:
        _remove_old(parent)
    return folder


def _make_private(folder: Path) -> bool:
    """Make the folder, or check that it is private. Return whether it is new."""
    is_new = True
    try:
        folder.mkdir(mode=_PRIVATE, parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        is_new = False
    user = system.user_number()
    if user is None:
        return is_new
    status = folder.stat()
    if status.st_uid != user:
        raise UnsafeFolderError(f"{folder} belongs to another user (number {status.st_uid})")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        # Its mode is not corrected: another user may already have written to it.
        raise UnsafeFolderError(f"other users can write to {folder} (mode {stat.S_IMODE(status.st_mode):04o})")
    if stat.S_IMODE(status.st_mode) != _PRIVATE:
        folder.chmod(_PRIVATE)
    return is_new


def _lock(folder: Path) -> bool:
    """Lock the folder for this process, and note that it is used. Return False if it was removed meanwhile."""
    # Without locks on this disk, the folder is never removed, because that takes a lock too.
    descriptor = lock_file(folder / _LOCK, shared=True)
    if descriptor is None:
        return False
    _held.append(descriptor)
    os.utime(folder / _LOCK)
    return True


def _remove_old(parent: Path) -> None:
    """Remove the folders that are old and not in use, if possible."""
    oldest = time.time() - KEPT_DAYS * 86_400
    with suppress(OSError):
        for folder in parent.iterdir():
            if _NAME.fullmatch(folder.name):
                with suppress(OSError):
                    _remove_if_old(folder, oldest)


def _remove_if_old(folder: Path, oldest: float) -> None:
    lock = folder / _LOCK
    last_use = (lock if lock.exists() else folder).lstat().st_mtime
    if last_use >= oldest:
        return
    with lock.open("a+b") as file:
        system.lock(file.fileno())
        if not system.REMOVES_OPEN_FILES:
            # The folder cannot be renamed while this process, or one that uses it, has the file open.
            file.close()
        # A process that starts now makes a new folder: it never finds half of an old one.
        removed = folder.with_suffix(".removed")
        folder.rename(removed)
        shutil.rmtree(removed)
