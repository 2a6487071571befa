"""What goes wrong on a Dask cluster, as errors of our own; without Dask, which is optional."""

import asyncio
import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager

from pdb_core.errors import ClusterError, PdbError


def unreachable(advice: str) -> ClusterError:
    """What to raise where the scheduler has gone, or has forgotten what it was to do."""
    return ClusterError(f"the scheduler has dropped our tasks or cannot be reached any more; {advice}")


@contextmanager
def while_reachable(advice: str) -> Iterator[None]:
    """What Dask raises where the scheduler goes away, as `ClusterError`; what is said of files is ours already."""
    try:
        yield
    except BrokenPipeError:  # a reader of ours that has gone
        raise
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        if isinstance(error, PdbError):
            raise
        raise unreachable(advice) from error


def in_one_line(error: BaseException) -> str:
    """The kind of an error of others, and the first line of what it says."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
