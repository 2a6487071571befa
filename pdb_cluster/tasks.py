"""Tasks on a Dask cluster. Their results are handled in one thread, in the order in which they arrive."""

import concurrent.futures
import contextlib
import functools
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from distributed import as_completed

from pdb_cluster.connect import RightWorkers, Worker, failure, while_reachable, workers_died

# Seconds for which the workers of the cluster are taken as known.
_WORKERS_S = 1.0
# Times that all workers of a task may end while no task ends. Dask counts the workers that die at a task only as long
# as some of its workers are left; its default is four, too.
_MAX_LOSSES = 4


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


@dataclass(eq=False)
class Task:
    """Task that was sent.

    send      sends tasks that differ in one argument, and returns their futures
    argument  its own
    handle    called with the task and its result
    worker    the one worker that may run it; empty for all
    future    of Dask; another one if the task is sent again
    workers   those that may run it
    """

    send: Callable[..., list[Any]]
    argument: object
    handle: "Callable[[Task, Any], None]"
    worker: str = ""
    future: Any = None
    workers: frozenset[str] = frozenset()


class Tasks:
    """Tasks that were sent to a cluster. Each result is handled once, even if Dask runs the task again.

    Tasks run on workers of this version only. Others are refused, and `say` is called with a sentence about each.
    """

    def __init__(self, client: Any, say: Callable[[str], None] = _warn) -> None:
        """`client` is a `distributed.Client`."""
        self._client = client
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._pending: dict[str, Task] = {}
        self._right = RightWorkers(client, say)
        self._present: dict[str, Worker] = {}
        # The workers that get tasks. If all of them end, the set is kept until others come.
        self._workers: frozenset[str] = frozenset()
        # Tasks that wait for the first one: a task without a set would run on any worker.
        self._unsent: list[Task] = []
        self._counted_at = -_WORKERS_S
        # Times that all workers of a task ended, since the last result.
        self._n_losses = 0

    def present(self) -> dict[str, Worker]:
        """Return the workers about a second ago. Handle the tasks whose workers are all gone."""
        if time.monotonic() > self._counted_at + _WORKERS_S:
            self._present = self._right.present()
            self._counted_at = time.monotonic()
            if self._present:
                self._workers = frozenset(self._present)
                self._send_again()
        return self._present

    def n_present(self) -> int:
        """Return the threads of the workers."""
        return sum(worker.n_threads for worker in self.present().values())

    def n_threads(self) -> int:
        """Return the threads to plan with: at least 1, since workers that ended are replaced."""
        return max(1, self.n_present())

    def submit(
        self, function: Callable[..., Any], arguments: Sequence[object], handle: Callable[[Task, Any], None], *,
        priority: int = 0, worker: str = "", **others: object,
    ) -> list[Task]:  # fmt: skip
        """Submit a call `function(argument, **others)` for each of `arguments`. Calls of higher priority run first.

        `handle_results` calls `handle` with each task and its result. If only `worker` may run the tasks and it has
        gone, the result is None.
        """
        self.present()
        # Not pure: a result depends on the time that the task had.
        send = functools.partial(self._client.map, function, pure=False, priority=priority, **others)
        tasks = [Task(send, argument, handle, worker) for argument in arguments]
        self._send(tasks)
        return tasks

    def _send(self, tasks: Sequence[Task]) -> None:
        """Send tasks that differ in one argument."""
        if not (self._workers and tasks):
            self._unsent += tasks
            return
        workers = frozenset([tasks[0].worker]) if tasks[0].worker else self._workers
        with while_reachable(self._client):
            futures = tasks[0].send([task.argument for task in tasks], workers=list(workers))
        for task, future in zip(tasks, futures, strict=True):
            task.future, task.workers = future, workers
            self._pending[future.key] = task
            self._completed.add(future)

    def _send_again(self) -> None:
        """Send the tasks that wait, and again those whose workers are all gone: those in their place have other
        addresses.
        """
        lost = [task for task in self._pending.values() if not task.workers & self._workers]
        self._n_losses += bool(lost)
        if self._n_losses == _MAX_LOSSES:
            raise workers_died()
        self.cancel(lost)
        unsent, self._unsent = self._unsent, []
        for task in lost + unsent:
            if task.worker and task.future:
                task.handle(task, None)
            else:
                self._send([task])

    def cancel(self, tasks: Iterable[Task]) -> None:
        """Cancel tasks. Those that run go on to their end; their results are not handled."""
        tasks = set(tasks)
        self._unsent = [task for task in self._unsent if task not in tasks]
        futures = [task.future for task in tasks if task.future and self._pending.pop(task.future.key, None)]
        if futures:
            with while_reachable(self._client):
                self._client.cancel(futures, force=True)

    def cancel_all(self) -> None:
        """Cancel all tasks, also if the scheduler is gone or the client is closed."""
        with contextlib.suppress(Exception):
            self.cancel([*self._pending.values(), *self._unsent])

    def handle_results(self) -> bool:
        """Handle the results that are there. Return whether there were some.

        Raises `ClusterError` if a task failed, and any `PdbError` that a task raised.
        """
        self.present()
        # Dask runs a task again if its worker or its result is lost.
        completed = self._completed.next_batch(block=False)
        # If a result was lost, `as_completed` hears nothing of what becomes of the task when it runs again.
        for task in self._pending.values():
            if task.future.status == "error":
                error = task.future.exception()
                raise failure(error) from error
        for future, result in completed:
            # It may have been cancelled or sent again, also by a handler just now.
            ended = self._pending.pop(future.key, None)
            if ended is None:
                continue
            if isinstance(result, concurrent.futures.CancelledError):
                with while_reachable(self._client):
                    raise result
            self._n_losses = 0
            ended.handle(ended, result)
        return bool(completed)
