"""Builds and solves on a Dask cluster. Start reading in `build` and in `solve`. Needs the extra `dask`.

No other package except the command line uses Dask.
"""

from pdb_cluster.build.patterns import build_on_cluster, check_cluster_plan
from pdb_cluster.build.shard_plan import PatternTask
from pdb_cluster.solve.boards import ClusterAnswers

__all__ = ["ClusterAnswers", "PatternTask", "build_on_cluster", "check_cluster_plan"]
