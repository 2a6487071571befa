"""Connections to clusters, and the errors of Dask and of tasks, turned into errors of the project."""

import asyncio
import concurrent.futures
import contextlib
import functools
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from distributed import Client, KilledWorker, Security
from distributed.comm import CommClosedError, connect
from tornado.ioloop import IOLoop

import pdb_core
from pdb_core.errors import ClusterError, PdbError

# Seconds for a scheduler to answer, and for a client to say goodbye; interval at which workers are looked for.
_CONNECT_S = 8
_CLOSE_S = 5
_POLL_S = 0.2
# Seconds for a worker to answer, which may have to load its packages first.
ANSWER_S = 15.0
# States of workers that start no more tasks.
_ENDING = ("closing_gracefully", "closing", "closed", "failed")
# Packages whose code runs on workers.
_PACKAGES = ("pdb_core", "pdb_query", "pdb_build", "solver", "pdb_cluster")


@contextlib.contextmanager
def connected(scheduler: str, say: Callable[[str], None]) -> Iterator[Client]:
    """Connect to the cluster of `scheduler`, and wait for its first worker. At the end, all tasks are cancelled.

    `say` is called with sentences for the user. Raises `ClusterError` if the scheduler does not answer, or ends
    meanwhile, or all workers run other versions.
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
            check_workers(client, say)
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


def check_workers(client: Any, say: Callable[[str], None] = lambda _: None) -> dict[str, int]:
    """Return the threads of each worker of this version, after the first answer; {} if there are no workers.

    `say` is called with a sentence for each worker that does not answer. Raises `ClusterError` if all workers have
    other versions.
    """

    def say_if_late(text: str) -> None:
        if text not in right.refused:  # those are reported later
            say(text)

    right = RightWorkers(client, say_if_late)
    while not (threads := right.threads()) and right.is_waiting:
        time.sleep(_POLL_S)
    if right.refused and not threads:
        raise ClusterError(right.refused[0])
    return threads


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


@dataclass
class _Worker:
    """Answer of a worker.

    late_at  when an answer is late
    asked    the answer that has not come
    why_not  why it gets no tasks; empty if it gets some, None if that is not known
    """

    late_at: float
    asked: "concurrent.futures.Future[Any] | None" = None
    why_not: str | None = None


@dataclass
class _Known:
    """Workers of a client, and their answers.

    trusted     addresses of workers that got tasks
    has_waited  whether a call has waited for the first answers
    """

    workers: dict[_Process, _Worker] = field(default_factory=dict)
    trusted: set[str] = field(default_factory=set)
    has_waited: bool = False


_known: "WeakKeyDictionary[Any, _Known]" = WeakKeyDictionary()


class RightWorkers:
    """Workers of a cluster that run the version of this process. The others get no tasks, and are reported once."""

    def __init__(self, client: Any, say: Callable[[str], None]) -> None:
        """`client` is a `distributed.Client`. `say` is called with a sentence for each worker that is left out."""
        self._client, self._say = client, say
        self._known = _known.setdefault(client, _Known())
        self._said: set[tuple[_Process, str]] = set()

    @property
    def is_waiting(self) -> bool:
        """Whether an answer of a worker is still to come."""
        return any(worker.asked for worker in self._known.workers.values())

    @property
    def refused(self) -> list[str]:
        """Why workers are refused."""
        return [worker.why_not for worker in self._known.workers.values() if worker.why_not]

    def threads(self) -> dict[str, int]:
        """Return the threads of each worker that runs this version, by its address.

        The first call for a client waits some seconds for the answers of all workers; later ones do not wait.

        Raises `ClusterError`, also if a worker of another version has come to the address of one of this version: it
        may have run tasks.
        """
        known, present = self._known, _present(self._client)
        late_at = time.monotonic() + ANSWER_S
        known.workers = {process: known.workers.get(process, _Worker(late_at)) for process in present}
        for process, worker in known.workers.items():
            if worker.why_not is None and worker.asked is None:
                worker.asked = ask(self._client, _own_sources, process.address)
        if present and not known.has_waited:
            concurrent.futures.wait([worker.asked for worker in known.workers.values() if worker.asked], ANSWER_S)
            known.has_waited = True
        for process, worker in known.workers.items():
            if worker.asked and worker.asked.done():
                worker.why_not, worker.asked = self._judged(process, worker.asked), None
            why = worker.why_not
            if why is None and time.monotonic() >= worker.late_at:
                why = f"the worker at {process.address} does not answer; it gets no tasks until it does"
            if why and (process, why) not in self._said:
                self._said.add((process, why))
                self._say(why)
        return {
            process.address: n_threads for process, n_threads in present.items() if known.workers[process].why_not == ""
        }

    def _judged(self, process: _Process, answer: "concurrent.futures.Future[Any]") -> str | None:
        """Return why a worker gets no tasks: `_Worker.why_not`. Raises as `threads`."""
        version = None if answer.cancelled() else answer.exception() or answer.result()
        if version is None or isinstance(version, OSError):  # it has just ended, or is asked again
            return None
        if version == program_sources():
            self._known.trusted.add(process.address)
            return ""
        if isinstance(version, tuple):
            what = f"runs tile-pdb {_shown(version)}, this command {_shown(program_sources())}"
        else:  # Dask may return one error as another
            what = f"has no tile-pdb of this version ({version})"
        if process.address in self._known.trusted:
            raise ClusterError(
                f"the new worker at {process.address} {what}; install the same version on both, and start again"
            )
        return f"the worker at {process.address} {what}, so it gets no tasks; install the same version on both"


def _own_sources() -> tuple[str, str] | str:
    """Return `program_sources`, or why they cannot be read. Runs on a worker."""
    try:
        return program_sources()
    except OSError as error:
        return str(error)


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
