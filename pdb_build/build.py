"""Build of a database. Read this module first; it calls the others in this order.

plan     time, memory and disk that the build takes                              plan.py
search   distances of each pattern, on all cores                                 search.py, level_search.py
write    each table while the next pattern is searched; a later run finds those  writer.py, partial_folder.py
report   JSON file beside the table file                                         report.py
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from pdb_build.bit_rows import Spill
from pdb_build.partial_folder import PartialFolder, partial_path
from pdb_build.plan import BuildPlan, check_plan
from pdb_build.report import BuildResult, check_replaced
from pdb_build.search import PatternTable, search_pattern
from pdb_build.writer import Say, TableFileWriter
from pdb_core.arguments import as_function, check_kind
from pdb_core.pattern import Pattern


@dataclass(frozen=True)
class BuildProgress:
    """Progress of a build.

    Attributes
    ----------
    pattern_index
        Index in the partition of the pattern that is searched.
    pattern
        The pattern.
    depth
        The distance that the search has reached.
    n_reached
        States of the pattern that are reached so far.
    n_states
        All states of the pattern.
    """

    pattern_index: int
    pattern: Pattern
    depth: int
    n_reached: int
    n_states: int


Show = Callable[[BuildProgress], None]


def build_database(
    plan: BuildPlan,
    *,
    progress: Show | None = None,
    say: Say | None = None,
    fresh: bool = False,
    force: bool = False,
) -> BuildResult:
    """Build the database of a plan, and write a report beside the table file.

    A plan always gives the same bytes, for any number of threads and of runs that were stopped. After any error,
    `plan.out` is as it was before. Finished tables stay in the folder `OUT.partial`, and the same call continues with
    the next one.

    Parameters
    ----------
    plan
        What to build, and where; `plan_build` makes it.
    progress
        Called after each level of the search of a pattern.
    say
        Called with sentences about finished tables that are kept.
    fresh
        Start over instead of continuing.
    force
        Replace files that no build has written, too.

    Returns
    -------
    BuildResult
        The header of the file, the searches, time and memory.

    Raises
    ------
    MemoryLimitError, DiskFullError, OutputError
        The plan does not fit, or the file cannot be written.
    LimitReachedError
        A distance is over 254.
    BuildRunningError
        Another process builds the same file.
    CheckpointMismatchError
        There are finished tables of other options or of another version of the builder.
    InputError
        An argument is invalid.

    Examples
    --------
    >>> from pdb_build import plan_build
    >>> build_database(plan_build("3x3", "blank-last", "8", "8.h5")).path.name
    '8.h5'
    """
    check_kind(plan, BuildPlan, "plan", "the result of plan_build")
    progress, say = as_function(progress, "progress"), as_function(say, "say")
    check_plan(plan)
    with unfinished_file(plan, say, fresh=fresh, force=force) as writer:
        _search_and_write(plan, writer, progress)
        return writer.finish()


@contextmanager
def unfinished_file(plan: BuildPlan, say: Say, *, fresh: bool, force: bool) -> Iterator[TableFileWriter]:
    """Open the file of a build in its folder, with the tables of earlier runs. Report what is kept if an error ends it.

    Raises `OutputError`, `DiskFullError`, `BuildRunningError`, `CheckpointMismatchError`.
    """
    if not force:
        check_replaced(plan.out)
    with PartialFolder(plan.out) as folder:
        writer = TableFileWriter(folder, plan, say, fresh=fresh)
        try:
            yield writer
        except BaseException:
            writer.say_what_is_kept()
            raise


def _search_and_write(plan: BuildPlan, writer: TableFileWriter, show: Show) -> None:
    """Search and write the patterns whose tables are not in the file, one after another.

    Each table is written while the next pattern is searched, if the memory suffices. An interrupt waits for its end.
    """
    with ThreadPoolExecutor(1) as background:
        writing = background.submit(lambda: None)
        for index in writer.missing:
            table = _search(plan, index, show)
            writing.result()
            writing = background.submit(writer.write, index, table)
            del table
            if not plan.overlaps_writing:
                writing.result()
        writing.result()


def _search(plan: BuildPlan, index: int, show: Show) -> PatternTable:
    entry = plan.patterns[index]
    return search_pattern(
        entry.spec,
        n_threads=plan.n_threads,
        progress=lambda *counts: show(BuildProgress(index, entry.pattern, *counts)),
        spill=Spill(partial_path(plan.out), entry.spilled_bytes) if entry.spilled_bytes else None,
    )
