"""Threads of this process when the system starts no more of them: at a limit of processes or of the address space."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

from pdb_core.resources import has_addresses

# Address space of a thread: its stack, the heap of malloc, and the memory of a search.
_THREAD_BYTES = 128_000_000


def start_thread(thread: Thread, n_new: int) -> bool:
    """Start a thread and return True. If the system starts no more threads, warn once and return False.

    n_new  threads that were started just before, and have not used their memory yet
    """
    if has_addresses((n_new + 1) * _THREAD_BYTES):
        try:
            thread.start()
        except RuntimeError:  # can't start new thread
            pass
        else:
            return True
    warnings.warn(
        "the system starts no more threads, so fewer are used; raise its limits (ulimit -u and -v), or use fewer "
        "threads",
        RuntimeWarning,
        stacklevel=1,
    )
    return False


def thread_pool(n_threads: int, **options: Any) -> ThreadPoolExecutor:
    """Return an executor of `n_threads`, or of as many as the system starts now; it warns if these are fewer."""
    if n_threads == 1:
        return ThreadPoolExecutor(1, **options)
    is_over = Event()
    started: list[Thread] = []
    try:
        while len(started) < n_threads:
            thread = Thread(target=is_over.wait, daemon=True)
            if not start_thread(thread, len(started)):
                break
            started.append(thread)
    finally:
        is_over.set()
    for thread in started:
        thread.join()
    return ThreadPoolExecutor(max(1, len(started)), **options)
