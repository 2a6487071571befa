"""Builds and solves on a Dask cluster. Start reading in `build` and in `solve_boards`. Needs the extra `dask`.

No other package except the command line uses Dask.
"""

from pdb_cluster.build import build_on_cluster, check_cluster_plan
from pdb_cluster.build_plan import PatternTask

__all__ = ["PatternTask", "build_on_cluster", "check_cluster_plan"]
