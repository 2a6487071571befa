"""The standard table of each board size: built in the user's cache folder when it is needed first."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Tiles, blank_last
from pdb_core.types import BLANK
from tilepdb.progress import ProgressLine, show_build

# Seconds between two checks whether another process has built the table.
_POLL_S = 0.2
# The last partition of a size is built if there is too little memory or disk for those before it.
_PARTITIONS = {"3x3": ("8",), "4x4": ("78", "663"), "5x5": ("6666",)}
_ADVICE = "set TILE_PDB_CACHE to another folder, or give a table file"


def standard_table(size: BoardSize, goal: Tiles, log: Callable[[str], None] | None = None) -> Path:
    """Return the table file of a size and goal, in the cache folder (TILE_PDB_CACHE); build it the first time.

    It is 78 for 4x4, or 663 if there is too little memory or disk for 78; 6666 for 5x5, the complete table for 3x3, and
    for other sizes a partition that builds quickly.
    One file serves every goal with the blank in a corner, and one every goal with the blank on the same other cell. The
    progress of a build goes to a `ProgressLine` with `log`.

    Raises the errors of a build.
    """
    from pdb_build import build_database, check_plan, plan_build
    from pdb_core.errors import BuildRunningError, DiskFullError, LimitReachedError, OutputError, TableFileError
    from pdb_core.jit import cache_home
    from pdb_query import read_table_header

    in_corner = goal.index(BLANK) in (0, size.width - 1, size.n_cells - size.width, size.n_cells - 1)
    goal = blank_last(size) if in_corner else goal
    place = "corner" if in_corner else f"blank{goal.index(BLANK)}"
    path = cache_home() / "tables" / f"{size}-{place}.h5"

    names = _PARTITIONS.get(str(size) if in_corner else "", ("auto",))

    def is_there(name: str) -> bool:
        try:
            spec = read_table_header(path).spec
        except TableFileError:
            return False
        return len(names) == 1 or spec.partition.name == name

    why = ""
    for name in names:
        if is_there(name):
            return path
        plan = plan_build(size, goal, name, path)
        try:
            check_plan(plan)
            break
        except LimitReachedError as error:
            why = f" ({error})"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with ProgressLine(log) as line:
            line.say(
                f"there is no standard table yet: building {plan.spec.partition.name} for {size} once, in {path}{why}"
            )
            while not is_there(name):
                try:
                    # Discard what an interrupted build left.
                    build_database(plan, progress=partial(show_build, line, plan), fresh=True, force=True)
                    return path
                except BuildRunningError:
                    time.sleep(_POLL_S)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; {_ADVICE}") from error
    except (OutputError, DiskFullError) as error:
        # The advice of `pdb build` names --out.
        raise type(error)(f"{str(error).split(';')[0]}; {_ADVICE}") from error
    return path
