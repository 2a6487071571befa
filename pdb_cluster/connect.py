"""Connections to clusters, and the errors of Dask and of tasks, turned into errors of the project."""

import asyncio
import concurrent.futures
import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from distributed import Client, KilledWorker, Security
from distributed.comm import connect
from tornado.ioloop import IOLoop

from pdb_core.errors import ClusterError, PdbError
from pdb_core.jit import program_version

# Seconds for a scheduler to answer, and for a client to say goodbye; interval at which workers are looked for.
_CONNECT_S = 8
_CLOSE_S = 5
_POLL_S = 0.2


@contextlib.contextmanager
def connected(scheduler: str, say: Callable[[str], None]) -> Iterator[Client]:
    """Connect to the cluster of `scheduler`, and wait for its first worker. At the end, all tasks are cancelled.

    `say` is called with sentences for the user. Raises `ClusterError` if the scheduler does not answer or all workers
    run other versions.
    """
    # Errors are reported in one sentence instead.
    logged = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with _client(scheduler) as client:
            wait_for_workers(client, say)
            check_workers(client)
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


def wait_for_workers(client: Client, say: Callable[[str], None]) -> None:
    """Wait for the first worker. Raises `ClusterError` if the scheduler ends meanwhile."""
    with while_reachable():
        if not client.nthreads():
            say(f"waiting for workers ... (dask worker {client.scheduler.address} starts some)")
        while not client.nthreads():
            time.sleep(_POLL_S)


def check_workers(client: Any) -> dict[str, int]:
    """Return the threads of each worker of this version. Raise `ClusterError` if all workers have other versions."""
    refused: list[str] = []
    threads = RightWorkers(client, refused.append).threads()
    if refused and not threads:
        raise ClusterError(refused[0])
    return threads


class RightWorkers:
    """Workers of a cluster that run the version of this process. The others get no tasks, and are reported once."""

    def __init__(self, client: Any, say: Callable[[str], None]) -> None:
        """`client` is a `distributed.Client`. `say` is called with a sentence for each worker that is refused."""
        self._client, self._say = client, say
        self._is_right: dict[str, bool] = {}

    def threads(self) -> dict[str, int]:
        """Return the threads of each worker that runs this version, by its address. Raises `ClusterError`."""
        with while_reachable():
            present = self._client.nthreads()
            # Another process may start at the address of one that has ended.
            self._is_right = {address: self._is_right[address] for address in present if address in self._is_right}
            new = [address for address in present if address not in self._is_right]
            # An error on a worker is returned in place of its version.
            answers = self._client.run(program_version, workers=new, on_error="return") if new else {}
        for address, version in answers.items():
            if isinstance(version, OSError):  # it has just ended
                continue
            self._is_right[address] = version == program_version()
            if not self._is_right[address]:
                if isinstance(version, Exception):  # Dask may return one error as another
                    what = f"has no tile-pdb of this version ({version})"
                else:
                    what = f"runs tile-pdb {_shown(version)}, this command {_shown(program_version())}"
                self._say(f"the worker at {address} {what}, so it gets no tasks; install the same version on both")
        return {address: n_threads for address, n_threads in present.items() if self._is_right.get(address)}


def _shown(version: tuple[str, str]) -> str:
    return f"{version[0]} (kernels {version[1][:8]})"


@contextlib.contextmanager
def while_reachable() -> Iterator[None]:
    """Raise `ClusterError` if the scheduler is lost or has dropped the tasks. For calls of a client only."""
    try:
        yield
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        raise ClusterError(
            "the scheduler dropped the tasks or cannot be reached any more; start the command again"
        ) from error


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
