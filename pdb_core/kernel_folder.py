"""Folder of compiled kernels: private to one user, and removed when it was not used for long.

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

# Folders of other versions are removed if they were not used for this time.
KEPT_DAYS = 28
_NAME = re.compile("[0-9a-f]{16}")
_PRIVATE = 0o700


class UnsafeFolderError(OSError):
    """Another user owns a folder of compiled kernels, or can write to it."""


def use_kernel_folder(parent: Path, name: str) -> Path:
    """Return the folder `name` in `parent`, and note that it is used. Both are made with mode 0700.

    `name` is a digest of 16 hexadecimal digits. When the folder is new, those of other digests that no process has
    begun to use for `KEPT_DAYS` are removed. (A process that still uses one compiles what it has not loaded.)

    Raises `UnsafeFolderError` if another user owns one of both or can write to it, `OSError` if nothing can be written.
    """
    folder = parent / name
    _make_private(parent)
    is_new = _make_private(folder)
    # numba tries the same when it compiles. If that fails, it writes next to our sources, without a message.
    tempfile.TemporaryFile(dir=folder).close()
    os.utime(folder)
    if is_new:
        _remove_old(parent)
    return folder


def _make_private(folder: Path) -> bool:
    """Make the folder, or check that it is private. Return whether it is new."""
    is_new = not folder.is_dir()
    for each in (folder.parent, folder):  # `mode` is not that of parents
        each.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
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


def _remove_old(parent: Path) -> None:
    """Remove the folders that are old, if possible."""
    oldest = time.time() - KEPT_DAYS * 86_400
    with suppress(OSError):
        for folder in parent.iterdir():
            if _NAME.fullmatch(folder.name) and folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
