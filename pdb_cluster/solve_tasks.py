"""Tasks on a Dask cluster, and what is to be done with their results."""

import concurrent.futures
import contextlib
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from pdb_cluster.failures import in_one_line, unreachable, while_reachable
from pdb_core.errors import ClusterError, PdbError

# How long the number of threads that the cluster has is believed, in seconds: workers come and go; and where it has
# none.
_THREADS_S, _NO_THREADS_S = 5.0, 0.5


class Tasks:
    """Sends tasks to a cluster and hands their results over, in one thread. Dask balances and repeats them.

    A result is handed over once, however often its task ran.
    """

    def __init__(self, client: Any) -> None:
        """`client` is a `distributed.Client`."""
        self._client = client
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._pending: dict[str, tuple[Any, Callable[[str, Any], None]]] = {}
        self._n_threads = 0
        self._counted_at = -_THREADS_S

    @property
    def n_pending(self) -> int:
        return len(self._pending)

    def n_present(self) -> int:
        """The threads of all workers, as it was some seconds ago."""
        if time.monotonic() - self._counted_at > (_THREADS_S if self._n_threads else _NO_THREADS_S):
            with _while_reachable():
                self._n_threads = sum(self._client.nthreads().values())
            self._counted_at = time.monotonic()
        return self._n_threads

    def n_threads(self) -> int:
        """What to plan with: the threads of all workers, at least 1, since those that died are replaced."""
        return max(1, self.n_present())

    def submit(
        self,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        handle: Callable[[str, Any], None],
        *,
        priority: int = 0,
        **same: object,
    ) -> list[str]:
        """Send a task for each of the `arguments`, with the `same` for all; returns their keys. `handle` is called with
        the key and the result of each, by `work`. Tasks of higher priority are done first, of equal those sent first.
        """
        # Never taken for a task that was done before: what is returned depends on the time it had.
        with _while_reachable():
            futures = self._client.map(function, arguments, pure=False, priority=priority, **same)
        for future in futures:
            self._pending[future.key] = future, handle
            future.add_done_callback(self._done.put)
        return [future.key for future in futures]

    def cancel(self, keys: Sequence[str]) -> None:
        """Take tasks back; those that run come to their end, and nobody hears of it."""
        futures = [self._pending.pop(key)[0] for key in keys if key in self._pending]
        if futures:
            with _while_reachable():
                self._client.cancel(futures, force=True)

    def cancel_all(self) -> None:
        """Take all tasks back, as the last thing to be done: a scheduler that is gone has none of them."""
        with contextlib.suppress(ClusterError):
            self.cancel(list(self._pending))

    def work(self, timeout_s: float) -> None:
        """Wait for results, at most so long, 0 for not at all, and hand over those that are there.

        Raises `ClusterError` where a task could not be done, and what else `PdbError` a task raises.
        """
        futures = []
        try:
            if timeout_s > 0:
                futures.append(self._done.get(timeout=timeout_s))
            while True:
                futures.append(self._done.get_nowait())
        except Empty:
            pass
        futures = [future for future in futures if future.key in self._pending]
        for future in futures:
            if future.status in ("error", "cancelled"):
                raise _error_of(future)
        # Those of a worker that has died since, or dies now, are done again meanwhile.
        with _while_reachable():
            try:
                results = self._client.gather(futures)
            except (PdbError, OSError, concurrent.futures.CancelledError):
                raise
            except Exception as error:
                raise _failed(error) from error
        for future, result in zip(futures, results, strict=True):
            # What was handled before may have cancelled this one.
            if future.key in self._pending:
                self._pending.pop(future.key)[1](future.key, result)


_ADVICE = "start the command again"


def _while_reachable() -> contextlib.AbstractContextManager[None]:
    return while_reachable(_ADVICE)


def _error_of(future: Any) -> PdbError:
    """Why a task has no result."""
    if future.status == "error":
        error = future.exception()
        if isinstance(error, PdbError):
            return error
        return _failed(error)
    return unreachable(_ADVICE)


def _failed(error: BaseException) -> ClusterError:
    return ClusterError(f"a task failed on the cluster ({in_one_line(error)}); the workers' logs may tell more")
