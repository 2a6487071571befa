"""Building a database, as a whole. Read this first.

plan     what it takes, and whether there is room             plan.py
search   the distances of each pattern, on all cores          search.py, frontier.py, bit_rows.py, search_kernels.py
write    each table while the next pattern is searched        writer.py
keep     now and then, what was done so far                    keeper.py, checkpoint_files.py, checkpoint.py
report   what was done, beside the file                       report.py
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from pdb_build.bit_rows import Spill
from pdb_build.checkpoint_files import Say
from pdb_build.keeper import BuildKeeper, PatternKeeper
from pdb_build.partial_folder import PartialFolder
from pdb_build.plan import BuildPlan, check_plan
from pdb_build.report import report_path, write_report
from pdb_build.search import PatternTable, search_pattern
from pdb_build.writer import TableFileWriter, WrittenTable
from pdb_core.pattern import Pattern
from pdb_core.resources import peak_memory
from pdb_core.schema import Header

# What is lost at most when a build is killed, about.
CHECKPOINT_EVERY_S = 60.0


@dataclass(frozen=True)
class BuildProgress:
    """Where a build stands: which pattern, at which depth, with how many of its states reached."""

    pattern_index: int
    pattern: Pattern
    depth: int
    n_reached: int
    n_states: int


@dataclass(frozen=True)
class BuildResult:
    """A finished build. `searches` has one for each pattern, without its table, which is in the file; that of a pattern
    which uses the table of another is the other's, in no time. `seconds` are those of all runs it took.
    """

    path: Path
    report: Path
    header: Header
    searches: tuple[PatternTable, ...]
    seconds: float
    peak_memory_bytes: int
    n_runs: int = 1


def build_database(
    plan: BuildPlan,
    *,
    progress: Callable[[BuildProgress], None] | None = None,
    say: Say | None = None,
    checkpoint_every_s: float = CHECKPOINT_EVERY_S,
    fresh: bool = False,
) -> BuildResult:
    """Build what `plan` says, at `plan.out`. The same plan gives the same bytes, whatever the number of threads, and of
    runs that were stopped.

    A build that takes longer than `checkpoint_every_s` seconds (0: at every slab) writes checkpoints in the folder
    `OUT.partial`, and the same call goes on from there; with `fresh` it starts over. `say` is called with sentences
    about that.

    Whatever goes wrong, `plan.out` is left as it was before. Raises `MemoryLimitError`, `DiskFullError`, `OutputError`,
    `BuildRunningError` where another process builds the same file, and `CheckpointMismatchError` where there is a
    checkpoint of other options or of another version of the builder.
    """
    check_plan(plan)
    say = say or (lambda _: None)
    with PartialFolder(plan.out) as folder:
        keeper = BuildKeeper(folder, plan, checkpoint_every_s, say, fresh=fresh)
        try:
            found = {} if keeper.found is None else keeper.found.tables
            writer = TableFileWriter(folder, plan.size, plan.goal, plan.partition, plan.encoding, plan.uses, kept=found)
            searches = _Patterns(plan, folder, writer, keeper, progress or (lambda _: None), say).search_and_write()
            header = writer.close()
        except BaseException:
            keeper.say_what_is_kept()
            raise
    result = BuildResult(
        plan.out, report_path(plan.out), header, searches, keeper.seconds(), peak_memory(), keeper.n_runs
    )
    write_report(result, plan)
    return result


class _Patterns:
    """The patterns of a build, one after another. Each table is written while the next pattern is searched, if the
    memory is enough.
    """

    def __init__(
        self, plan: BuildPlan, folder: PartialFolder, writer: TableFileWriter, keeper: BuildKeeper,
        show: Callable[[BuildProgress], None], say: Say,
    ) -> None:  # fmt: skip
        self._plan, self._folder, self._writer, self._keeper = plan, folder, writer, keeper
        self._show, self._say = show, say
        self._writing: Future[None] | None = None

    def search_and_write(self) -> tuple[PatternTable, ...]:
        """Search those patterns whose tables are not in the file, and write them; the searches of all."""
        searches: list[PatternTable] = []
        written = self._writer.written
        with ThreadPoolExecutor(1) as background:
            try:
                for index, entry in enumerate(self._plan.patterns):
                    use = entry.use
                    if use is not None:
                        searches.append(replace(searches[use.index], spec=entry.spec, seconds=0.0))
                    elif index in written:
                        searches.append(written[index].table)
                    else:
                        table = self._search(index)
                        self._written_tables()
                        self._writing = background.submit(self._writer.write, index, table)
                        searches.append(table.without_entries())
                        del table
                        if not self._plan.overlaps_writing:
                            self._written_tables()
                self._keeper.keep_tables(self._written_tables())
            except BaseException:
                self._writer.cancel()
                raise
        return tuple(searches)

    def _search(self, index: int) -> PatternTable:
        plan, pattern = self._plan, self._plan.patterns[index].pattern
        spilled = plan.patterns[index].spilled_bytes

        def report_depth(depth: int, n_reached: int, n_states: int) -> None:
            self._show(BuildProgress(index, pattern, depth, n_reached, n_states))

        return search_pattern(
            plan.patterns[index].spec,
            n_threads=plan.n_threads,
            progress=report_depth,
            keeper=PatternKeeper(self._keeper, self._folder, index, self._say, self._written_tables),
            spill=Spill(self._folder.path, spilled) if spilled else None,
        )

    def _written_tables(self) -> dict[int, WrittenTable]:
        """The tables in the file, after the one that is being written. Raises what that raises."""
        if self._writing is not None:
            self._writing.result()
        return self._writer.written
