"""Builds and solves on a Dask cluster. Start reading in `build` and in `boards`. Needs the extra `dask`.

No other package except the command line uses Dask.
"""

from pdb_cluster.boards import ClusterAnswers
from pdb_cluster.build import build_on_cluster, check_cluster_plan

__all__ = ["ClusterAnswers", "build_on_cluster", "check_cluster_plan"]
