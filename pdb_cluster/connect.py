"""Connections to clusters, and the errors of Dask and of tasks, turned into errors of the project."""

import asyncio
import contextlib
import errno
import functools
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster, Security
from distributed.comm import connect
from tornado.ioloop import IOLoop

from pdb_core.errors import ClusterError, InputError, PdbError
from pdb_core.jit import program_version

# Seconds for a scheduler to answer, and for a local cluster to end; interval at which workers are looked for.
_CONNECT_S = 8
_CLOSE_S = 5
_POLL_S = 0.2
# Ctrl-C and the end of a terminal reach all processes. The command handles them and stops the workers.
_WORKER_PRELOAD = """import signal
from pdb_core.system import HANGUP
for number in (signal.SIGINT, HANGUP):
    signal.signal(number, signal.SIG_IGN)
"""
_NETWORK_ERRORS = (errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH)
# A local cluster shares its cores with the scheduler and the command. Its data is never moved.
_FRUGAL = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.scheduler.active-memory-manager.start": False,
}


@contextlib.contextmanager
def connected(scheduler: str | None, n_workers: int, say: Callable[[str], None]) -> Iterator[Client]:
    """Connect to the cluster of `scheduler`; if it is None, start a local one of `n_workers` processes.

    Wait for the first worker. At the end all tasks are cancelled and a local cluster is stopped. `say` is called with
    sentences for the user. Raises `ClusterError` if the scheduler does not answer or all workers run other versions;
    `InputError` if a package is missing.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet_logs())
        cluster: Any = scheduler
        if scheduler is None:
            cluster = stack.enter_context(local_cluster(n_workers))
        try:
            if scheduler is not None:
                check_scheduler(scheduler, Security())
            client = Client(cluster, timeout=_CONNECT_S, set_as_default=False, name="tile-pdb", loop=event_loop())
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            why = str(error).partition("\n")[0] or type(error).__name__
            raise ClusterError(
                f"there is no Dask scheduler at {scheduler}: {why}; start one with dask scheduler, and give the "
                "address that it shows, such as tcp://host:8786"
            ) from None
        stack.callback(_quietly, lambda: client.close(timeout=_CLOSE_S))
        wait_for_workers(client, say)
        check_workers(client)
        yield client


@functools.cache
def event_loop() -> IOLoop:
    """Return the event loop of all clusters and clients. Its thread runs until the process ends.

    If Dask starts such a thread itself, it waits only 10 seconds for it, and then fails an assertion.
    """

    async def current() -> IOLoop:
        return IOLoop.current()

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="Dask event loop", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(current(), loop).result()


@contextlib.contextmanager
def local_cluster(n_workers: int) -> Iterator[LocalCluster]:
    """Start a cluster of processes of one thread each on this machine, and stop it at the end.

    The processes have no memory limit, since Dask counts mapped tables as memory. Connections use TLS with a key of
    their own, so other users of the machine cannot run code on the workers. Raises `InputError` without cryptography.
    """
    try:
        security = Security.temporary()
    except ImportError:
        raise InputError("cryptography is not installed; run pip install 'tile-pdb[dask]'") from None
    with dask.config.set(_FRUGAL):
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            silence_logs=logging.CRITICAL,
            dashboard_address="127.0.0.1:0",  # a free port; None would be 8787, with a warning if that is taken
            preload=[_WORKER_PRELOAD],
            security=security,
            loop=event_loop(),
        )
    try:
        yield cluster
    finally:
        _quietly(lambda: cluster.close(timeout=_CLOSE_S))


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
        """Return the threads of each worker that runs this version, by its address."""
        with while_reachable():
            present = self._client.nthreads()
            new = [address for address in present if address not in self._is_right]
            # An error on a worker is returned in place of its version.
            answers = self._client.run(program_version, workers=new, on_error="return") if new else {}
        for address, version in answers.items():
            if isinstance(version, OSError):  # it has just ended
                continue
            why = _why_refused(address, version)
            self._is_right[address] = why is None
            if why is not None:
                self._say(why)
        return {address: n_threads for address, n_threads in present.items() if self._is_right.get(address)}


def _why_refused(address: str, version: object) -> str | None:
    """Return the sentence about a worker that answered with this version, or with an error; None if it is right."""
    expected = program_version()
    if version == expected:
        return None
    if isinstance(version, ModuleNotFoundError):
        return (
            f"the worker at {address} has no tile-pdb, so it gets no tasks: {version}; run pip install "
            "'tile-pdb[dask]' there"
        )
    return (
        f"the worker at {address} runs tile-pdb {_shown(version)}, this command {_shown(expected)}, so it gets no "
        "tasks; install the same version on both"
    )


def _shown(version: object) -> str:
    return f"{version[0]} (kernels {version[1][:8]})" if isinstance(version, tuple) else f"({version})"


def check_scheduler(address: str, security: Security) -> None:
    """Raise an error, most often `OSError` or `ValueError`, if no Dask process answers at an address.

    A `Client` that cannot connect would print tracebacks when it is deleted.
    """
    arguments = security.get_connection_args("client")
    if address.startswith("tls:") and arguments["ssl_context"] is None:
        raise ValueError("Dask's configuration names no certificates for TLS (see Security in docs/how-to/cluster.md)")

    async def check() -> None:
        comm = await connect(address, timeout=_CONNECT_S, **arguments)
        await comm.close()

    asyncio.run_coroutine_threadsafe(check(), event_loop().asyncio_loop).result()  # type: ignore[attr-defined]


@contextlib.contextmanager
def _quiet_logs() -> Iterator[None]:
    """Silence the logs of Dask. Errors are reported in one sentence instead."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


def _quietly(close: Callable[[], object]) -> None:
    """Close something, uninterrupted by another Ctrl-C and without an error if it is gone already."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        with contextlib.suppress(Exception):
            close()
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def while_reachable() -> Iterator[None]:
    """Raise `ClusterError` when the scheduler is lost or has dropped the tasks. Errors of files stay as they are."""
    try:
        yield
    except BrokenPipeError:  # the command's output was closed
        raise
    except (OSError, asyncio.CancelledError, CancelledError) as error:
        if isinstance(error, PdbError) or not _is_of_connection(error):
            raise
        raise ClusterError(
            "the scheduler dropped the tasks or cannot be reached any more; start the command again"
        ) from error


def _is_of_connection(error: BaseException) -> bool:
    """Return whether an error is that of a connection or of dropped tasks. Dask's own errors have no number."""
    if not isinstance(error, OSError) or isinstance(error, ConnectionError | TimeoutError):
        return True
    return error.errno is None or error.errno in _NETWORK_ERRORS


def failure(what: str, error: BaseException) -> PdbError:
    """Return the error to raise when `what` failed on a worker with `error`. An error of the project stays as it is."""
    if isinstance(error, PdbError):
        return error
    if isinstance(error, KilledWorker):
        return ClusterError(f"{what}: several workers died, most often because they ran out of memory; see their logs")
    if isinstance(error, MemoryError):
        return ClusterError(f"{what}: a worker ran out of memory; start more or larger workers")
    why = "".join(f": {line}" for line in str(error).splitlines()[:1])
    return ClusterError(f"{what} ({type(error).__name__}{why}); the logs of the workers may say more")
