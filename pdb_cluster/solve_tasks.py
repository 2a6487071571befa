"""Tasks on a Dask cluster. Their results are handled in one thread, in the order in which they arrive."""

import concurrent.futures
import contextlib
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from pdb_cluster.connect import failure, while_reachable
from pdb_core.errors import ClusterError, PdbError

# Seconds for which the number of threads of the cluster is taken as known.
_THREADS_S = 1.0

Handle = Callable[[str, Any], None]


class Tasks:
    """Tasks that were sent to a cluster. Each result is handled once, even if Dask runs the task again."""

    def __init__(self, client: Any) -> None:
        """`client` is a `distributed.Client`."""
        self._client = client
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._pending: dict[str, tuple[Any, Handle]] = {}
        self._n_threads = 0
        self._counted_at = -_THREADS_S

    def n_present(self) -> int:
        """Return the threads of all workers about a second ago."""
        if time.monotonic() > self._counted_at + _THREADS_S:
            with while_reachable():
                self._n_threads = sum(self._client.nthreads().values())
            self._counted_at = time.monotonic()
        return self._n_threads

    def n_threads(self) -> int:
        """Return the threads to plan with: at least 1, since workers that ended are replaced."""
        return max(1, self.n_present())

    def submit(
        self, function: Callable[..., Any], arguments: Sequence[Any], handle: Handle, *, priority: int = 0,
        **same: object,
    ) -> list[str]:  # fmt: skip
        """Submit one task for each of `arguments`, with the arguments `same` for all. Return the keys of the tasks.

        `work` calls `handle` with the key and the result of each. Tasks of higher priority run first.
        """
        # Not pure: a result depends on the time that the task had.
        with while_reachable():
            futures = self._client.map(function, arguments, pure=False, priority=priority, **same)
        for future in futures:
            self._pending[future.key] = future, handle
            future.add_done_callback(self._done.put)
        return [future.key for future in futures]

    def cancel(self, keys: Sequence[str]) -> None:
        """Cancel tasks. Those that run go on to their end; their results are not handled."""
        futures = [self._pending.pop(key)[0] for key in keys if key in self._pending]
        if futures:
            with while_reachable():
                self._client.cancel(futures, force=True)

    def cancel_all(self) -> None:
        """Cancel all tasks, also if the scheduler is gone."""
        with contextlib.suppress(ClusterError):
            self.cancel(list(self._pending))

    def work(self, timeout_s: float) -> None:
        """Handle the results that are there, or wait at most `timeout_s` for one. With 0, do not wait.

        Raises `ClusterError` if a task failed, and any `PdbError` that a task raised.
        """
        futures = []
        with contextlib.suppress(Empty):
            if timeout_s > 0:
                futures.append(self._done.get(timeout=timeout_s))
            while True:
                futures.append(self._done.get_nowait())
        futures = [future for future in futures if future.key in self._pending]
        # Dask runs a task again if its result was lost with a worker; this waits for it.
        with while_reachable():
            try:
                results = self._client.gather(futures)
            except (PdbError, OSError, concurrent.futures.CancelledError):
                raise
            except Exception as error:
                raise failure("a task failed on the cluster", error) from error
        for future, result in zip(futures, results, strict=True):
            # A handler before may have cancelled this one.
            if future.key in self._pending:
                self._pending.pop(future.key)[1](future.key, result)
