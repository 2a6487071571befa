"""Folder of compiled kernels: written by one user or root, and removed when it was not used for long.

A process that loads a compiled kernel runs it. Whoever can write to the folder can therefore run code as its user.
On Windows owners and modes are not checked: the cache folder is in the user's profile, which is private.
"""

import os
import re
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path

from pdb_core import system

# Folders of other versions are removed if they were not used for this time.
KEPT_DAYS = 28
_NAME = re.compile("[0-9a-f]{16}")
_PRIVATE = 0o700


class UnsafeFolderError(OSError):
    """A user other than this one and root owns a folder of compiled kernels, or can write to it."""


def use_kernel_folder(parent: Path, name: str) -> Path:
    """Return the folder `name` in `parent`, and note that it is used. Those that are missing are made with mode 0700.

    `name` is a digest of 16 hexadecimal digits. When the folder is new, those of other digests that no process has
    begun to use for `KEPT_DAYS` are removed. (A process that still uses one compiles what it has not loaded.) A folder
    that is there may be read-only.

    Raises `UnsafeFolderError` if a user other than this one and root owns one of both or can write to it, `OSError` if
    a missing one cannot be made.
    """
    folder, user = parent / name, system.user_number()
    is_new = not folder.is_dir()
    parent.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)  # `mode` is not that of parents
    for each in (parent, folder):
        each.mkdir(mode=_PRIVATE, exist_ok=True)
        status = each.stat()
        if user is not None and status.st_uid not in (user, 0):
            raise UnsafeFolderError(f"{each} belongs to another user (number {status.st_uid})")
        if user is not None and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            # Its mode is not corrected: another user may already have written to it.
            raise UnsafeFolderError(f"other users can write to {each} (mode {stat.S_IMODE(status.st_mode):04o})")
    with suppress(OSError):  # it is read-only
        os.utime(folder)
    if is_new:
        _remove_old(parent)
    return folder


def _remove_old(parent: Path) -> None:
    """Remove the folders that are old, if possible."""
    oldest = time.time() - KEPT_DAYS * 86_400
    with suppress(OSError):
        for folder in parent.iterdir():
            if _NAME.fullmatch(folder.name) and folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
