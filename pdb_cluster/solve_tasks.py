"""Tasks on a Dask cluster. Their results are handled in one thread, in the order in which they arrive."""

import concurrent.futures
import contextlib
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from pdb_cluster.connect import RightWorkers, failure, while_reachable
from pdb_core.errors import ClusterError, PdbError

# Seconds for which the workers of the cluster are taken as known.
_WORKERS_S = 1.0

Handle = Callable[[str, Any], None]


class _Task(NamedTuple):
    """Task that was sent: its future, what to call with its result, the workers that may run it, and how to send it."""

    future: Any
    handle: Handle
    workers: frozenset[str]
    send: Callable[[], Any]


class Tasks:
    """Tasks that were sent to a cluster. Each result is handled once, even if Dask runs the task again.

    Tasks run on workers of this version only. Others are refused with a `RuntimeWarning`.
    """

    def __init__(self, client: Any) -> None:
        """`client` is a `distributed.Client`."""
        self._client = client
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._pending: dict[str, _Task] = {}
        # The first key of a task that was sent again, by its present key.
        self._first_keys: dict[str, str] = {}
        self._right = RightWorkers(client, lambda text: warnings.warn(text, RuntimeWarning, stacklevel=2))
        # The workers that get tasks. If all of them end, the set is kept until others come.
        self._workers: frozenset[str] = frozenset()
        self._n_threads = 0
        self._counted_at = -_WORKERS_S

    def n_present(self) -> int:
        """Return the threads of the workers about a second ago."""
        if time.monotonic() > self._counted_at + _WORKERS_S:
            threads = self._right.threads()
            self._n_threads = sum(threads.values())
            self._counted_at = time.monotonic()
            if threads:
                self._workers = frozenset(threads)
                self._send_again()
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
        self.n_present()

        def send(arguments: Sequence[Any]) -> list[Any]:
            # Not pure: a result depends on the time that the task had.
            with while_reachable():
                futures: list[Any] = self._client.map(
                    function, arguments, pure=False, priority=priority, workers=list(self._workers) or None, **same
                )
            return futures

        futures = send(arguments)
        for future, argument in zip(futures, arguments, strict=True):
            self._add(future.key, _Task(future, handle, self._workers, partial(send, [argument])))
        return [future.key for future in futures]

    def _add(self, key: str, task: _Task) -> None:
        self._pending[key] = task
        self._first_keys[task.future.key] = key
        task.future.add_done_callback(self._done.put)

    def _send_again(self) -> None:
        """Send the tasks again whose workers are all gone: those in their place have other addresses."""
        for key, task in list(self._pending.items()):
            if not task.workers & self._workers:
                self.cancel([key])
                self._add(key, task._replace(future=task.send()[0], workers=self._workers))

    def cancel(self, keys: Sequence[str]) -> None:
        """Cancel tasks. Those that run go on to their end; their results are not handled."""
        futures = [self._pending.pop(key).future for key in keys if key in self._pending]
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
        self.n_present()
        futures = []
        with contextlib.suppress(Empty):
            if timeout_s > 0:
                futures.append(self._done.get(timeout=timeout_s))
            while True:
                futures.append(self._done.get_nowait())
        keys = [self._first_keys.pop(future.key, "") for future in futures]
        # A task may have been cancelled or sent again meanwhile.
        current = {key: task.future for key in keys if (task := self._pending.get(key)) and task.future in futures}
        # Dask runs a task again if its result was lost with a worker; this waits for it.
        with while_reachable():
            try:
                results = self._client.gather(list(current.values()))
            except (PdbError, OSError, concurrent.futures.CancelledError):
                raise
            except Exception as error:
                raise failure("a task failed on the cluster", error) from error
        for key, result in zip(current, results, strict=True):
            # A handler before may have cancelled this one.
            if key in self._pending:
                self._pending.pop(key).handle(key, result)
