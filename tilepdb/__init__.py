"""The one import for users: the public names of all packages.

>>> import tilepdb
>>> tilepdb.parse_goal("blank-last", tilepdb.BoardSize(2, 2))
(1, 2, 3, 0)

`Client` needs the extra `client`, and is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

from pdb_build import BuildPlan, BuildProgress, BuildResult, build_database, plan_build
from pdb_core import __version__
from pdb_core.errors import PdbError
from pdb_core.puzzle import Board, BoardSize, format_board, is_solvable, parse_board, parse_goal, random_boards
from pdb_query import (
    Database,
    Instance,
    instance_sets,
    open_database,
    random_board_statistics,
    read_instances,
)
from solver import (
    ALGORITHMS,
    Checkpoint,
    GraphSolver,
    HeuristicSolver,
    Iteration,
    Limits,
    Solution,
    Solver,
    find_suboptimal_solution,
    replay,
)

if TYPE_CHECKING:
    from pdb_service.client import Client

__all__ = [
    "ALGORITHMS",
    "Board",
    "BoardSize",
    "BuildPlan",
    "BuildProgress",
    "BuildResult",
    "Checkpoint",
    "Client",
    "Database",
    "GraphSolver",
    "HeuristicSolver",
    "Instance",
    "Iteration",
    "Limits",
    "PdbError",
    "Solution",
    "Solver",
    "__version__",
    "build_database",
    "find_suboptimal_solution",
    "format_board",
    "instance_sets",
    "is_solvable",
    "open_database",
    "parse_board",
    "parse_goal",
    "plan_build",
    "random_board_statistics",
    "random_boards",
    "read_instances",
    "replay",
]


def __getattr__(name: str) -> Any:
    if name == "Client":
        try:
            from pdb_service.client import Client
        except ModuleNotFoundError as error:
            raise ImportError(f"Client needs {error.name}: pip install 'tile-pdb[client]'", name=error.name) from error

        return Client
    raise AttributeError(f"module 'tilepdb' has no attribute {name!r}")
