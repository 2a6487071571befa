"""With an empty cache, processes of tests would compile the same kernels at the same time: one of them does."""

import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from numba.core.caching import FunctionCache

# A process that cannot compile a kernel, because a test lets it fail, keeps its lock.
_MOST_S = 60


def compile_once() -> None:
    """Let this process wait for others that compile the kernel it needs, if they do the same."""
    load, save = FunctionCache._load_overload, FunctionCache._save_overload
    locks: dict[tuple[FunctionCache, Any], FileLock] = {}

    def load_overload(cache: FunctionCache, signature: Any, target: Any) -> Any:
        found = load(cache, signature, target)
        if found is not None:
            return found
        name = re.sub(" at 0x[0-9a-f]+", "", f"{cache._name} {signature}")  # the addresses of functions
        path = Path(cache.cache_path) / f"{sha256(name.encode()).hexdigest()}.lock"
        locks[cache, signature] = lock = FileLock(path, timeout=_MOST_S, thread_local=False)
        with suppress(Timeout):
            lock.acquire()
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
        if lock := locks.pop((cache, signature), None):
            lock.release()

    FunctionCache._load_overload, FunctionCache._save_overload = load_overload, save_overload
