"""Connections to clusters, and the errors of Dask and of tasks, turned into errors of the project."""

import asyncio
import concurrent.futures
import contextlib
import functools
import hashlib
import logging
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
# States of workers that start no more tasks.
_ENDING = ("closing_gracefully", "closing", "closed", "failed")
# Share of a worker's memory limit that a search may take.
_LIMIT_SHARE = 0.6
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
        # The memory of each worker that has answered; None if it is left out.
        self._known: dict[_Process, int | None] = {}
        self._trusted: set[str] = set()

    def present(self) -> dict[str, Worker]:
        """Return the workers that run this version, by their addresses. Waits for the answers of new workers.

        Raises `ClusterError`, also if all workers run other versions at the first call, or if a worker of another
        version has come to the address of one of this version: it may have run tasks.
        """
        present = _present(self._client)
        new = present.keys() - self._known.keys()
        with while_reachable(self._client):
            addresses = [process.address for process in new]
            reports = self._client.run(_report, workers=addresses, on_error="return") if new else {}
        n_on = Counter(_machine(process) for process in present)
        refused: list[str] = []
        for process in new:
            report = reports.get(process.address)
            if report is None or isinstance(report, OSError):  # it has just ended, or is asked again
                continue
            if why_not := self._why_not(process, report):
                refused.append(why_not)
                self._known[process] = None
            else:
                self._trusted.add(process.address)
                self._known[process] = min(report[1] // n_on[_machine(process)], report[2])
        if refused and not self._trusted:
            raise ClusterError(refused[0])
        for why_not in refused:
            self._say(why_not)
        return {
            process.address: Worker(n_threads, memory)
            for process, n_threads in present.items()
            if (memory := self._known.get(process)) is not None
        }

    def _why_not(self, process: _Process, report: Any) -> str:
        """Return why a worker gets no tasks, empty if it gets some. Raises as `present`."""
        sources = report[0] if isinstance(report, tuple) else report
        if sources == program_sources():
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


def _report(dask_worker: Any) -> tuple[tuple[str, str], int, int]:
    """Return `program_sources`, the available memory of the machine, and that of the worker within its limit.

    Runs on a worker.
    """
    available, limit = available_memory(), dask_worker.memory_manager.memory_limit
    # Dask pauses a worker above 80 % of its limit.
    left = int(_LIMIT_SHARE * limit) - dask_worker.monitor.get_process_memory() if limit else available
    return program_sources(), available, max(0, left)


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


@contextlib.contextmanager
def while_reachable(client: Any) -> Iterator[None]:
    """Raise `ClusterError` if the scheduler is lost. For calls of a client and their results only."""
    try:
        yield
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        raise _scheduler_lost() from error
    except Exception as error:
        if client.status == "running":
            raise
        raise _scheduler_lost() from error


def _scheduler_lost() -> ClusterError:
    """Return the error to raise when the scheduler has gone or has dropped the tasks."""
    return ClusterError("the scheduler dropped the tasks or cannot be reached any more; start the command again")


def failure(error: BaseException) -> PdbError:
    """Return the error to raise when a task failed on a worker with `error`. An error of the project stays as it is."""
    if isinstance(error, PdbError):
        return error
    if isinstance(error, KilledWorker):
        return workers_died()
    if isinstance(error, MemoryError):
        return ClusterError("a task failed on the cluster: a worker ran out of memory; start more or larger workers")
    why = "".join(f": {line}" for line in str(error).splitlines()[:1])
    return ClusterError(
        f"a task failed on the cluster ({type(error).__name__}{why}); the logs of the workers may say more"
    )


def workers_died() -> ClusterError:
    """Return the error to raise when a task failed because it killed its workers."""
    return ClusterError(
        "a task failed on the cluster: several workers died, most often because they ran out of memory; see their logs"
    )
