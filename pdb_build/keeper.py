"""When a build keeps a checkpoint, and what it says about it."""

import errno
import time
from collections.abc import Callable
from contextlib import suppress

from pdb_build.checkpoint import identity
from pdb_build.checkpoint_files import Say, find_checkpoint, make_room, restore_arrays, write_checkpoint
from pdb_build.durable import writing_errors
from pdb_build.frontier import Arrays
from pdb_build.partial_folder import PartialFolder, held_table_bytes
from pdb_build.plan import BuildPlan
from pdb_build.search import SearchPosition
from pdb_build.writer import WrittenTable
from pdb_core.errors import PdbError
from pdb_core.messages import format_bytes
from pdb_core.resources import available_disk

# Checkpoints are at least so many times as far apart as one takes, so that they cost a twentieth of the time. Up to ten
# times as far as was asked for: on a disk that slow they cost more.
_TIMES_COST = 20
_TIMES_INTERVAL = 10
# Speed of the disk, assumed until the first checkpoint is written.
_DISK_BYTES_PER_S = 500_000_000


class BuildKeeper:
    """The checkpoints of one build: the one it goes on from, and those that it writes, `every_s` seconds apart.

    found  the checkpoint of an earlier run; None where there is none, or `fresh` has it removed

    Raises `CheckpointMismatchError`, `OutputError`.
    """

    def __init__(self, folder: PartialFolder, plan: BuildPlan, every_s: float, say: Say, *, fresh: bool) -> None:
        self._folder, self._plan, self._every_s, self._say = folder, plan, every_s, say
        # Noted now: the sources are those that run, as they may no longer be in an hour.
        self._identity = identity(plan)
        if fresh:
            folder.clear()
        with writing_errors(plan.out):
            self.found = find_checkpoint(folder, plan, say)
            if self.found is not None:
                make_room(folder, self.found.number)
                say(f"{plan.out} continues from {self.found.place(len(plan.patterns))}")
            elif folder.manifests():
                say(f"{plan.out} starts over: nothing in {folder.path} is whole")
        if self.found is None:
            folder.clear()
        self._newest = self.found
        self._start = time.monotonic()
        self._cost = plan.checkpoint_bytes / 2 / _DISK_BYTES_PER_S
        self._due = self._start + self._interval()
        self._has_failed = False

    @property
    def n_runs(self) -> int:
        """In how many runs the build is made, this one counted."""
        return 1 if self.found is None else self.found.n_runs + 1

    def seconds(self) -> float:
        """How long the build took by now, earlier runs counted up to where this one went on."""
        return (0.0 if self.found is None else self.found.seconds) + time.monotonic() - self._start

    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return time.monotonic() >= self._due

    def keep(self, tables: dict[int, WrittenTable], search: tuple[int, SearchPosition, Arrays] | None) -> None:
        """Write a checkpoint: the tables that are in the file, and the search of a pattern. Where that fails the build
        goes on; it is said once.
        """
        begin = time.monotonic()
        try:
            number = make_room(self._folder, None if self._newest is None else self._newest.number)
            self._check_room(search)
            self._newest = write_checkpoint(
                self._folder, number, self._identity, tables, search, seconds=self.seconds(), n_runs=self.n_runs
            )
            self._has_failed = False
        except OSError as error:
            if not self._has_failed:
                self._say(f"no checkpoint of {self._plan.out}: {error.strerror}; the build goes on without")
            self._has_failed = True
        self._cost = time.monotonic() - begin
        self._due = begin + self._cost + self._interval()

    def _interval(self) -> float:
        """Seconds to the next checkpoint."""
        return max(self._every_s, min(_TIMES_COST * self._cost, _TIMES_INTERVAL * self._every_s))

    def keep_tables(self, tables: dict[int, WrittenTable]) -> None:
        """Write a checkpoint of all tables, where checkpoints are written at all: the file is only to be closed."""
        if self._newest is not None or self.is_due():
            self.keep(tables, None)

    def is_worth_the_time(self) -> bool:
        """Whether this run is so long that a last checkpoint should be written when it is interrupted."""
        return time.monotonic() - self._start >= max(self._every_s, self._cost)

    def say_what_is_kept(self) -> None:
        """Tell how to go on with a build that ends too early."""
        if self._newest is not None:
            self._say(
                f"{self._plan.out} is kept up to {self._newest.place(len(self._plan.patterns))}, in "
                f"{self._folder.path.name}; the same command goes on from there, or starts over with --fresh"
            )

    def _check_room(self, search: tuple[int, SearchPosition, Arrays] | None) -> None:
        """Leave the room that the table file still needs. Raises `OSError`."""
        state_bytes = 0 if search is None else sum(array.nbytes for array in search[2].values())
        to_write = max(0, self._plan.disk_bytes - held_table_bytes(self._plan.out))
        free = available_disk(self._folder.path)
        if state_bytes and state_bytes + to_write > free:
            needed = f"it needs {format_bytes(state_bytes)}, the file {format_bytes(to_write)} more"
            raise OSError(errno.ENOSPC, f"{needed}, and {format_bytes(free)} are free")


class PatternKeeper:
    """The checkpoints of the search of the pattern at `index`. `written_tables` waits for the table that is being
    written, and returns all that are in the file; raises what the writer raises.
    """

    def __init__(
        self, build: BuildKeeper, folder: PartialFolder, index: int, say: Say,
        written_tables: Callable[[], dict[int, WrittenTable]],
    ) -> None:  # fmt: skip
        self._build, self._folder, self._index, self._say = build, folder, index, say
        self._written_tables = written_tables

    def restore(self, arrays: Arrays) -> SearchPosition:
        """Fill the arrays of the search from the checkpoint of an earlier run, if that was in its midst.

        Raises `OutputError` where they can no longer be read.
        """
        search = None if self._build.found is None else self._build.found.search
        if search is None or search.index != self._index:
            return SearchPosition()
        restore_arrays(self._folder, search, arrays)
        return search.position

    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self._build.is_due()

    def keep(self, position: SearchPosition, arrays: Arrays) -> None:
        """Write a checkpoint. Raises `DiskFullError` and `OutputError` where a table could not be written."""
        self._build.keep(self._written_tables(), (self._index, position, arrays))

    def keep_at_interrupt(self, position: SearchPosition, arrays: Arrays) -> None:
        """Write a last checkpoint, in a run that took longer than the time between two."""
        if self._build.is_worth_the_time():
            n_bytes = sum(array.nbytes for array in arrays.values())
            self._say(f"interrupted: writing a last checkpoint, {format_bytes(n_bytes)}; Ctrl-C again ends without it")
            with suppress(PdbError):  # of a table; that of a checkpoint is said
                self.keep(position, arrays)
