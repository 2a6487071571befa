"""Limits of threads and of the address space."""

import threading
from collections.abc import Callable
from threading import Thread

import pytest

from pdb_core import threads
from pdb_core.threads import start_thread, thread_pool

# Its arguments are the number of threads that start before the system refuses one.
LimitThreads = Callable[[int], None]


@pytest.mark.parametrize(("n_allowed", "n_wanted", "n_used"), [(3, 8, 3), (0, 4, 1), (9, 2, 2)])
def test_pool_has_the_threads_that_the_system_starts(
    limit_threads: LimitThreads, n_allowed: int, n_wanted: int, n_used: int
) -> None:
    limit_threads(n_allowed)
    if n_allowed < n_wanted:
        with pytest.warns(RuntimeWarning, match="the system starts no more threads, so fewer are used"):
            pool = thread_pool(n_wanted)
    else:
        pool = thread_pool(n_wanted)
    limit_threads(n_used)
    with pool:
        assert list(pool.map(abs, range(-20, 0))) == list(range(20, 0, -1))


def test_thread_is_not_started_without_addresses_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that take the last addresses would let the search fail."""
    n_free = 3 * threads._THREAD_BYTES
    monkeypatch.setattr(threads, "has_addresses", lambda n_bytes: n_bytes <= n_free)
    before = threading.active_count()
    with pytest.warns(RuntimeWarning, match="ulimit -u and -v"):
        assert not start_thread(Thread(target=int), n_new=3)
    assert threading.active_count() == before
    assert start_thread(Thread(target=int), n_new=2)
