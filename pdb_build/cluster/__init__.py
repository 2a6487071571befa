"""Building on a Dask cluster. Start reading in `build`; the search of one pattern by many workers is in `shard`."""

from pdb_build.cluster.build import build_on_cluster, check_cluster_plan
from pdb_build.cluster.plan import PatternTask

__all__ = ["PatternTask", "build_on_cluster", "check_cluster_plan"]
