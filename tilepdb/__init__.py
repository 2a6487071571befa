"""The one import for users: the public names of all packages.

>>> import tilepdb
>>> tilepdb.Board("1 2/3 0").is_solvable()
True

Boards are given as a string, a flat or nested sequence, or an array (see `Board`); goals also by name. Names are
imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

# For type checkers: an alias re-exports a name.
if TYPE_CHECKING:
    from pdb_build import (
        BuildPlan as BuildPlan,
    )
    from pdb_build import (
        BuildProgress as BuildProgress,
    )
    from pdb_build import (
        BuildResult as BuildResult,
    )
    from pdb_build import (
        build_database as build_database,
    )
    from pdb_build import (
        plan_build as plan_build,
    )
    from pdb_core import (
        __version__ as __version__,
    )
    from pdb_core.errors import (
        PdbError as PdbError,
    )
    from pdb_core.puzzle import (
        Board as Board,
    )
    from pdb_core.puzzle import (
        BoardLike as BoardLike,
    )
    from pdb_core.puzzle import (
        BoardSize as BoardSize,
    )
    from pdb_core.puzzle import (
        format_board as format_board,
    )
    from pdb_core.puzzle import (
        is_solvable as is_solvable,
    )
    from pdb_core.puzzle import (
        parse_goal as parse_goal,
    )
    from pdb_core.puzzle import (
        parse_size as parse_size,
    )
    from pdb_core.puzzle import (
        random_boards as random_boards,
    )
    from pdb_query import (
        BatchProbe as BatchProbe,
    )
    from pdb_query import (
        Database as Database,
    )
    from pdb_query import (
        Instance as Instance,
    )
    from pdb_query import (
        Probe as Probe,
    )
    from pdb_query import (
        instance_sets as instance_sets,
    )
    from pdb_query import (
        open_database as open_database,
    )
    from pdb_query import (
        random_board_statistics as random_board_statistics,
    )
    from pdb_query import (
        read_instances as read_instances,
    )
    from pdb_service.client import (
        Client as Client,
    )
    from solver import (
        ALGORITHMS as ALGORITHMS,
    )
    from solver import (
        Checkpoint as Checkpoint,
    )
    from solver import (
        GraphSolver as GraphSolver,
    )
    from solver import (
        HeuristicSolver as HeuristicSolver,
    )
    from solver import (
        Iteration as Iteration,
    )
    from solver import (
        Limits as Limits,
    )
    from solver import (
        Solution as Solution,
    )
    from solver import (
        SolvedBoards as SolvedBoards,
    )
    from solver import (
        WorkerPool as WorkerPool,
    )
    from solver import (
        find_suboptimal_solution as find_suboptimal_solution,
    )
    from solver import (
        replay as replay,
    )
    from tilepdb.build import (
        build as build,
    )
    from tilepdb.solver import (
        Solver as Solver,
    )
    from tilepdb.solver import (
        solve as solve,
    )

# The names of each module. The package is imported in a fraction of the time of all of them.
_NAMES = {
    "pdb_build": ("BuildPlan", "BuildProgress", "BuildResult", "build_database", "plan_build"),
    "pdb_core": ("__version__",),
    "pdb_core.errors": ("PdbError",),
    "pdb_core.puzzle": (
        "Board", "BoardLike", "BoardSize", "format_board", "is_solvable", "parse_goal", "parse_size", "random_boards",
    ),
    "pdb_query": (
        "BatchProbe", "Database", "Instance", "Probe", "instance_sets", "open_database", "random_board_statistics",
        "read_instances",
    ),
    "pdb_service.client": ("Client",),
    "solver": (
        "ALGORITHMS", "Checkpoint", "GraphSolver", "HeuristicSolver", "Iteration", "Limits", "Solution",
        "SolvedBoards", "WorkerPool", "find_suboptimal_solution", "replay",
    ),
    "tilepdb.build": ("build",),
    "tilepdb.solver": ("Solver", "solve"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tilepdb' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if module != "pdb_service.client":
            raise
        raise ImportError(f"Client needs {error.name}: pip install 'tile-pdb[client]'", name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])
