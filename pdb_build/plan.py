"""Plan of a build: its entries, states, memory and disk, and a check that they are available."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from pdb_build.partial_folder import check_replaceable, held_table_bytes
from pdb_build.word_layout import row_bytes
from pdb_core.arguments import FilePath, as_choice, as_path, as_threads
from pdb_core.board_size import SizeLike, as_size
from pdb_core.encoding import DEFAULT_ENCODING, ENCODINGS, Encoding
from pdb_core.errors import DiskFullError, InputError, MemoryLimitError
from pdb_core.layout import jump_positions
from pdb_core.messages import ShortRepr, format_bytes
from pdb_core.pattern import Partition, Pattern, parse_partition
from pdb_core.puzzle import BoardLike, as_goal
from pdb_core.resources import available_disk, available_memory
from pdb_core.schema import PAGE_BYTES, user_block_bytes
from pdb_core.shared_tables import TableUse, shared_tables
from pdb_core.table_spec import DatabaseSpec, TableSpec, most_pattern_tiles

# Interpreter, libraries and compiled kernels, measured.
PROCESS_BYTES = 235_000_000
# What the layouts of boards of more cells than this take beside the bytes of `layout_bytes`, measured.
_LARGE_BOARD_CELLS, _LARGE_BOARD_BYTES = 25, 20_000_000
# HDF5's own structures, before and after alignment: superblock and attributes; groups of each pattern, measured.
_FILE_OVERHEAD_BYTES, _PATTERN_OVERHEAD_BYTES = 40 * 1024, 8 * 1024
# A build takes this share of the available memory if it can: the system needs the rest to cache files.
_MEMORY_SHARE = 0.7


@dataclass(frozen=True)
class PatternPlan:
    """One pattern of a build.

    memory_bytes   of its search, with its table; `spilled_bytes` of these are in a temporary file
    use            the table of another pattern that this one uses, without bytes of its own; None if it is searched
    """

    spec: TableSpec
    memory_bytes: int
    use: TableUse | None = None
    spilled_bytes: int = 0

    @property
    def pattern(self) -> Pattern:
        return self.spec.pattern

    @property
    def n_bytes(self) -> int:
        """Bytes of the table in the file."""
        return self.spec.n_bytes if self.use is None else 0

    @property
    def worker_bytes(self) -> int:
        """Memory of a process that searches this pattern without a temporary file."""
        return self.memory_bytes + PROCESS_BYTES

    @property
    def held_bytes(self) -> int:
        """Most bytes that the search holds in memory."""
        return self.memory_bytes - self.spilled_bytes


@dataclass(frozen=True, repr=False)
class BuildPlan(ShortRepr):
    """Plan of a build: the tables to make, and the memory and the disk that the build takes.

    Attributes
    ----------
    spec
        The goal, the partition and the encoding.
    out
        The table file.
    n_threads
        Threads of the search.
    patterns
        One plan for each pattern of the partition.
    memory_bytes
        Peak memory of the process.
    disk_bytes
        Size of the table file.
    available_memory, available_disk
        Free disk, and the space of an unfinished build of the same file.
    overlaps_writing
        Whether each table is written while the next pattern is searched; otherwise before, to free its memory.
    """

    spec: DatabaseSpec
    out: Path
    n_threads: int
    patterns: tuple[PatternPlan, ...]
    memory_bytes: int
    disk_bytes: int
    available_memory: int
    available_disk: int
    overlaps_writing: bool

    @property
    def spilled_bytes(self) -> int:
        """Most disk that a search takes for bits, beside `disk_bytes`."""
        return max(entry.spilled_bytes for entry in self.patterns)

    @property
    def n_entries(self) -> int:
        """Entries of all tables."""
        return sum(entry.spec.n_entries for entry in self.patterns if entry.use is None)

    def finished_share(self, pattern_index: int, share: float) -> float:
        """Return the finished share of the build: the patterns before `pattern_index`, and `share` of that one."""
        before = sum(entry.spec.n_entries for entry in self.patterns[:pattern_index] if entry.use is None)
        return (before + share * self.patterns[pattern_index].spec.n_entries) / self.n_entries


def plan_build(
    size: SizeLike,
    goal: BoardLike,
    partition: Partition | str,
    out: FilePath,
    *,
    encoding: Encoding = DEFAULT_ENCODING,
    n_threads: int | None = None,
) -> BuildPlan:
    """Plan a build on this machine. `check_plan` compares the plan with the available memory and disk.

    Patterns that a symmetry maps onto each other have one table, see `pdb_core.shared_tables`.

    Parameters
    ----------
    size, goal, partition, encoding
        The tables to build. The partition may be text, see `parse_partition`.
    out
        The table file to write.
    n_threads
        By default the number of available cores.

    Returns
    -------
    BuildPlan
        States, memory and disk of each pattern and of the whole build.

    Raises
    ------
    InputError, GoalError, PartitionError
        An argument is invalid, or `encoding` cannot store the partition.
    OutputError
        No table file can have the name `out`.

    Examples
    --------
    >>> plan_build("3x3", "blank-last", "8", "8.h5").n_entries
    362880
    """
    size, out = as_size(size), as_path(out, "out")
    if out.is_symlink() and not out.is_dir():  # the file that it leads to is written
        out = Path(os.path.realpath(out))
    goal = as_goal(goal, size)
    as_choice(encoding, "encoding", ENCODINGS)
    if not isinstance(partition, Partition):
        partition = parse_partition(partition, size, goal)
    check_replaceable(out)
    database = DatabaseSpec(goal, partition, encoding)
    if partition.is_catalogue and encoding != "bits":
        raise InputError(f"catalogue {partition.name} is built in bits, not in {encoding}; leave the encoding out")
    uses = shared_tables(size, goal, partition)
    patterns = tuple(
        PatternPlan(spec, 0 if use else _search_bytes(spec), use)
        for spec, use in zip(database.tables, uses, strict=True)
    )
    memory = available_memory()
    patterns, overlaps_writing = _fit(patterns, memory)
    return BuildPlan(
        database,
        out,
        as_threads(n_threads),
        patterns,
        _peak(patterns, overlaps_writing),
        user_block_bytes(len(patterns))
        + _FILE_OVERHEAD_BYTES
        + _PATTERN_OVERHEAD_BYTES * len(patterns)
        + sum(-(-entry.n_bytes // PAGE_BYTES) * PAGE_BYTES for entry in patterns),
        memory,
        available_disk(out.absolute().parent) + held_table_bytes(out),
        overlaps_writing,
    )


def check_plan(plan: BuildPlan) -> None:
    """Check that the memory and the disk suffice for a plan.

    Raises
    ------
    MemoryLimitError
        The memory is too small; the message states how many tiles a pattern may have.
    DiskFullError
        The disk is too small.
    """
    available = plan.available_memory
    if plan.memory_bytes > available:
        largest = _largest_pattern_that_fits(plan, available)
        fitting = f"patterns of at most {largest} tiles would fit" if largest else "no pattern would fit"
        raise MemoryLimitError(
            f"building {plan.spec.partition.name} for {plan.spec.size} needs {format_bytes(plan.memory_bytes)} "
            f"of memory, {format_bytes(available)} are available; {fitting}"
        )
    check_disk(plan, plan.disk_bytes + plan.spilled_bytes)


def check_disk(plan: BuildPlan, n_bytes: int) -> None:
    """Raise `DiskFullError` if the disk of a plan has no room for `n_bytes`."""
    if n_bytes > plan.available_disk:
        raise DiskFullError(
            f"{plan.out} needs {format_bytes(n_bytes)}, {format_bytes(plan.available_disk)} are free there; "
            "make room or choose another place"
        )


def _fit(patterns: tuple[PatternPlan, ...], memory: int) -> tuple[tuple[PatternPlan, ...], bool]:
    """Fit the searches into `memory`. Return the patterns, and whether writing and searching overlap.

    If a search does not fit, each table is written before the next search, and some bits are kept in a file.
    """
    wanted = int(memory * _MEMORY_SHARE)
    if _peak(patterns, overlaps_writing=True) <= wanted:
        return patterns, True

    def spilled(entry: PatternPlan) -> int:
        return min(max(0, entry.worker_bytes - wanted), _bits_bytes(entry.spec))

    return tuple(replace(entry, spilled_bytes=spilled(entry)) for entry in patterns), False


def _bits_bytes(spec: TableSpec) -> int:
    """Return the bytes of the bits of a search, which may be in a file."""
    return spec.n_blocks * row_bytes(spec.n_tiles) if spec.encoding == "bits" else 0


def _peak(patterns: tuple[PatternPlan, ...], overlaps_writing: bool) -> int:
    """Return the peak memory of the process."""
    searched = [entry for entry in patterns if entry.use is None]
    before = [0, *(entry.n_bytes * overlaps_writing for entry in searched)]
    return max(entry.held_bytes + table for entry, table in zip(searched, before, strict=False)) + PROCESS_BYTES


def _search_bytes(spec: TableSpec) -> int:
    """Return the memory of a search."""
    # The rows of the level and of the bits; or those of the level, of what is seen, and the table.
    rows = spec.n_blocks + (spec.n_blocks if spec.encoding == "bits" else spec.n_sets)
    table = 0 if spec.encoding == "bits" else spec.n_bytes
    return rows * row_bytes(spec.n_tiles) + table + 4 * spec.n_blocks + layout_bytes(spec)


def layout_bytes(spec: TableSpec) -> int:
    """Return the memory of the layout of a search: all but its rows and its table."""
    n_jumps = len(jump_positions(spec.n_tiles, spec.size.width))
    return (
        n_jumps * row_bytes(spec.n_tiles) * 12  # where jumps take words
        + spec.n_orders * (16 * spec.n_tiles + 64)  # their making
        + spec.n_sets * (32 + spec.size.n_cells) + spec.n_blocks * 28  # blocks
        + 6 * spec.n_transitions
        + (_LARGE_BOARD_BYTES if spec.size.n_cells > _LARGE_BOARD_CELLS else 0)
    )  # fmt: skip


def _largest_pattern_that_fits(plan: BuildPlan, available: int) -> int:
    """Return the number of tiles of the largest pattern that the memory has room for, 0 if there is none."""
    for n_tiles in range(most_pattern_tiles(plan.spec.size), 0, -1):
        spec = plan.spec.table(Pattern(tuple(range(1, n_tiles + 1))))
        if _search_bytes(spec) - _bits_bytes(spec) + PROCESS_BYTES <= available:
            return n_tiles
    return 0
