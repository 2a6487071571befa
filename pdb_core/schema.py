"""The header of a table file: its fields, their checks, and the same facts as HDF5 attributes.

docs/format.md specifies the file; a test compares the two. The builder writes the header and readers parse it with the
functions here. The header is in the HDF5 user block, so that readers need no HDF5 library.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np

from pdb_core.arguments import as_choice
from pdb_core.board_size import BoardSize
from pdb_core.durable_files import read_signed_line, signed_line
from pdb_core.encoding import COSTS, ENCODINGS, UNREACHED
from pdb_core.errors import TableFileDamagedError, TableFileForeignError, TableFileVersionError
from pdb_core.messages import as_typed, shorten
from pdb_core.pattern import Partition, Pattern
from pdb_core.puzzle import Board
from pdb_core.ranking import INDEX_FUNCTION
from pdb_core.shared_tables import TableUse, shared_tables
from pdb_core.table_spec import DatabaseSpec, TableSpec

FORMAT = "tile-pdb"
FORMAT_VERSION = 5
PAGE_BYTES = 4096
MAX_HEADER_BYTES = 1 << 20

TABLE_DATASET = "table"
HISTOGRAM_DATASET = "histogram"
# Facts about the file that are HDF5 attributes too.
_ROOT_ATTRIBUTES = (
    "format", "format_version", "width", "height", "goal", "partition", "index_function", "encoding", "cost",
)  # fmt: skip

_FIRST_BYTES = f'{{"format":"{FORMAT}"'.encode()
_HDF5_BYTES = b"\x89HDF"
# Bytes of the user block for each pattern: 255 counts of up to 16 digits, 36 cells, a digest, and its partitions.
_PATTERN_BYTES = 8192


@dataclass(frozen=True)
class PatternHeader:
    """Facts about the table of one pattern, which begins at `offset` in the file.

    `histogram[d]` counts the entries of distance d. `sha256` is the digest of the table's bytes. `use` is None if the
    pattern has a table of its own. Otherwise all other fields but `spec` are those of the table that it uses.
    """

    spec: TableSpec
    offset: int
    histogram: tuple[int, ...]
    sha256: str
    use: TableUse | None = None

    @property
    def pattern(self) -> Pattern:
        return self.spec.pattern

    @property
    def n_entries(self) -> int:
        return self.spec.n_entries

    @property
    def n_bytes(self) -> int:
        return self.spec.n_bytes

    @property
    def n_unreached(self) -> int:
        return self.n_entries - sum(self.histogram)

    @property
    def maximum(self) -> int:
        return len(self.histogram) - 1

    @property
    def mean(self) -> float:
        """Mean distance over the reached entries."""
        return sum(d * n for d, n in enumerate(self.histogram)) / sum(self.histogram)

    def to_record(self) -> dict[str, Any]:
        """Return the fields in the JSON header."""
        if self.use is not None:
            return {"tiles": self.pattern.tiles, "same_as": self.use.index, "cell_map": self.use.cell_map}
        return {
            "tiles": self.pattern.tiles,
            "offset": self.offset,
            "bytes": self.n_bytes,
            "sha256": self.sha256,
            "histogram": self.histogram,
            "n_unreached": self.n_unreached,
        }


@dataclass(frozen=True)
class Header:
    """Header of a table file.

    `file_bytes` is the length of the file. `structure_sha256` is the digest of all bytes outside the user block and the
    tables: those are the HDF5 structures.
    """

    spec: DatabaseSpec
    patterns: tuple[PatternHeader, ...]
    file_bytes: int
    structure_sha256: str

    @property
    def uses(self) -> tuple[TableUse, ...]:
        """Table of each pattern, and the symmetry that maps the pattern onto it."""
        identity = tuple(range(self.spec.size.n_cells))
        return tuple(entry.use or TableUse(index, identity) for index, entry in enumerate(self.patterns))

    @property
    def tables(self) -> dict[int, PatternHeader]:
        """Tables in the file, by the index of their pattern."""
        return {index: entry for index, entry in enumerate(self.patterns) if entry.use is None}

    def structure_extents(self) -> Iterator[tuple[int, int]]:
        """Yield start and stop of each extent of the file outside the user block and the tables.

        Raises `ValueError` if tables overlap or lie outside the file.
        """
        start = user_block_bytes(len(self.patterns))
        for table in sorted(self.tables.values(), key=lambda table: table.offset):
            if table.offset < start:
                raise ValueError(f"the table of pattern {table.pattern} overlaps other parts of the file")
            yield start, table.offset
            start = table.offset + table.n_bytes
        if start > self.file_bytes:
            raise ValueError(f"a table ends at byte {start}, and the file has {self.file_bytes}")
        yield start, self.file_bytes

    def digest(self) -> str:
        """Return the SHA-256 of the JSON text. It covers the digests of the tables and of the structures."""
        return hashlib.sha256(self.to_json().encode("ascii")).hexdigest()

    def fields(self) -> dict[str, Any]:
        """Return the fields of the JSON text."""
        spec = self.spec
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "width": spec.size.width,
            "height": spec.size.height,
            "goal": spec.goal,
            "partition": spec.partition.name,
            "partitions": spec.partition.sums if spec.partition.is_catalogue else None,
            "index_function": INDEX_FUNCTION,
            "encoding": spec.encoding,
            "cost": spec.cost,
            "patterns": [entry.to_record() for entry in self.patterns],
            "file_bytes": self.file_bytes,
            "structure_sha256": self.structure_sha256,
        }

    def to_json(self) -> str:
        """Return the JSON text, one line. Equal headers have equal texts."""
        return json.dumps(self.fields(), separators=(",", ":"), ensure_ascii=True)

    def to_user_block(self) -> bytes:
        """Return the user block: the JSON text and its digest, a line each, and zeros."""
        lines = signed_line(self.to_json().encode("ascii"))
        return lines.ljust(user_block_bytes(len(self.patterns)), b"\0")


def user_block_bytes(n_patterns: int) -> int:
    """Return the bytes of the user block, a power of two. It is known before the tables are."""
    return _PATTERN_BYTES << (n_patterns - 1).bit_length()


def read_header(file: BinaryIO, source: str) -> Header:
    """Read the header from the beginning of a file; `source` names the file in messages.

    Reads at most `MAX_HEADER_BYTES`. Raises `TableFileForeignError` if this is no table file, `TableFileVersionError`
    if it has another format version, `TableFileDamagedError` if it is truncated or its header is invalid.
    """
    start = file.read(len(_FIRST_BYTES))
    if start.startswith(_HDF5_BYTES):
        raise TableFileForeignError(
            f"{source} is an HDF5 file without the user block of a table file; if h5py copied it, copy the file itself"
        )
    if start != _FIRST_BYTES:
        raise TableFileForeignError(f"{source} is not a table file of tile-pdb; make one with pdb build")
    file.seek(0)
    text = read_signed_line(file, MAX_HEADER_BYTES)
    if text is None:
        raise TableFileDamagedError(
            f"{source} is damaged: its header does not match its digest; copy it or build it again"
        )
    try:
        content = json.loads(text)
        if content["format_version"] != FORMAT_VERSION:
            raise TableFileVersionError(
                f"{source} has format version {shorten(str(content['format_version']), 20)}, this program reads "
                f"version {FORMAT_VERSION}; update tile-pdb, or build it again"
            )
        n_bytes = file.seek(0, 2)
        if n_bytes != content["file_bytes"]:
            raise TableFileDamagedError(
                f"{source} is damaged: it has {n_bytes} bytes instead of {shorten(str(content['file_bytes']), 20)}; "
                "copy it or build it again"
            )
        header = _parse_header(content)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise TableFileDamagedError(
            f"{source} is damaged: its header is invalid ({as_typed(str(error), 200)}); build it again"
        ) from error
    expected = header.to_user_block()
    file.seek(0)
    if file.read(len(expected)) != expected:
        raise TableFileDamagedError(
            f"{source} is damaged: its header is invalid (unknown, misplaced or contradictory content); build it again"
        )
    return header


def _parse_header(content: dict[str, Any]) -> Header:
    size = BoardSize(content["width"], content["height"])
    goal = Board(content["goal"], size)
    encoding = as_choice(content["encoding"], "encoding", ENCODINGS)
    cost = as_choice(content["cost"], "cost", COSTS)
    sums = tuple(map(tuple, content["partitions"] or ()))
    patterns = tuple(Pattern(tuple(record["tiles"])) for record in content["patterns"])
    partition = Partition(content["partition"], patterns, size, cost, sums)
    spec, uses = DatabaseSpec(goal, partition, encoding), shared_tables(size, goal, partition)
    entries: list[PatternHeader] = []
    for table, use, record in zip(spec.tables, uses, content["patterns"], strict=True):
        entries.append(_parse_table(record, table) if use is None else replace(entries[use.index], spec=table, use=use))
    header = Header(spec, tuple(entries), content["file_bytes"], content["structure_sha256"])
    list(header.structure_extents())  # raises if tables overlap
    return header


def _parse_table(record: dict[str, Any], spec: TableSpec) -> PatternHeader:
    histogram = tuple(record["histogram"])
    if not 1 <= len(histogram) <= UNREACHED or histogram[-1] == 0 or sum(histogram) > spec.n_entries:
        raise ValueError(
            f"the histogram of pattern {spec.pattern} is not a list of 1 to {UNREACHED} counts of {spec.n_entries} "
            "entries"
        )
    return PatternHeader(spec, record["offset"], histogram, record["sha256"])


def pattern_group(index: int) -> str:
    """Return the name of the HDF5 group of the pattern at `index`."""
    return f"pattern_{index}"


def hdf5_attributes(header: Header) -> dict[str, dict[str, Any]]:
    """Return the HDF5 attributes of each group, by the name of the group."""
    fields = header.fields()
    groups = {"/": {name: fields[name] for name in _ROOT_ATTRIBUTES}}
    if fields["partitions"]:
        is_in = [index in indices for indices in fields["partitions"] for index in range(len(header.patterns))]
        groups["/"]["partitions"] = np.array(is_in, dtype=np.uint8)
    for index, entry in enumerate(header.patterns):
        facts = {
            "tiles": entry.pattern.tiles,
            "maximum": entry.maximum,
            "mean": entry.mean,
            "n_unreached": entry.n_unreached,
            "sha256": entry.sha256,
        }
        groups[pattern_group(index)] = facts if entry.use is None else entry.to_record()
    for facts in groups.values():
        for name, value in facts.items():
            if isinstance(value, tuple):  # of cells or tiles
                facts[name] = np.array(value, dtype=np.uint8)
    return groups
