"""Errors of Dask and of tasks on workers, turned into errors of the project."""

import asyncio
import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import KilledWorker

from pdb_core.errors import ClusterError, PdbError


class LostError(Exception):
    """A table or a shard was lost with its worker."""


@contextmanager
def while_reachable(advice: str) -> Iterator[None]:
    """Raise `ClusterError`, which ends with `advice`, when the scheduler is lost or has dropped the tasks."""
    try:
        yield
    except BrokenPipeError:  # the command's output was closed
        raise
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        if isinstance(error, PdbError):
            raise
        raise ClusterError(f"the scheduler dropped the tasks or cannot be reached any more; {advice}") from error


def failure(what: str, error: BaseException, memory_advice: str | None = None) -> PdbError:
    """Return the error to raise when `what` failed on a worker with `error`. An error of the project stays as it is.

    `memory_advice` says what to do when workers run out of memory.
    """
    if isinstance(error, PdbError):
        return error
    if isinstance(error, KilledWorker):
        advice = memory_advice or "see their logs"
        return ClusterError(f"{what}: several workers died, most often because they ran out of memory; {advice}")
    if isinstance(error, MemoryError) and memory_advice:
        return ClusterError(f"{what}: a worker ran out of memory; {memory_advice}")
    why = "".join(f": {line}" for line in str(error).splitlines()[:1])
    return ClusterError(f"{what} ({type(error).__name__}{why}); the logs of the workers may say more")
