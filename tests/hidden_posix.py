"""Python without what only POSIX systems have: imported first, it hides modules, and attributes of os, signal and mmap.

`python -c "import tests.hidden_posix; ..."` runs a program nearly as on Windows. Parts of the standard library
and psutil are imported before: that of Linux needs what is hidden.
"""

import asyncio  # noqa: F401 (before its names are hidden)
import contextlib
import ctypes  # noqa: F401
import importlib.abc
import importlib.machinery
import mmap
import os
import shutil  # noqa: F401
import signal
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
from collections.abc import Sequence
from types import ModuleType

import psutil  # noqa: F401

MODULES = {"fcntl", "pwd", "resource", "termios", "uvloop"}
ATTRIBUTES = (
    (os, "O_DIRECTORY geteuid memfd_create posix_fadvise posix_fallocate pread preadv pwrite"),
    (os, "sched_getaffinity setpriority sysconf"),
    (signal, "SIGHUP SIGPIPE"),
    (mmap, "MADV_HUGEPAGE MADV_NOHUGEPAGE MAP_ANONYMOUS MAP_PRIVATE"),
)


class _Hidden(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, _Hidden())
for _name in MODULES:
    sys.modules.pop(_name, None)
for _module, _names in ATTRIBUTES:
    for _name in _names.split():
        with contextlib.suppress(AttributeError):  # of a later Python
            delattr(_module, _name)
