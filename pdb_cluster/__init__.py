"""Building and solving on a Dask cluster. Start reading in `build` and in `solve_boards`.

No other package but the command line knows of Dask.
"""

from pdb_cluster.build import build_on_cluster, check_cluster_plan
from pdb_cluster.build_plan import PatternTask

__all__ = ["PatternTask", "build_on_cluster", "check_cluster_plan"]
