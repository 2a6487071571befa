"""Writer of a table file: under another name, synced, read back, then renamed. Readers see the whole file or none."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event

from pdb_build.hdf5_structures import table_offsets, write_header
from pdb_build.partial_folder import PartialFolder
from pdb_build.search import PatternTable
from pdb_core.durable_files import digest_of, sync, write_and_sync, writing_errors
from pdb_core.errors import OutputError
from pdb_core.schema import Header, PatternHeader
from pdb_core.shared_tables import TableUse
from pdb_core.table_spec import DatabaseSpec


@dataclass(frozen=True)
class WrittenTable:
    """Table that is in the file, at `offset`, and synced; `table` has no entries."""

    table: PatternTable
    offset: int
    sha256: str


class TableFileWriter:
    """Writer of the table file in the folder of a build. `close` gives the file its name.

    Tables may come in any order and from any thread, one at a time; the bytes of the file depend on neither. `uses`
    names the table of each pattern. `kept` are tables that an earlier run wrote into the
    file in the folder, by the index of their pattern.

    Raises `DiskFullError` and `OutputError`.
    """

    def __init__(
        self,
        folder: PartialFolder,
        spec: DatabaseSpec,
        uses: Sequence[TableUse],
        *,
        kept: Mapping[int, WrittenTable] | None = None,
    ) -> None:
        self.path = folder.out
        self._temporary = folder.table
        self._spec, self._uses = spec, uses
        self._offsets = table_offsets(
            len(uses), {index: table.n_bytes for index, table in enumerate(spec.tables) if uses[index].index == index}
        )
        self._written: dict[int, WrittenTable] = dict(kept or {})
        self._cancelled = Event()
        if any(self._offsets[index] != table.offset for index, table in self._written.items()):
            raise OutputError(
                f"{self._temporary} cannot be continued: this version of HDF5 lays out files in another way; start "
                "over with --fresh"
            )
        if not self._written:
            with writing_errors(self.path):
                self._temporary.unlink(missing_ok=True)
                self._temporary.touch(exist_ok=False)

    @property
    def written(self) -> dict[int, WrittenTable]:
        """Tables that are in the file, by the index of their pattern."""
        return dict(self._written)

    def write(self, index: int, table: PatternTable) -> None:
        """Write and sync the table of the pattern at `index`, or a part of it if `cancel` is called meanwhile.

        Raises `DiskFullError` and `OutputError`.
        """
        offset = self._offsets[index]
        with writing_errors(self.path):
            descriptor = os.open(self._temporary, os.O_WRONLY)
            try:
                sha256 = write_and_sync(descriptor, table.table, offset, cancelled=self._cancelled.is_set)
            finally:
                os.close(descriptor)
        if sha256 is not None:
            # The table itself is not kept: the next search needs its memory.
            self._written[index] = WrittenTable(table.without_entries(), offset, sha256)

    def offset(self, index: int) -> int:
        """Return the offset of a table in the file, for processes that write it there themselves."""
        return self._offsets[index]

    def add(self, index: int, table: PatternTable, sha256: str) -> None:
        """Record a table that other processes wrote and synced at its offset. `table` is without entries."""
        self._written[index] = WrittenTable(table, self._offsets[index], sha256)

    def cancel(self) -> None:
        """Let a `write` in another thread end soon, because the file is not wanted any more."""
        self._cancelled.set()

    def close(self) -> Header:
        """Write the header, sync, read every table back, and give the file its name.

        Raises `DiskFullError`, and `OutputError`, also if the file reads back different bytes than were written.
        """
        entries: list[PatternHeader] = []
        for index, use in enumerate(self._uses):
            if use.index == index:
                entries.append(_pattern_header(self._written[index]))
            else:
                entries.append(replace(entries[use.index], spec=self._spec.tables[index], use=use))
        header = Header(self._spec, tuple(entries), 0, "")
        with writing_errors(self.path):
            header = write_header(self._temporary, header)
            self._read_back()
            sync(self._temporary)
            self._temporary.replace(self.path)
            sync(self.path.absolute().parent)
        return header

    def _read_back(self) -> None:
        with self._temporary.open("rb") as file:
            for written in self._written.values():
                if digest_of(file.fileno(), written.offset, written.table.n_bytes) != written.sha256:
                    raise OutputError(
                        f"{self.path} reads back different bytes than were written: the disk or the memory is faulty; "
                        "build it in another place"
                    )


def _pattern_header(written: WrittenTable) -> PatternHeader:
    table = written.table
    return PatternHeader(table.spec, written.offset, table.histogram, table.n_unreached, written.sha256)
