"""With an empty cache, processes of tests would compile the same kernels at the same time: one of them does."""

import fcntl
import re
import time
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from numba.core.caching import FunctionCache

# A process that cannot compile a kernel, because a test lets it fail, keeps its lock.
_MOST_S = 60


def compile_once() -> None:
    """Let this process wait for others that compile the kernel it needs, if they do the same."""
    load, save = FunctionCache._load_overload, FunctionCache._save_overload
    locks: dict[tuple[FunctionCache, Any], IO[str]] = {}

    def load_overload(cache: FunctionCache, signature: Any, target: Any) -> Any:
        found = load(cache, signature, target)
        if found is not None:
            return found
        name = re.sub(" at 0x[0-9a-f]+", "", f"{cache._name} {signature}")  # the addresses of functions
        file = (Path(cache.cache_path) / f"{sha256(name.encode()).hexdigest()}.lock").open("w")
        locks[cache, signature] = file
        end = time.monotonic() + _MOST_S
        while time.monotonic() < end:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.05)
            else:
                break
        found = load(cache, signature, target)
        if found is not None:
            release(cache, signature)
        return found

    def save_overload(cache: FunctionCache, signature: Any, compiled: Any) -> None:
        try:
            save(cache, signature, compiled)
        finally:
            release(cache, signature)

    def release(cache: FunctionCache, signature: Any) -> None:
        if file := locks.pop((cache, signature), None):
            file.close()

    FunctionCache._load_overload, FunctionCache._save_overload = load_overload, save_overload
