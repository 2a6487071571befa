"""Bringing to the client what a worker found."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pdb_build.frontier import Table
from pdb_cluster.build_failures import failed
from pdb_cluster.build_tasks import Found, describe, piece
from pdb_cluster.table_parts import PIECE_BYTES, Part, PartsFolder, write_part
from pdb_core.errors import PdbError

if TYPE_CHECKING:
    from distributed import Client, Future


class WorkerGoneError(Exception):
    """The worker that held a result is gone."""


def fetch_search(client: "Client", future: "Future", folder: PartsFolder) -> tuple[Found, Part]:
    """What the finished search `future` found, and its table as a part in the folder. Raises `WorkerGoneError`."""
    address = _holder(client, future)
    found: Found = _run(client, address, describe, future.key)
    if found.part is not None:
        return found, found.part
    return found, fetch_part(client, future, address, found.table.n_bytes, folder)


def fetch_part(client: "Client", future: "Future", address: str, n_bytes: int, folder: PartsFolder) -> Part:
    """Fetch a table that the worker at `address` holds, in pieces. Raises `WorkerGoneError`."""

    def pieces() -> Iterator[Table]:
        for first in range(0, n_bytes, PIECE_BYTES):
            yield _run(client, address, piece, future.key, first, min(first + PIECE_BYTES, n_bytes))

    return write_part(folder.token, pieces(), n_bytes)


def _holder(client: "Client", future: "Future") -> str:
    holders = client.who_has([future]).get(future.key, ())
    if not holders:
        raise WorkerGoneError(f"nobody holds {future.key}")
    return str(next(iter(holders)))


def _run(client: "Client", address: str, function: Any, *arguments: Any) -> Any:
    """Run something on a worker, beside its tasks."""
    try:
        return client.run(function, *arguments, workers=[address])[address]
    except Exception as error:
        if address in client.nthreads() and not isinstance(error, KeyError | OSError):
            if isinstance(error, PdbError):
                raise
            raise failed(f"the worker at {address} could not hand its table over", error) from error
        raise WorkerGoneError(f"the worker at {address} is gone: {error}") from error
