"""What goes wrong in a build on a cluster, as errors of our own."""

from contextlib import AbstractContextManager

from pdb_cluster import failures as cluster_failures
from pdb_core.errors import ClusterError


def failed(what: str, error: BaseException) -> ClusterError:
    """What to raise where a task or a worker raised `error`, none of ours."""
    if isinstance(error, MemoryError):
        return ClusterError(
            f"{what}: it ran out of memory; give --shards to share its pattern out, or a larger number of them"
        )
    why = cluster_failures.in_one_line(error)
    return ClusterError(
        f"{what} ({why}); the workers' logs may tell more; build again, and please report it if that ends the same way"
    )


def while_reachable() -> AbstractContextManager[None]:
    """What Dask raises where the scheduler goes away, as `ClusterError`."""
    return cluster_failures.while_reachable("start it again, and build again")
