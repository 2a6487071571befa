"""With an empty cache, processes of tests would compile the same kernels at the same time: one of them does."""

import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from numba.core.caching import FunctionCache
from numba.core.dispatcher import CompilingCounter

# A process that is stopped while it compiles a kernel keeps its lock.
_MOST_S = 60


def compile_once() -> None:
    """Let this process wait for others that compile the kernel it needs, if they do the same."""
    load, enter, leave = FunctionCache._load_overload, CompilingCounter.__enter__, CompilingCounter.__exit__
    # One for each kernel that is being loaded or compiled, each within the one before: numba lets one thread do so.
    locks: list[FileLock | None] = []

    def load_overload(cache: FunctionCache, signature: Any, target: Any) -> Any:
        found = load(cache, signature, target)
        if found is not None:
            return found
        name = re.sub(" at 0x[0-9a-f]+", "", f"{cache._name} {signature}")  # the addresses of functions
        path = Path(cache.cache_path) / f"{sha256(name.encode()).hexdigest()}.lock"
        locks[-1] = FileLock(path, timeout=_MOST_S, thread_local=False)
        with suppress(Timeout):
            locks[-1].acquire()
        return load(cache, signature, target)

    def begin(counter: CompilingCounter) -> None:
        enter(counter)
        locks.append(None)

    def end(counter: CompilingCounter, *error: Any) -> None:
        """Release the lock, also if the kernel was not compiled."""
        lock = locks.pop()
        if lock is not None:
            lock.release()
        leave(counter, *error)

    FunctionCache._load_overload, CompilingCounter.__enter__, CompilingCounter.__exit__ = load_overload, begin, end
