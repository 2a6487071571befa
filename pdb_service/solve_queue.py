"""A queue of searches: a bounded number runs at a time, a bounded number waits, for a bounded time."""

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pdb_core.errors import BusyError
from pdb_service.metrics import QueueMetrics
from pdb_service.solving import Progress

Outcome = TypeVar("Outcome")

_log = logging.getLogger("tile_pdb.service")
# Searching threads give way to those that answer lookups, where the system knows of threads' niceness (Linux).
_NICENESS = 10
_STOPPING = "this server is being stopped; ask again in a moment"


class GivenUpError(Exception):
    """All clients of this search have left."""


class Stopping:
    """The end of the service: no new searches, and a time of grace for those that run. Thread-safe."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._stop_at: float | None = None

    @property
    def has_begun(self) -> bool:
        """Return whether `begin` was called."""
        return self._stop_at is not None

    def begin(self) -> None:
        """Refuse new searches, and end running ones when the time of grace is over."""
        if self._stop_at is None:
            self._stop_at = time.monotonic() + self._grace_s

    def check_new(self) -> None:
        """Raise `BusyError` if the server stops."""
        if self.has_begun:
            raise BusyError(_STOPPING)

    def check_running(self) -> None:
        """Raise `BusyError` if the server stops and the time of grace is over."""
        if self._stop_at is not None and time.monotonic() >= self._stop_at:
            raise BusyError(_STOPPING)


class Job:
    """One search. Its thread reports progress; the event loop reads it."""

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._given_up = threading.Event()
        # Generated and expanded nodes of the thresholds that are over, and the one that is searched.
        self._standing: tuple[int, int, Progress] | None = None
        self._started = time.monotonic()

    def start(self) -> None:
        """Count the seconds of the search from now on."""
        self._started = time.monotonic()

    def give_up(self) -> None:
        """End the search within a fraction of a second."""
        self._given_up.set()

    def report(self, progress: Progress) -> None:
        """Take the progress of the search. Raises `GivenUpError`, and `BusyError` if the server stops."""
        if self._given_up.is_set():
            raise GivenUpError
        self._stopping.check_running()
        generated = expanded = 0
        if self._standing is not None:
            generated, expanded, latest = self._standing
            if latest.threshold != progress.threshold:
                generated, expanded = generated + latest.generated, expanded + latest.expanded
        self._standing = generated, expanded, progress

    def progress(self) -> dict[str, float] | None:
        """Return the progress for the client; None before the first report."""
        if self._standing is None:
            return None
        generated, expanded, latest = self._standing
        seconds = time.monotonic() - self._started
        generated += latest.generated
        return {
            "threshold": latest.threshold,
            "generated": generated,
            "expanded": expanded + latest.expanded,
            "seconds": round(seconds, 3),
            "nodes_per_s": round(generated / seconds) if seconds > 0 else 0,
        }


class SolveQueue:
    """Threads that search, and the jobs that wait for one of them, first come first served.

    n_running  searches that run at a time
    n_waiting  searches that may wait
    wait_s     the longest that a search may wait

    All methods but `close` are for the event loop.
    """

    def __init__(
        self, n_running: int, n_waiting: int, wait_s: float, stopping: Stopping, metrics: QueueMetrics
    ) -> None:
        self._pool = ThreadPoolExecutor(n_running, thread_name_prefix="solve", initializer=_step_back)
        self._slots = asyncio.Semaphore(n_running)
        self._most_waiting, self._wait_s = n_waiting, wait_s
        self._stopping, self._metrics = stopping, metrics
        self._waiting: dict[Job, None] = {}
        self.n_running = 0

    @property
    def n_waiting(self) -> int:
        """The number of searches that wait."""
        return len(self._waiting)

    def close(self) -> None:
        """Let the threads end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def ahead(self, job: Job) -> int:
        """Return the number of searches that wait and get their turn before `job`."""
        return next((at for at, waiting in enumerate(self._waiting) if waiting is job), 0)

    def check_open(self) -> None:
        """Raise `BusyError` if too many searches wait, or the server stops."""
        if self._slots.locked() and self.n_waiting >= self._most_waiting:
            self._metrics.refused("full")
            raise BusyError(f"{self.n_running} solves run here and {self.n_waiting} wait; ask again in some seconds")
        self._check_not_stopping()

    @contextlib.asynccontextmanager
    async def turn(self, job: Job) -> AsyncIterator[None]:
        """Wait for a turn. Raises `BusyError` if too many wait, if it takes too long, or if the server stops."""
        self.check_open()
        await self._wait(job)
        self.n_running += 1
        try:
            self._check_not_stopping()
            job.start()
            yield
        finally:
            self.n_running -= 1
            self._slots.release()

    async def run(self, job: Job, work: Callable[[], Outcome]) -> Outcome:
        """Do `work` in a thread of the pool. If this is cancelled, give the job up and wait for its end."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            job.give_up()
            try:
                await future
            except (GivenUpError, BusyError):
                pass
            except Exception:
                # The client is gone: the log is the only place for this error.
                _log.exception("a search without clients failed")
            raise

    async def _wait(self, job: Job) -> None:
        """Take a slot. Raises `BusyError` after the longest time that a search may wait."""
        self._waiting[job] = None
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._wait_s):
                await self._slots.acquire()
        except TimeoutError:
            self._metrics.refused("waited")
            raise BusyError(
                f"no search ended within {self._wait_s:g} seconds, the longest that a solve may wait here; "
                "ask again in some seconds"
            ) from None
        finally:
            del self._waiting[job]
            self._metrics.waited(time.monotonic() - started)

    def _check_not_stopping(self) -> None:
        try:
            self._stopping.check_new()
        except BusyError:
            self._metrics.refused("stopping")
            raise


def _step_back() -> None:
    """Make the calling thread give way to others."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
