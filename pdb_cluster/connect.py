"""Connections to clusters, and the errors of Dask and of tasks, turned into errors of the project."""

import asyncio
import concurrent.futures
import contextlib
import functools
import hashlib
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from distributed import Client, KilledWorker, Security
from distributed.comm import CommClosedError, connect
from tornado.ioloop import IOLoop

import pdb_core
from pdb_core.errors import ClusterError, PdbError
from pdb_core.resources import available_memory

# Seconds for a scheduler to answer, and for a client to say goodbye; interval at which workers are looked for.
_CONNECT_S = 8
_CLOSE_S = 5
_POLL_S = 0.2
# Seconds for a worker to answer, which may have to load its packages first.
ANSWER_S = 15.0
# States of workers that start no more tasks.
_ENDING = ("closing_gracefully", "closing", "closed", "failed")
# Share of a worker's memory limit that a search may take; memory of a system that does not report it.
_LIMIT_SHARE = 0.6
_UNKNOWN_BYTES = 1 << 62
# Packages whose code runs on workers.
_PACKAGES = ("pdb_core", "pdb_query", "pdb_build", "solver", "pdb_cluster")


@contextlib.contextmanager
def connected(scheduler: str, say: Callable[[str], None]) -> Iterator[Client]:
    """Connect to the cluster of `scheduler`, and wait for its first worker. At the end, all tasks are cancelled.

    `say` is called with sentences for the user. Raises `ClusterError` if the scheduler does not answer, or ends
    meanwhile.
    """
    # Errors are reported in one sentence instead.
    logged = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with _client(scheduler) as client:
            if not _present(client):
                say(f"waiting for workers ... (dask worker {client.scheduler.address} starts some)")
            while not _present(client):
                time.sleep(_POLL_S)
            yield client
    finally:
        logging.disable(logged)


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Client]:
    try:
        _check_scheduler(scheduler)
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False, name="tile-pdb", loop=event_loop())
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        raise ClusterError(
            f"there is no Dask scheduler at {scheduler}: {why}; start one with dask scheduler, and give the "
            "address that it shows, such as tcp://host:8786"
        ) from None
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.close(timeout=_CLOSE_S)


@functools.cache
def event_loop() -> IOLoop:
    """Return the event loop of all clients. Its thread runs until the process ends.

    If Dask starts such a thread itself, it waits only 10 seconds for it, and then fails an assertion.
    """

    async def current() -> IOLoop:
        return IOLoop.current()

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="Dask event loop", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(current(), loop).result()


def _check_scheduler(address: str) -> None:
    """Raise an error, most often `OSError` or `ValueError`, if no Dask process answers at an address.

    A `Client` that cannot connect would print warnings when it is deleted.
    """
    arguments = Security().get_connection_args("client")
    if address.startswith("tls:") and arguments["ssl_context"] is None:
        raise ValueError("Dask's configuration names no certificates for TLS (see Security in docs/how-to/cluster.md)")

    async def check() -> None:
        comm = await connect(address, timeout=_CONNECT_S, **arguments)
        await comm.close()

    asyncio.run_coroutine_threadsafe(check(), event_loop().asyncio_loop).result()  # type: ignore[attr-defined]


class _Process(NamedTuple):
    """Process of a worker. Another one may start at the address of one that has ended, but has its own folder."""

    address: str
    folder: str


def _present(client: Any) -> dict[_Process, int]:
    """Return the threads of each worker that takes tasks. Raises `ClusterError` if the scheduler is lost."""
    with while_reachable(client):
        if client.status != "running":
            raise CommClosedError(client.status)
        workers = client.sync(client.scheduler.identity)["workers"]
    return {
        _Process(address, worker["local_directory"]): worker["nthreads"]
        for address, worker in workers.items()
        if worker["status"] not in _ENDING
    }


class Worker(NamedTuple):
    """Worker that gets tasks.

    `memory_bytes` is its share of the memory of its machine when it was asked, within its own limit.
    """

    n_threads: int
    memory_bytes: int


class RightWorkers:
    """Workers of a cluster that run the version of this process. The others get no tasks, and are reported once."""

    def __init__(self, client: Any, say: Callable[[str], None]) -> None:
        """`client` is a `distributed.Client`. `say` is called with a sentence for each worker that is left out."""
        self._client, self._say = client, say
        # The answer of each worker, and when it is late; then the memory of a right worker, or None.
        self._asked: dict[_Process, tuple[concurrent.futures.Future[Any], float]] = {}
        self._known: dict[_Process, int | None] = {}
        self._trusted: set[str] = set()
        self._has_waited = False

    def present(self) -> dict[str, Worker]:
        """Return the workers that run this version, by their addresses.

        The first call waits some seconds for the answers of all workers; later ones do not wait.

        Raises `ClusterError`, also if all workers run other versions at the first call, or if a worker of another
        version has come to the address of one of this version: it may have run tasks.
        """
        present, now = _present(self._client), time.monotonic()
        self._asked = {process: asked for process, asked in self._asked.items() if process in present}
        for process in present.keys() - self._known.keys() - self._asked.keys():
            self._asked[process] = ask(self._client, _report, process.address), now + ANSWER_S
        is_first = bool(present) and not self._has_waited
        if is_first:
            concurrent.futures.wait([answer for answer, _ in self._asked.values()], ANSWER_S)
            self._has_waited = True
        refused: list[str] = []
        n_on = Counter(_machine(process) for process in present)
        for process, (answer, late_at) in list(self._asked.items()):
            if answer.done():
                del self._asked[process]
                report: Any = None if answer.cancelled() else answer.exception() or answer.result()
                if report is None or isinstance(report, OSError):  # it has just ended, or is asked again
                    continue
                why = self._why_not(process, report)
                refused += [why] if why else []
                self._known[process] = None if why else min(report[1] // n_on[_machine(process)], report[2])
            elif time.monotonic() >= late_at:
                self._asked[process] = answer, math.inf
                self._say(f"the worker at {process.address} does not answer; it gets no tasks until it does")
        right = {
            process.address: Worker(n_threads, memory)
            for process, n_threads in present.items()
            if (memory := self._known.get(process)) is not None
        }
        if is_first and refused and not right and not self._asked:
            raise ClusterError(refused[0])
        for why in refused:
            self._say(why)
        return right

    def _why_not(self, process: _Process, report: Any) -> str:
        """Return why a worker gets no tasks, empty if it gets some. Raises as `present`."""
        sources = report[0] if isinstance(report, tuple) else report
        if sources == program_sources():
            self._trusted.add(process.address)
            return ""
        if isinstance(sources, tuple):
            what = f"runs tile-pdb {_shown(sources)}, this command {_shown(program_sources())}"
        else:  # Dask may return one error as another
            what = f"has no tile-pdb of this version ({sources})"
        if process.address in self._trusted:
            raise ClusterError(
                f"the new worker at {process.address} {what}; install the same version on both, and start again"
            )
        return f"the worker at {process.address} {what}, so it gets no tasks; install the same version on both"


def _machine(process: _Process) -> str:
    return process.address.rpartition(":")[0]


def _report(dask_worker: Any) -> tuple[tuple[str, str] | str, int, int]:
    """Return `program_sources`, or why they cannot be read; the available memory of the machine; and that of the worker
    within its limit. Runs on a worker.
    """
    try:
        sources: tuple[str, str] | str = program_sources()
    except OSError as error:
        sources = str(error)
    known, limit = available_memory(), dask_worker.memory_manager.memory_limit
    available = _UNKNOWN_BYTES if known is None else known
    # Dask pauses a worker above 80 % of its limit.
    left = int(_LIMIT_SHARE * limit) - dask_worker.monitor.get_process_memory() if limit else available
    return sources, available, max(0, left)


@functools.cache
def program_sources() -> tuple[str, str]:
    """Return the version and the digest of all sources of tasks, as they were at the first call."""
    digest, root = hashlib.sha256(), Path(pdb_core.__file__).parent.parent
    files = [path for package in _PACKAGES for path in (root / package).rglob("*.py")]
    for name in sorted(path.relative_to(root).as_posix() for path in files):
        digest.update(name.encode() + (root / name).read_bytes())
    return pdb_core.__version__, digest.hexdigest()


def _shown(version: tuple[str, str]) -> str:
    return f"{version[0]} (sources {version[1][:8]})"


def ask(client: Any, function: Callable[..., Any], address: str) -> "concurrent.futures.Future[Any]":
    """Run a function on a worker, beside its tasks.

    The result may never come. It is that of the function, the error that it raised, or None or an `OSError` if the
    worker has ended.
    """

    async def answer() -> Any:
        return (await client.run(function, workers=[address], on_error="return")).get(address)

    return asyncio.run_coroutine_threadsafe(answer(), client.loop.asyncio_loop)


@contextlib.contextmanager
def while_reachable(client: Any) -> Iterator[None]:
    """Raise `ClusterError` if the scheduler is lost. For calls of a client and their results only."""
    try:
        yield
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        raise scheduler_lost() from error
    except Exception as error:
        if client.status == "running":
            raise
        raise scheduler_lost() from error


def scheduler_lost() -> ClusterError:
    """Return the error to raise when the scheduler has gone or has dropped the tasks."""
    return ClusterError("the scheduler dropped the tasks or cannot be reached any more; start the command again")


def failure(what: str, error: BaseException) -> PdbError:
    """Return the error to raise when `what` failed on a worker with `error`. An error of the project stays as it is."""
    if isinstance(error, PdbError):
        return error
    if isinstance(error, KilledWorker):
        return workers_died(what)
    if isinstance(error, MemoryError):
        return ClusterError(f"{what}: a worker ran out of memory; start more or larger workers")
    why = "".join(f": {line}" for line in str(error).splitlines()[:1])
    return ClusterError(f"{what} ({type(error).__name__}{why}); the logs of the workers may say more")


def workers_died(what: str) -> ClusterError:
    """Return the error to raise when `what` failed because it killed its workers."""
    return ClusterError(f"{what}: several workers died, most often because they ran out of memory; see their logs")
