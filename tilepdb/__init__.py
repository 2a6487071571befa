"""Pattern databases for sliding-tile puzzles: exact lower bounds and optimal solutions of boards up to 6x6.

    solve("8 6 7/2 5 4/3 0 1")        an optimal solution of one board
    Solver("data/663.h5")             many boards: solve, solve_many, label; Solver.standard(4)
    HeuristicSolver(4), GraphSolver(4)     IDA*, A* and other searches with heuristics
    h(boards, "manhattan")            values of a heuristic
    a_star(board, f), ida_star(board, f)   textbook searches with a function of yours
    find_suboptimal_solution(board)   boards up to 32x32
    check_solution(board, moves)      is it legal, does it reach the goal, is it optimal

    build("663")                      a table file; open_database(path): Database.probe, probe_batch
    random_boards(4, n_boards=1000)   boards; read_instances("korf100")
    label(RandomBoards(4), solver)    boards with exact labels; label_by_distance, boards_at_distances
    import tilepdb.gym                an environment of Gymnasium, tilepdb/SlidingTiles-v0
    compare, study_heuristics, study_strength, explore_space    studies
    Client(url)                       the HTTP service

A board is a string, a flat or nested sequence, or an array (see `Board`). A goal is a board or a name (`blank-last`,
`blank-first`, `snail`). A size is 4, (4, 4) or "4x4". A database may be given as the path of its file. A function
refuses an argument that it cannot use with a `PdbError` of one sentence.

Examples
--------
After `pdb build 8 663`:

>>> import tilepdb
>>> tilepdb.solve("8 6 7/2 5 4/3 0 1", heuristic="manhattan").length
31
>>> with tilepdb.Solver("data/663.h5") as solver:
...     solution = solver.solve("1 2 3 4/5 6 7 8/9 10 11 0/13 14 15 12")
>>> solution.length, solution.moves
(1, (12,))
>>> with tilepdb.open_database("data/8.h5") as database:
...     database.probe("8 6 7/2 5 4/3 0 1").h
31
"""

import ast
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdb_core import errors

# For type checkers: an alias re-exports a name.
if TYPE_CHECKING:
    from pdb_build import (
        BuildPlan as BuildPlan,
        BuildProgress as BuildProgress,
        BuildResult as BuildResult,
        build_database as build_database,
        plan_build as plan_build,
    )
    from pdb_core import (
        __version__ as __version__,
    )
    from pdb_core.board_size import BoardSize as BoardSize, parse_size as parse_size
    from pdb_core.errors import *  # noqa: F403
    from pdb_core.puzzle import (
        Board as Board,
        BoardLike as BoardLike,
        format_board as format_board,
        parse_goal as parse_goal,
        random_boards as random_boards,
    )
    from pdb_query import (
        BatchProbe as BatchProbe,
        Database as Database,
        Instance as Instance,
        Probe as Probe,
        instance_sets as instance_sets,
        open_database as open_database,
        random_board_statistics as random_board_statistics,
        read_instances as read_instances,
    )
    from pdb_service.client import (
        Client as Client,
    )
    from pdb_study.compare import (
        Comparison as Comparison,
        compare as compare,
    )
    from pdb_study.heuristics import (
        HeuristicStudy as HeuristicStudy,
        study_heuristics as study_heuristics,
    )
    from pdb_study.histograms import (
        Histograms as Histograms,
    )
    from pdb_study.labels import (
        BoardSource as BoardSource,
        GivenBoards as GivenBoards,
        LabelledBoards as LabelledBoards,
        RandomBoards as RandomBoards,
        RandomWalks as RandomWalks,
        boards_at_distances as boards_at_distances,
        label as label,
        label_by_distance as label_by_distance,
        write_labels as write_labels,
    )
    from pdb_study.space import (
        StateSpace as StateSpace,
        explore_space as explore_space,
    )
    from pdb_study.strength import (
        StrengthStudy as StrengthStudy,
        study_strength as study_strength,
    )
    from solver.algorithms import ALGORITHMS as ALGORITHMS
    from solver.approximate.suboptimal import find_suboptimal_solution as find_suboptimal_solution
    from solver.check import (
        SolutionCheck as SolutionCheck,
    )
    from solver.engine.checkpoint import Checkpoint as Checkpoint
    from solver.engine.worker_pool import WorkerPool as WorkerPool
    from solver.graph_search.graph_search import GraphSolver as GraphSolver
    from solver.heuristics.heuristic_solver import HeuristicSolver as HeuristicSolver
    from solver.heuristics.values import h as h
    from solver.progress import Iteration as Iteration, Limits as Limits
    from solver.solution import Solution as Solution, SolvedBoards as SolvedBoards
    from solver.textbook import a_star as a_star, ida_star as ida_star
    from tilepdb.named_build import (
        build as build,
    )
    from tilepdb.solver import (
        Solver as Solver,
        check_solution as check_solution,
        solve as solve,
    )

# The module of each name above, imported when the name is used: all of them take much longer than this package.
_MODULE_OF = {name: errors.__name__ for name, item in vars(errors).items() if isinstance(item, type)} | {
    alias.asname: str(node.module)
    for node in ast.walk(ast.parse(Path(__file__).read_text("utf-8")))
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
    if alias.asname
}

_CLIENT = "pdb_service.client"
# `help` and `from tilepdb import *` import all of these.
__all__ = sorted(name for name, module in _MODULE_OF.items() if module != _CLIENT or importlib.util.find_spec("httpx"))


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tilepdb' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if module != _CLIENT:
            raise
        from pdb_core.messages import how_to_install

        raise ImportError(f"Client needs {error.name}; {how_to_install('client')}", name=error.name) from error
    globals()[name] = value
    if (jit := sys.modules.get("pdb_core.jit")) is not None:
        jit.announce_compilation(_announce, only_first=True)
    return value


def _announce() -> None:
    from tilepdb.progress import note

    note("compiling kernels, once; about 10 s for each kind of search on an idle machine ...")


def __dir__() -> list[str]:
    return __all__
