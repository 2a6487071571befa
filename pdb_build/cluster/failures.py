"""What goes wrong on a cluster, as errors of our own."""

import asyncio
import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager

from pdb_core.errors import ClusterError, PdbError


def failed(what: str, error: BaseException) -> ClusterError:
    """What to raise where a task or a worker raised `error`, none of ours."""
    if isinstance(error, MemoryError):
        return ClusterError(
            f"{what}: it ran out of memory; give --shards to share its pattern out, or a larger number of them"
        )
    lines = str(error).splitlines()
    why = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return ClusterError(
        f"{what} ({why}); the workers' logs may tell more; build again, and please report it if that ends the same way"
    )


@contextmanager
def while_reachable() -> Iterator[None]:
    """What Dask raises where the scheduler goes away, as `ClusterError`; what is said of files is ours already."""
    try:
        yield
    except BrokenPipeError:  # a reader of ours that has gone
        raise
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        if isinstance(error, PdbError):
            raise
        raise ClusterError(
            "the scheduler has dropped our tasks or cannot be reached any more; start it again, and build again"
        ) from error
