"""Tasks on a Dask cluster. Their results are handled in one thread, in the order in which they arrive."""

import concurrent.futures
import contextlib
import functools
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from distributed import as_completed

from pdb_cluster.connect import (
    Process,
    difference,
    failure,
    processes,
    program_sources,
    report,
    while_reachable,
    workers_died,
)
from pdb_core.errors import ClusterError

# Seconds for which the workers of the cluster are taken as known.
_WORKERS_S = 1.0
# Intended number of running tasks of boards, and of those of a split one, per thread of the cluster.
TASKS_PER_THREAD = 3
_warn = functools.partial(warnings.warn, category=RuntimeWarning, stacklevel=2)


@dataclass(eq=False)
class Task:
    """Task that was sent.

    send     sends it, and returns the future
    handle   called with the task and its result
    worker   the one worker that may run it; empty for all
    future   of Dask; another one if the task is sent again
    workers  those that may run it
    """

    send: Callable[..., Any]
    handle: "Callable[[Task, Any], None]"
    worker: str
    future: Any = None
    workers: frozenset[str] = frozenset()


class Worker(NamedTuple):
    """Worker that gets tasks. `memory_bytes` is its share of the available memory of its machine when it was asked."""

    n_threads: int
    memory_bytes: int


class Tasks:
    """Tasks that were sent to a cluster. Each result is handled once, even if Dask runs the task again.

    Tasks run on workers of the version of this process only. Others are refused, and `say` is called with a sentence
    about each.
    """

    def __init__(self, client: Any, say: Callable[[str], None] = _warn, *, max_losses: int = 4) -> None:
        """`client` is a `distributed.Client`.

        `max_losses` are the times that all workers of a task may end while no task ends. Dask counts the workers that
        die at a task only as long as some of its workers are left; its default is four, too.
        """
        self._client, self._say, self._max_losses = client, say, max_losses
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._pending: dict[str, Task] = {}
        # The processes that have answered; None if one is left out.
        self._known: dict[Process, Worker | None] = {}
        self._present: dict[str, Worker] = {}
        self._asked_at = -_WORKERS_S
        # The workers that get tasks. If all of them end, the set is kept until others come.
        self._workers: frozenset[str] = frozenset()
        # Times that all workers of a task ended, since the last result.
        self._n_losses = 0

    def present(self) -> dict[str, Worker]:
        """Return the workers of this version, by their addresses, about a second ago.

        Handle the tasks whose workers are all gone. Raises `ClusterError`, also if all workers run other versions at
        the first call, or if a worker of another version has come to the address of one of this version: it may have
        run tasks.
        """
        if time.monotonic() > self._asked_at + _WORKERS_S:
            present = processes(self._client)
            self._ask_new(present)
            self._present = {
                process.address: worker for process in present if (worker := self._known.get(process)) is not None
            }
            self._asked_at = time.monotonic()
            if self._present:
                self._workers = frozenset(self._present)
                self._send_again()
        return self._present

    def _ask_new(self, present: dict[Process, int]) -> None:
        """Ask new workers for their versions and their memory."""
        trusted = {process.address for process, worker in self._known.items() if worker}
        new = present.keys() - self._known.keys()
        with while_reachable(self._client):
            addresses = [process.address for process in new]
            reports = self._client.run(report, workers=addresses, on_error="return") if new else {}
        n_on = Counter(process.host for process in present)
        refused: list[str] = []
        for process in new:
            answer = reports.get(process.address)
            if answer is None or isinstance(answer, OSError):  # it has just ended, or is asked again
                continue
            sources, memory = answer if isinstance(answer, tuple) else (answer, 0)
            if sources == program_sources():
                self._known[process] = Worker(present[process], memory // n_on[process.host])
                continue
            self._known[process] = None
            what, advice = f"worker at {process.address} {difference(sources)}", "install the same version on both"
            if process.address in trusted:
                raise ClusterError(f"the new {what}; {advice}, and start again")
            refused.append(f"the {what}, so it gets no tasks; {advice}")
        if refused and not any(self._known.values()):
            raise ClusterError(refused[0])
        for why_not in refused:
            self._say(why_not)

    def n_threads(self) -> int:
        """Return the threads of the workers."""
        return sum(worker.n_threads for worker in self.present().values())

    def submit(
        self, function: Callable[..., Any], argument: object, handle: Callable[[Task, Any], None], *,
        worker: str = "", **others: Any,
    ) -> Task:  # fmt: skip
        """Submit a call `function(argument, **others)`; wait for the first worker. `others` may be options of Dask.

        `handle_results` calls `handle` with the task and its result. If only `worker` may run the task and it has gone,
        the result is None.
        """
        while not self.present() and not self._workers:
            time.sleep(_WORKERS_S)
        # Not pure: a result depends on the time that the task had.
        task = Task(functools.partial(self._client.submit, function, argument, pure=False, **others), handle, worker)
        self._send(task)
        return task

    def _send(self, task: Task) -> None:
        task.workers = frozenset([task.worker]) if task.worker else self._workers
        with while_reachable(self._client):
            task.future = task.send(workers=list(task.workers))
        self._pending[task.future.key] = task
        self._completed.add(task.future)

    def _send_again(self) -> None:
        """Send again the tasks whose workers are all gone: those in their place have other addresses."""
        lost = [task for task in self._pending.values() if not task.workers & self._workers]
        self._n_losses += bool(lost)
        if self._n_losses == self._max_losses:
            raise workers_died()
        self.cancel(lost)
        for task in lost:
            if task.worker:
                task.handle(task, None)
            else:
                self._send(task)

    def cancel(self, tasks: Iterable[Task]) -> None:
        """Cancel tasks. Those that run go on to their end; their results are not handled."""
        with while_reachable(self._client):
            self._client.cancel([task.future for task in tasks if self._pending.pop(task.future.key, None)], force=True)

    def cancel_all(self) -> None:
        """Cancel all tasks, also if the scheduler is gone or the client is closed."""
        with contextlib.suppress(Exception):
            self.cancel(list(self._pending.values()))

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
