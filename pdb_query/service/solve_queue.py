"""Solves take turns: so many run at a time, so many wait, and beyond that a client is told to come back."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pdb_core.errors import BusyError
from pdb_query.service.solving import Progress

Outcome = TypeVar("Outcome")

# Searching threads give way to those that answer lookups, where the system knows of threads' niceness (Linux).
_NICENESS = 10
_STOPPING = "this server is being stopped; ask again in a moment"


class GivenUpError(Exception):
    """Nobody waits for this search any more."""


class Job:
    """One search under way, told about by its thread and looked at from the event loop."""

    def __init__(self, queue: "SolveQueue") -> None:
        self._queue = queue
        self._given_up = threading.Event()
        # Generated and expanded nodes of the thresholds that are over, and the one that is searched.
        self._standing: tuple[int, int, Progress] | None = None
        self._started = time.monotonic()

    def give_up(self) -> None:
        """End the search within a fraction of a second."""
        self._given_up.set()

    def report(self, progress: Progress) -> None:
        """Called by the search. Raises `GivenUpError`, and `BusyError` where the server stops."""
        if self._given_up.is_set():
            raise GivenUpError
        self._queue.check_stopping()
        generated = expanded = 0
        if self._standing is not None:
            generated, expanded, latest = self._standing
            if latest.threshold != progress.threshold:
                generated, expanded = generated + latest.generated, expanded + latest.expanded
        self._standing = generated, expanded, progress

    def progress(self) -> dict[str, float] | None:
        """Where the search is, for the client; None before there is anything to tell."""
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
    """A bounded number of threads that search, and a bounded number of clients that wait for them."""

    def __init__(self, n_running: int, n_waiting: int, grace_s: float) -> None:
        self._pool = ThreadPoolExecutor(n_running, thread_name_prefix="solve", initializer=_step_back)
        self._slots = asyncio.Semaphore(n_running)
        self._most_waiting = n_waiting
        self._grace_s = grace_s
        self._stop_at: float | None = None
        self.n_waiting = 0
        self.n_running = 0

    def stop(self) -> None:
        """Take no more, and end what runs when the time of grace is over."""
        if self._stop_at is None:
            self._stop_at = time.monotonic() + self._grace_s

    def check_stopping(self) -> None:
        """Raise `BusyError` where the server stops and the time of grace is over."""
        if self._stop_at is not None and time.monotonic() >= self._stop_at:
            raise BusyError(_STOPPING)

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def check_open(self) -> None:
        """Raise `BusyError` where too many wait, or the server stops."""
        if self._slots.locked() and self.n_waiting >= self._most_waiting:
            raise BusyError(f"{self.n_running} solves run here and {self.n_waiting} wait; ask again in some seconds")
        self._refuse_when_stopping()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[Job]:
        """Wait for a turn. Raises `BusyError` where too many wait, or the server stops."""
        self.check_open()
        self.n_waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self.n_waiting -= 1
        self.n_running += 1
        try:
            self._refuse_when_stopping()
            yield Job(self)
        finally:
            self.n_running -= 1
            self._slots.release()

    async def run(self, job: Job, work: Callable[[], Outcome]) -> Outcome:
        """Do `work` in a thread of the pool. Where this is cancelled the job is given up, and its end awaited."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            job.give_up()
            with contextlib.suppress(Exception):
                await future
            raise

    def _refuse_when_stopping(self) -> None:
        if self._stop_at is not None:
            raise BusyError(_STOPPING)


def _step_back() -> None:
    """Make the calling thread give way to others."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
