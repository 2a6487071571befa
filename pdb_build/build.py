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
from pdb_build.checkpoint import BuildCheckpoints, Say
from pdb_build.level_search import Arrays
from pdb_build.partial_folder import PartialFolder
from pdb_build.plan import BuildPlan, check_plan
from pdb_build.report import BuildResult, check_replaced, write_report
from pdb_build.search import PatternTable, SearchCheckpoints, SearchPosition, search_pattern
from pdb_build.writer import TableFileWriter
from pdb_core.pattern import Pattern
from pdb_core.resources import peak_memory

# About the work that a build loses when it is killed.
CHECKPOINT_EVERY_S = 60.0


@dataclass(frozen=True)
class BuildProgress:
    """Progress of a build.

    pattern_index, pattern  index in the partition of the pattern that is searched, and the pattern
    depth                   the distance that the search has reached
    n_reached, n_states     states of the pattern: those reached so far, and all
    """

    pattern_index: int
    pattern: Pattern
    depth: int
    n_reached: int
    n_states: int


def build_database(
    plan: BuildPlan,
    *,
    progress: Callable[[BuildProgress], None] = lambda _: None,
    say: Say = lambda _: None,
    checkpoint_every_s: float = CHECKPOINT_EVERY_S,
    fresh: bool = False,
    force: bool = False,
) -> BuildResult:
    """Build the database of a plan, at `plan.out`. Return the result, and write a report beside the table file.

    The same plan gives the same bytes, for any number of threads and of runs that were stopped.

    progress            is called after each level of the search of a pattern
    say                 is called with sentences about checkpoints
    checkpoint_every_s  seconds between two checkpoints in the folder `OUT.partial`; 0 for one after each level. If the
                        build is stopped, the same call continues from the last checkpoint
    fresh               start over instead of continuing
    force               replace files that no build has written, too

    After any error, `plan.out` is as it was before. Raises `MemoryLimitError`, `DiskFullError`, `OutputError`,
    `LimitReachedError` for a distance over 254, `BuildRunningError` if another process builds the same file, and
    `CheckpointMismatchError` if there is a checkpoint of other options or of another version of the builder.
    """
    check_plan(plan)
    if not force:
        check_replaced(plan.out)
    with PartialFolder(plan.out) as folder:
        checkpoints = BuildCheckpoints(folder, plan, checkpoint_every_s, say, fresh=fresh)
        try:
            writer = TableFileWriter(folder, plan.spec, plan.uses, kept=checkpoints.found.tables)
            _Patterns(plan, folder, writer, checkpoints, progress).search_and_write()
            header = writer.close()
        except BaseException:
            checkpoints.say_what_is_kept()
            raise
        seconds, n_runs = checkpoints.seconds(), checkpoints.n_runs
        result = BuildResult(plan, header, writer.searches, seconds, peak_memory(), n_runs)
        folder.clear()  # the checkpoint is not needed, even if the report cannot be written
        write_report(result, folder)
    return result


class _Patterns:
    """Patterns of a build, one after another. Each table is written while the next pattern is searched, if the memory
    suffices.
    """

    def __init__(
        self, plan: BuildPlan, folder: PartialFolder, writer: TableFileWriter, checkpoints: BuildCheckpoints,
        show: Callable[[BuildProgress], None],
    ) -> None:  # fmt: skip
        self._plan, self._folder, self._writer, self.checkpoints = plan, folder, writer, checkpoints
        self._show = show
        self._writing: Future[None] | None = None

    def search_and_write(self) -> None:
        """Search and write the patterns whose tables are not in the file."""
        written = self._writer.written
        with ThreadPoolExecutor(1) as background:
            try:
                for index, entry in enumerate(self._plan.patterns):
                    if entry.use is None and index not in written:
                        table = self._search(index)
                        self._wait_for_writing()
                        self._writing = background.submit(self._writer.write, index, table)
                        del table
                        if not self._plan.overlaps_writing:
                            self._wait_for_writing()
                self._wait_for_writing()
            except BaseException:
                self._writer.cancel()
                raise

    def _search(self, index: int) -> PatternTable:
        plan, entry = self._plan, self._plan.patterns[index]

        def report_depth(depth: int, n_reached: int, n_states: int) -> None:
            self._show(BuildProgress(index, entry.pattern, depth, n_reached, n_states))

        return search_pattern(
            entry.spec,
            n_threads=plan.n_threads,
            progress=report_depth,
            checkpoints=_PatternCheckpoints(self, index),
            spill=Spill(self._folder.path, entry.spilled_bytes) if entry.spilled_bytes else None,
        )

    def keep(self, index: int, position: SearchPosition, arrays: Arrays) -> None:
        """Write a checkpoint of the search of a pattern, when the table before is written."""
        self._wait_for_writing()
        self.checkpoints.keep(self._writer.written, index, position, arrays)

    def _wait_for_writing(self) -> None:
        """Wait for the table that is being written. Raises what the writer raises."""
        if self._writing is not None:
            self._writing.result()


class _PatternCheckpoints(SearchCheckpoints):
    """Checkpoints of the search of one pattern of a build."""

    def __init__(self, patterns: _Patterns, index: int) -> None:
        self._patterns, self._index = patterns, index

    def restore(self, arrays: Arrays) -> SearchPosition:
        return self._patterns.checkpoints.restore(self._index, arrays)

    def keep(self, position: SearchPosition, arrays: Arrays) -> None:
        if self._patterns.checkpoints.is_due():
            self._patterns.keep(self._index, position, arrays)

    def finishes_level(self, level: int) -> bool:
        return self._patterns.checkpoints.finishes_level(level)
