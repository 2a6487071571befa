"""A Dask cluster for commands that can use one: --scheduler, --local-cluster, and the client that they give.

`distributed` is imported only where one of the two is used.
"""

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdb_cli.output import message, plural
from pdb_core.errors import ClusterError, InputError

if TYPE_CHECKING:
    from distributed import Client

SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Work on the Dask cluster of this scheduler, such as tcp://host:8786."
    ),
]
LocalClusterOption = Annotated[
    int | None,
    typer.Option(
        "--local-cluster",
        min=1,
        max=1024,
        metavar="N",
        help="Work on a Dask cluster of N processes of this machine, started for this command.",
        show_default=False,
    ),
]

# How long a scheduler may take to answer, and a cluster of our own to end; how often workers are looked for: in
# seconds.
_CONNECT_S = 8
_CLOSE_S = 5
_POLL_S = 0.2
# Ctrl-C on a terminal, and its end, reach all processes: the command answers them and stops the workers.
_WORKER_PRELOAD = """import signal
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
"""
# Workers of a cluster of our own share its cores with the scheduler and this command. They hold no data that could be
# moved.
_FRUGAL = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.scheduler.active-memory-manager.start": False,
}


def check_cluster_options(scheduler: str | None, local_cluster: int | None) -> None:
    """Raise a usage error where both are given, `InputError` where the package is missing."""
    if scheduler is not None and local_cluster is not None:
        raise typer.BadParameter("goes without --scheduler", param_hint="--local-cluster")
    if scheduler is not None or local_cluster is not None:
        _import_distributed()


@contextlib.contextmanager
def cluster_client(scheduler: str | None, local_cluster: int | None) -> "Iterator[Client]":
    """A client of the cluster that was asked for, its workers checked to be of this version; the dashboard's address on
    stderr. Where there are no workers, this waits for the first.

    When the context is left, by an error or Ctrl-C too, everything that this client still waits for is cancelled; a
    cluster of our own is stopped.

    Raises `InputError` where the package is missing, `ClusterError` where the scheduler does not answer, or its
    workers run another version.
    """
    distributed = _import_distributed()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet_logs())
        cluster: Any = scheduler
        if local_cluster is not None:
            cluster = start_local_cluster(local_cluster)
            stack.callback(_quietly, lambda: cluster.close(timeout=_CLOSE_S))
        try:
            if scheduler is not None:
                _check_address(scheduler)
            client = distributed.Client(
                cluster, timeout=_CONNECT_S, set_as_default=False, name="tile-pdb", direct_to_workers=False
            )
        except (OSError, ValueError, TypeError) as error:
            why = str(error).partition("\n")[0] or type(error).__name__
            raise ClusterError(
                f"there is no Dask scheduler at {scheduler}: {why}; start one with dask scheduler, and name its "
                "address as it is shown there, such as tcp://host:8786"
            ) from None
        stack.callback(_quietly, lambda: client.close(timeout=_CLOSE_S))
        wait_for_workers(client)
        n_threads = check_workers(client)
        where = scheduler if local_cluster is None else "a cluster of this command's own"
        message(f"pdb: {plural(n_threads, 'thread')} on {where}; dashboard {client.dashboard_link}")
        yield client


def _check_address(address: str) -> None:
    """Raise `ValueError` for an address that no client can connect to: one that tries never ends quietly.

    Raises `OSError` if the certificates of the configuration cannot be read.
    """
    from distributed import Security
    from distributed.comm import get_address_host_port, parse_address

    protocol = parse_address(address)[0]
    if protocol not in ("inproc", "ucx"):  # they have neither host nor port
        get_address_host_port(address)
    if protocol == "tls" and Security().get_connection_args("client")["ssl_context"] is None:
        raise ValueError("Dask's configuration names no certificates for TLS (see Security in docs/cluster.md)")


def start_local_cluster(n_workers: int) -> Any:
    """A `distributed.LocalCluster` of so many processes of one thread each, without limits of memory: mapped tables
    would count against them. Its connections use TLS with a key that only this process and its workers have: another
    user of the machine could otherwise connect to the scheduler and run code on the workers.

    Raises `InputError` if a package is missing.
    """
    distributed = _import_distributed()
    import dask

    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise InputError(
            "cryptography is not installed; pip install 'tile-pdb[dask]' brings what --local-cluster needs"
        ) from None

    with dask.config.set(_FRUGAL):
        return distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            silence_logs=logging.CRITICAL,
            dashboard_address="127.0.0.1:0",  # a free port; None would be 8787, with a warning where that is taken
            preload=[_WORKER_PRELOAD],
            security=security,
        )


def wait_for_workers(client: "Client") -> None:
    """Wait until there is one, and say so on stderr: they may stand in a queue. Raises `ClusterError` where the
    scheduler goes away meanwhile.
    """
    address = client.scheduler.address
    try:
        was_told = False
        while not client.nthreads():
            if not was_told:
                message(f"pdb: waiting for workers ... (dask worker {address} starts some)")
            was_told = True
            time.sleep(_POLL_S)
    except (OSError, CancelledError):
        raise ClusterError(f"the scheduler at {address} cannot be reached any more; start the command again") from None


def check_workers(client: "Client") -> int:
    """The number of threads of all workers, which must run what the client runs. Raises `ClusterError`."""
    expected = worker_version()
    # What a worker fails with comes back as an object in place of its answer.
    versions = client.run(worker_version, on_error="return")
    for address, version in versions.items():
        if isinstance(version, ModuleNotFoundError):
            raise ClusterError(
                f"the worker at {address} has no tile-pdb: {version}; pip install 'tile-pdb[dask]' there"
            )
        if version != expected:
            raise ClusterError(
                f"the worker at {address} runs tile-pdb {_shown(version)}, this command {_shown(expected)}; install "
                "the same version on both"
            )
    return sum(client.nthreads().values())


def worker_version() -> tuple[str, str]:
    """What must be the same at the client and its workers, as a function that a worker can run."""
    from pdb_core.jit import program_version

    return program_version()


def _shown(version: object) -> str:
    if isinstance(version, tuple):
        return f"{version[0]} (kernels {version[1][:8]})"
    return f"that cannot tell its version ({version})"


def _import_distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise InputError(
            f"{error.name} is not installed; pip install 'tile-pdb[dask]' brings what --scheduler and --local-cluster "
            "need"
        ) from None
    return distributed


@contextlib.contextmanager
def _quiet_logs() -> Iterator[None]:
    """What goes wrong is told in one sentence of our own, not in those of Dask."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("distributed", "tornado")]
    loggers = [logging.getLogger(name) for name in ("distributed", *names)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _quietly(close: Any) -> None:
    """Close, not to be interrupted by another Ctrl-C; what has gone away cannot be closed, and need not."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        with contextlib.suppress(Exception):
            close()
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)
