"""Build of a database. Read this module first; it calls the others in this order.

plan        time, memory and disk that the build takes       plan.py
search      distances of each pattern, on all cores          search.py, level_search.py, bit_rows.py, search_kernels.py
write       each table while the next pattern is searched    writer.py
checkpoint  state of a long build, between two levels        checkpoint.py, partial_folder.py
report      JSON file beside the table file                  report.py
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pdb_build.bit_rows import Spill
from pdb_build.checkpoint import BuildCheckpoints, Say, Tables
from pdb_build.partial_folder import PartialFolder
from pdb_build.plan import BuildPlan, check_plan
from pdb_build.report import BuildResult, check_replaced, write_report
from pdb_build.search import search_pattern
from pdb_build.writer import TableFileWriter
from pdb_core.arguments import as_function, as_number, check_kind
from pdb_core.pattern import Pattern
from pdb_core.resources import peak_memory

# About the work that a build loses when it is killed.
CHECKPOINT_EVERY_S = 60.0


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


def build_database(
    plan: BuildPlan,
    *,
    progress: Callable[[BuildProgress], None] | None = None,
    say: Say | None = None,
    checkpoint_every_s: float = CHECKPOINT_EVERY_S,
    fresh: bool = False,
    force: bool = False,
) -> BuildResult:
    """Build the database of a plan, and write a report beside the table file.

    A plan always gives the same bytes, for any number of threads and of runs that were stopped. After any error,
    `plan.out` is as it was before.

    Parameters
    ----------
    plan
        What to build, and where; `plan_build` makes it.
    progress
        Called after each level of the search of a pattern.
    say
        Called with sentences about checkpoints.
    checkpoint_every_s
        Seconds between two checkpoints in the folder `OUT.partial`; 0 for one after each level. If the build is
        stopped, the same call continues from the last checkpoint.
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
        There is a checkpoint of other options or of another version of the builder.
    InputError
        An argument is invalid.

    Examples
    --------
    >>> from pdb_build import plan_build
    >>> build_database(plan_build("3x3", "blank-last", "8", "8.h5")).n_runs
    1
    """
    check_kind(plan, BuildPlan, "plan", "the result of plan_build")
    progress, say = as_function(progress, "progress"), as_function(say, "say")
    as_number(checkpoint_every_s, "checkpoint_every_s")
    check_plan(plan)
    if not force:
        check_replaced(plan.out)
    with PartialFolder(plan.out) as folder:
        checkpoints = BuildCheckpoints(folder, plan, checkpoint_every_s, say, fresh=fresh)
        try:
            writer = TableFileWriter(folder, plan, checkpoints.found.tables)
            _search_and_write(plan, folder, writer, checkpoints, progress)
            header = writer.close()
        except BaseException:
            checkpoints.say_what_is_kept()
            raise
        seconds, n_runs = checkpoints.seconds(), checkpoints.n_runs
        result = BuildResult(plan, header, writer.searches, seconds, peak_memory(), n_runs)
        folder.clear()  # the checkpoint is not needed, even if the report cannot be written
        write_report(result, folder)
    return result


def _search_and_write(
    plan: BuildPlan,
    folder: PartialFolder,
    writer: TableFileWriter,
    checkpoints: BuildCheckpoints,
    show: Callable[[BuildProgress], None],
) -> None:
    """Search and write the patterns whose tables are not in the file, one after another.

    Each table is written while the next pattern is searched, if the memory suffices.
    """
    writing: Future[None] | None = None

    def written() -> Tables:
        """Return the tables in the file. Waits for the one that is being written, and raises what its writer raises."""
        if writing is not None:
            writing.result()
        return dict(writer.written)

    with ThreadPoolExecutor(1) as background:
        try:
            for index, entry in enumerate(plan.patterns):
                if entry.use is not None or index in checkpoints.found.tables:
                    continue

                def report_depth(*counts: int, index: int = index, pattern: Pattern = entry.pattern) -> None:
                    show(BuildProgress(index, pattern, *counts))

                table = search_pattern(
                    entry.spec,
                    n_threads=plan.n_threads,
                    progress=report_depth,
                    checkpoints=checkpoints.of_pattern(index, written),
                    spill=Spill(folder.path, entry.spilled_bytes) if entry.spilled_bytes else None,
                )
                written()
                writing = background.submit(writer.write, index, table)
                del table
                if not plan.overlaps_writing:
                    written()
            written()
        except BaseException:
            writer.cancel()
            raise
