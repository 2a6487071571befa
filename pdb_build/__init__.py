"""Builder of pattern databases: plan, search, write, prove.

`tilepdb.build` does the same from names. Start reading in `build`.

Examples
--------
>>> from pathlib import Path
>>> from pdb_build import build_database, plan_build
>>> from pdb_core.pattern import parse_partition
>>> from pdb_core.puzzle import blank_last, parse_size
>>> size = parse_size("3x3")
>>> plan = plan_build(size, blank_last(size), parse_partition("8", size), Path("8.h5"))
>>> build_database(plan).path.name
'8.h5'
"""

from pdb_build.build import BuildProgress, build_database
from pdb_build.plan import BuildPlan, check_plan, plan_build
from pdb_build.report import BuildResult
from pdb_build.search import PatternTable, search_pattern

__all__ = [
    "BuildPlan",
    "BuildProgress",
    "BuildResult",
    "PatternTable",
    "build_database",
    "check_plan",
    "plan_build",
    "search_pattern",
]
