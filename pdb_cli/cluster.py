"""Options --scheduler and --local-cluster of commands that can use a Dask cluster, and the client that they give.

`distributed` is imported only if one of the two is used.
"""

import contextlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from pdb_cli.output import message, plural
from pdb_core.errors import InputError

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class ClusterOptions:
    """Dask cluster to work on."""

    title: ClassVar[str] = "Cluster"
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Work on the Dask cluster of this scheduler, such as tcp://host:8786.",
        ),
    ] = None
    local_cluster: Annotated[
        int | None,
        typer.Option(
            "--local-cluster",
            min=1,
            max=1024,
            metavar="N",
            help="Work on a Dask cluster of N processes of this machine, started for this command.",
            show_default=False,
        ),
    ] = None

    @property
    def is_given(self) -> bool:
        """Return True if the command works on a cluster."""
        return self.scheduler is not None or self.local_cluster is not None

    def check(self) -> None:
        """Raise a usage error if both are given, `InputError` if the package `distributed` is missing."""
        if self.scheduler is not None and self.local_cluster is not None:
            raise typer.BadParameter("goes without --scheduler", param_hint="--local-cluster")
        if self.is_given and importlib.util.find_spec("distributed") is None:
            raise InputError("distributed is not installed; run pip install 'tile-pdb[dask]'")

    @contextlib.contextmanager
    def connect(self) -> "Iterator[Client]":
        """Connect to the cluster, and report its size and dashboard on stderr. Raises as `connected`."""
        from pdb_cluster.connect import connected

        with connected(self.scheduler, self.local_cluster or 1, lambda text: message(f"pdb: {text}")) as client:
            n_threads = sum(client.nthreads().values())
            where = self.scheduler if self.local_cluster is None else "a cluster of this command's own"
            message(f"pdb: {plural(n_threads, 'thread')} on {where}; dashboard {client.dashboard_link}")
            yield client
