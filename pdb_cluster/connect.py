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
from pathlib import Path
from typing import Any, NamedTuple

from distributed import Client, KilledWorker, Security
from distributed.comm import CommClosedError, connect
from tornado.ioloop import IOLoop

import pdb_core
from pdb_core.errors import ClusterError, PdbError
from pdb_core.resources import available_memory

# Seconds for a client to say goodbye; interval at which workers are looked for.
_CLOSE_S = 5
_POLL_S = 0.2
# States of workers that start no more tasks.
_ENDING = ("closing_gracefully", "closing", "closed", "failed")
# Errors of a connection to a scheduler that has gone or has dropped the tasks.
_LOST = (OSError, asyncio.CancelledError, concurrent.futures.CancelledError)
# Packages whose code runs on workers.
_PACKAGES = ("pdb_core", "pdb_query", "pdb_build", "solver", "pdb_cluster")


@contextlib.contextmanager
def connected(scheduler: str, say: Callable[[str], None], *, timeout_s: float = 8) -> Iterator[Client]:
    """Connect to the cluster of `scheduler`, and wait for its first worker. At the end, all tasks are cancelled.

    `say` is called with sentences for the user. Raises `ClusterError` if the scheduler does not answer in `timeout_s`,
    or ends meanwhile.
    """
    # Errors are reported in one sentence instead.
    logged = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        client = _client(scheduler, timeout_s)
        try:
            if not processes(client):
                say(f"waiting for workers ... (dask worker {client.scheduler.address} starts some)")
            while not processes(client):
                time.sleep(_POLL_S)
            yield client
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                client.close(timeout=_CLOSE_S)
    finally:
        logging.disable(logged)


def _client(scheduler: str, timeout_s: float) -> Client:
    try:
        _check_scheduler(scheduler, timeout_s)
        return Client(scheduler, timeout=timeout_s, set_as_default=False, name="tile-pdb", loop=event_loop())
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        raise ClusterError(
            f"there is no Dask scheduler at {scheduler}: {why}; start one with dask scheduler, and give the "
            "address that it shows, such as tcp://host:8786"
        ) from None


def _check_scheduler(address: str, timeout_s: float) -> None:
    """Raise an error, most often `OSError` or `ValueError`, if no Dask process answers at an address.

    A `Client` that cannot connect would print warnings when it is deleted.
    """
    arguments = Security().get_connection_args("client")
    if address.startswith("tls:") and arguments["ssl_context"] is None:
        raise ValueError("Dask's configuration names no certificates for TLS (see Security in docs/how-to/cluster.md)")

    async def check() -> None:
        comm = await connect(address, timeout=timeout_s, **arguments)
        await comm.close()

    asyncio.run_coroutine_threadsafe(check(), event_loop().asyncio_loop).result()  # type: ignore[attr-defined]


@functools.cache
def event_loop() -> IOLoop:
    """Return the event loop of all clients. Its thread runs until the process ends.

    If Dask starts such a thread itself, it waits only 10 seconds for it, and then fails an assertion.
    """

    loop: IOLoop = IOLoop(make_current=False)
    threading.Thread(target=loop.start, name="Dask event loop", daemon=True).start()
    return loop


class Process(NamedTuple):
    """Process of a worker. Another one may start at the address of one that has ended, but has its own folder."""

    address: str
    folder: str
    host: str


def processes(client: Any) -> dict[Process, int]:
    """Return the threads of each worker that takes tasks. Raises `ClusterError` if the scheduler is lost."""
    with while_reachable(client):
        if client.status != "running":
            raise CommClosedError(client.status)
        workers = client.sync(client.scheduler.identity)["workers"]
    return {
        Process(address, worker["local_directory"], worker["host"]): worker["nthreads"]
        for address, worker in workers.items()
        if worker["status"] not in _ENDING
    }


def report() -> tuple[tuple[str, str], int]:
    """Return `program_sources` and the available memory of the machine. Runs on a worker."""
    return program_sources(), available_memory()


@functools.cache
def program_sources() -> tuple[str, str]:
    """Return the version and the digest of all sources of tasks, as they were at the first call."""
    digest, root = hashlib.sha256(), Path(pdb_core.__file__).parent.parent
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return pdb_core.__version__, digest.hexdigest()


def difference(sources: Any) -> str:
    """Return how a worker differs from this process: by its `program_sources`, or the error without them."""
    if not isinstance(sources, tuple):  # Dask may return one error as another
        return f"has no tile-pdb of this version ({sources})"
    theirs, ours = (f"{version} (sources {digest[:8]})" for version, digest in (sources, program_sources()))
    return f"runs tile-pdb {theirs}, this command {ours}"


@contextlib.contextmanager
def while_reachable(client: Any) -> Iterator[None]:
    """Raise `ClusterError` if the scheduler is lost. For calls of a client and their results only."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        if client.status == "running" and not isinstance(error, _LOST):
            raise
        raise ClusterError(
            "the scheduler dropped the tasks or cannot be reached any more; start the command again"
        ) from error


def failure(error: BaseException) -> PdbError:
    """Return the error to raise when a task failed on a worker with `error`. An error of the project stays as it is."""
    if isinstance(error, PdbError):
        return error
    if isinstance(error, KilledWorker):
        return workers_died()
    why = "".join(f": {line}" for line in str(error).splitlines()[:1])
    return ClusterError(
        f"a task failed on the cluster ({type(error).__name__}{why}); the logs of the workers may say more"
    )


def workers_died() -> ClusterError:
    """Return the error to raise when a task failed because it killed its workers."""
    return ClusterError(
        "a task failed on the cluster: several workers died, most often because they ran out of memory; see their logs"
    )
