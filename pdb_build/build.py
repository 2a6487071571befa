"""Building a database, as a whole. Read this first.

plan     what it takes, and whether there is room             plan.py
search   the distances of each pattern, on all cores          search.py, search_kernels.py
write    each table while the next pattern is searched        writer.py
report   what was done, beside the file                       report.py
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from pdb_build.plan import BuildPlan, check_plan
from pdb_build.report import report_path, write_report
from pdb_build.search import PatternTable, search_pattern
from pdb_build.writer import TableFileWriter
from pdb_core.pattern import Pattern
from pdb_core.resources import peak_memory
from pdb_core.schema import Header


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
    which uses the table of another is the other's, in no time.
    """

    path: Path
    report: Path
    header: Header
    searches: tuple[PatternTable, ...]
    seconds: float
    peak_memory_bytes: int


def build_database(plan: BuildPlan, *, progress: Callable[[BuildProgress], None] | None = None) -> BuildResult:
    """Build what `plan` says, at `plan.out`. The same plan gives the same bytes, whatever the number of threads.

    Whatever goes wrong, `plan.out` is left as it was before. Raises `MemoryLimitError`, `DiskFullError`, `OutputError`.
    """
    check_plan(plan)
    start = time.perf_counter()
    with TableFileWriter(plan.out, plan.size, plan.goal, plan.partition, plan.encoding, plan.uses) as writer:
        searches = _search_and_write(plan, writer, progress)
        header = writer.close()
    result = BuildResult(
        plan.out, report_path(plan.out), header, tuple(searches), time.perf_counter() - start, peak_memory()
    )
    write_report(result, plan)
    return result


def _search_and_write(
    plan: BuildPlan, writer: TableFileWriter, progress: Callable[[BuildProgress], None] | None
) -> list[PatternTable]:
    """Search the patterns one after another; each table is written while the next pattern is searched."""
    searches: list[PatternTable] = []
    writing: Future[None] | None = None
    with ThreadPoolExecutor(1) as background:
        try:
            for index, pattern in enumerate(plan.partition.patterns):
                use = plan.patterns[index].use
                if use is not None:
                    searches.append(replace(searches[use.index], pattern=pattern, seconds=0.0))
                    continue

                def report_depth(
                    depth: int, n_reached: int, n_states: int, at: int = index, of: Pattern = pattern
                ) -> None:
                    if progress is not None:
                        progress(BuildProgress(at, of, depth, n_reached, n_states))

                table = search_pattern(
                    plan.size,
                    plan.goal,
                    pattern,
                    plan.encoding,
                    plan.partition.cost,
                    n_threads=plan.n_threads,
                    progress=report_depth,
                )
                if writing is not None:
                    writing.result()
                writing = background.submit(writer.write, index, table)
                searches.append(table.without_entries())
                del table
            if writing is not None:
                writing.result()
        except BaseException:
            writer.cancel()
            raise
    return searches
