"""Tables that several tests share, built once a session."""

import atexit
import shutil
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

from pdb_build import build_database, plan_build
from pdb_core.cost import Cost
from pdb_core.encoding import Encoding
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import blank_last, parse_goal, parse_size

# Where their folder is. The suite puts it among pytest's own, which go some day when a run was killed too.
parent: Path | None = None


@lru_cache(maxsize=1)
def _folder() -> Path:
    folder = Path(mkdtemp(prefix="tile-pdb-tests-", dir=parent))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=64)
def table_file(
    partition: str,
    size_text: str,
    goal_text: str = "blank-last",
    encoding: Encoding = "bytes",
    cost: Cost = "additive",
) -> Path:
    """The table file of a partition, built at the first call."""
    size = parse_size(size_text)
    goal = blank_last(size) if goal_text == "blank-last" else parse_goal(goal_text, size)
    name = (
        f"{cost}-{partition}-{size_text}-{goal_text}-{encoding}".replace(",", "_").replace("/", "-").replace(" ", "_")
    )
    path = _folder() / f"{name[:120]}.h5"
    build_database(plan_build(size, goal, parse_partition(partition, size, goal, cost), path, encoding=encoding))
    return path
