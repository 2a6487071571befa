"""Options --scheduler and --local-cluster of commands that can use a Dask cluster, and the client that they give.

`distributed` is imported only if one of the two is used.
"""

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pdb_cli.output import message, plural
from pdb_core.errors import InputError

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


def check_cluster_options(scheduler: str | None, local_cluster: int | None) -> None:
    """Raise a usage error if both are given, `InputError` if the package `distributed` is missing."""
    if scheduler is not None and local_cluster is not None:
        raise typer.BadParameter("goes without --scheduler", param_hint="--local-cluster")
    if (scheduler is not None or local_cluster is not None) and importlib.util.find_spec("distributed") is None:
        raise InputError("distributed is not installed; run pip install 'tile-pdb[dask]'")


@contextlib.contextmanager
def cluster_client(scheduler: str | None, local_cluster: int | None) -> "Iterator[Client]":
    """Connect to the cluster of the options, and report its size and dashboard on stderr. Raises as `connected`."""
    from pdb_cluster.connect import connected

    with connected(scheduler, local_cluster or 1, lambda text: message(f"pdb: {text}")) as client:
        n_threads = sum(client.nthreads().values())
        where = scheduler if local_cluster is None else "a cluster of this command's own"
        message(f"pdb: {plural(n_threads, 'thread')} on {where}; dashboard {client.dashboard_link}")
        yield client
