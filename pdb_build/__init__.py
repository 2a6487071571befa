"""Builder of pattern databases: plan a build, search its patterns, write the tables. Start reading in `build`."""

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
