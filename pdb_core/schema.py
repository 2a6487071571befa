"""The table file: names, versions, and what its header says. docs/format.md is the contract; a test compares the two.

Written and read here, so that builder and reader cannot differ. The functions take objects that look like h5py's
groups, or are; this package opens no files.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pdb_core.cost import COSTS, Cost
from pdb_core.encoding import (
    ENCODINGS,
    UNREACHED,
    Encoding,
    block_bytes,
    check_encoding,
)
from pdb_core.errors import (
    InputError,
    MemoryLimitError,
    TableFileDamagedError,
    TableFileForeignError,
    TableFileVersionError,
)
from pdb_core.messages import format_bytes
from pdb_core.pattern import MAX_CATALOGUE_PATTERNS, MAX_PARTITIONS, Catalogue, Partition, Pattern
from pdb_core.puzzle import Board, BoardSize, check_board, check_table_size
from pdb_core.ranking import INDEX_FUNCTION
from pdb_core.resources import available_memory
from pdb_core.shared_tables import TableUse, may_share, own_tables
from pdb_core.table_spec import TableSpec

FORMAT = "tile-pdb"
FORMAT_VERSION = 1
# Of files in which every move counts: a program that knows version 1 alone refuses them, and tells why.
EVERY_MOVE_VERSION = 2
# Of files in which a pattern uses the table of another, whatever the cost.
SHARED_VERSION = 3
# Of catalogues: files of several partitions.
CATALOGUE_VERSION = 4
PAGE_BYTES = 4096

# Names in the file. The order is that of docs/format.md.
FORMAT_ATTRIBUTE = "format"
VERSION_ATTRIBUTE = "format_version"
WIDTH_ATTRIBUTE = "width"
HEIGHT_ATTRIBUTE = "height"
GOAL_ATTRIBUTE = "goal"
PARTITION_ATTRIBUTE = "partition"
INDEX_ATTRIBUTE = "index_function"
ENCODING_ATTRIBUTE = "encoding"
COST_ATTRIBUTE = "cost"  # from version 2 on
PARTITIONS_ATTRIBUTE = "partitions"  # from version 4 on
HEADER_DIGEST_ATTRIBUTE = "header_sha256"
ROOT_ATTRIBUTES = (
    FORMAT_ATTRIBUTE,
    VERSION_ATTRIBUTE,
    WIDTH_ATTRIBUTE,
    HEIGHT_ATTRIBUTE,
    GOAL_ATTRIBUTE,
    PARTITION_ATTRIBUTE,
    INDEX_ATTRIBUTE,
    ENCODING_ATTRIBUTE,
    COST_ATTRIBUTE,
    PARTITIONS_ATTRIBUTE,
    HEADER_DIGEST_ATTRIBUTE,
)
TILES_ATTRIBUTE = "tiles"
MAXIMUM_ATTRIBUTE = "maximum"
MEAN_ATTRIBUTE = "mean"
UNREACHED_ATTRIBUTE = "n_unreached"
DIGEST_ATTRIBUTE = "sha256"
PATTERN_ATTRIBUTES = (TILES_ATTRIBUTE, MAXIMUM_ATTRIBUTE, MEAN_ATTRIBUTE, UNREACHED_ATTRIBUTE, DIGEST_ATTRIBUTE)
SAME_AS_ATTRIBUTE = "same_as"
CELL_MAP_ATTRIBUTE = "cell_map"
# Of a pattern that uses the table of another; it has no datasets.
SHARED_ATTRIBUTES = (TILES_ATTRIBUTE, SAME_AS_ATTRIBUTE, CELL_MAP_ATTRIBUTE)
TABLE_DATASET = "table"
HISTOGRAM_DATASET = "histogram"
PATTERN_DATASETS = (TABLE_DATASET, HISTOGRAM_DATASET)

_MAX_NAME_LENGTH = 200
# Of a cell set's mask, its first block, and the masks of two blank regions; see `layout.Blocks`.
_BYTES_OF_A_CELL_SET = 8 + 4 + 2 * 8


class GroupLike(Protocol):
    """What an h5py group offers and this module uses."""

    @property
    def attrs(self) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...


@dataclass(frozen=True)
class PatternHeader:
    """What the file says of the table of one pattern. `histogram[d]` counts the entries of distance d; `sha256` is of
    the table's bytes, `n_bytes` of them. `use` is None where the pattern has a table of its own; else all this is of
    the one that it uses.
    """

    pattern: Pattern
    n_entries: int
    n_bytes: int
    histogram: tuple[int, ...]
    n_unreached: int
    sha256: str
    use: TableUse | None = None

    @property
    def maximum(self) -> int:
        return len(self.histogram) - 1

    @property
    def mean(self) -> float:
        """Mean distance over the entries that are reached."""
        return sum(d * n for d, n in enumerate(self.histogram)) / sum(self.histogram)


@dataclass(frozen=True)
class Header:
    """What the file says of itself."""

    size: BoardSize
    goal: Board
    partition: Partition
    encoding: Encoding
    patterns: tuple[PatternHeader, ...]

    @property
    def cost(self) -> Cost:
        """Which moves the distances count."""
        return self.partition.cost

    @property
    def format_version(self) -> int:
        if isinstance(self.partition, Catalogue):
            return CATALOGUE_VERSION
        if any(entry.use is not None for entry in self.patterns):
            return SHARED_VERSION
        return EVERY_MOVE_VERSION if self.cost == "every-move" else FORMAT_VERSION

    @property
    def uses(self) -> tuple[TableUse, ...]:
        """Which table each pattern uses, and how."""
        own = own_tables(self.size, len(self.patterns))
        return tuple(entry.use or use for entry, use in zip(self.patterns, own, strict=True))

    @property
    def tables(self) -> dict[int, PatternHeader]:
        """The tables that are in the file, by the places of their patterns in the partition."""
        return {index: entry for index, entry in enumerate(self.patterns) if entry.use is None}

    def digest(self) -> str:
        """SHA-256 over all that the header says, the tables' digests among it, in one canonical text."""
        content = {
            FORMAT_ATTRIBUTE: FORMAT,
            VERSION_ATTRIBUTE: self.format_version,
            WIDTH_ATTRIBUTE: self.size.width,
            HEIGHT_ATTRIBUTE: self.size.height,
            GOAL_ATTRIBUTE: list(self.goal),
            PARTITION_ATTRIBUTE: self.partition.name,
            INDEX_ATTRIBUTE: INDEX_FUNCTION,
            ENCODING_ATTRIBUTE: self.encoding,
            "patterns": [
                {
                    TILES_ATTRIBUTE: list(entry.pattern.tiles),
                    HISTOGRAM_DATASET: list(entry.histogram),
                    UNREACHED_ATTRIBUTE: entry.n_unreached,
                    DIGEST_ATTRIBUTE: entry.sha256,
                }
                if entry.use is None
                else {
                    TILES_ATTRIBUTE: list(entry.pattern.tiles),
                    SAME_AS_ATTRIBUTE: entry.use.index,
                    CELL_MAP_ATTRIBUTE: list(entry.use.cell_map),
                }
                for entry in self.patterns
            ],
        }
        if self.format_version != FORMAT_VERSION:
            content[COST_ATTRIBUTE] = self.cost
        if isinstance(self.partition, Catalogue):
            content[PARTITIONS_ATTRIBUTE] = [list(places) for places in self.partition.partitions]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def pattern_group(index: int) -> str:
    """Name of the group of the pattern at that place in the partition."""
    return f"pattern_{index}"


def write_header(root: GroupLike, header: Header) -> None:
    """Write all attributes. The groups and their datasets must be there."""
    root.attrs[FORMAT_ATTRIBUTE] = FORMAT
    root.attrs[VERSION_ATTRIBUTE] = np.int64(header.format_version)
    root.attrs[WIDTH_ATTRIBUTE] = np.int64(header.size.width)
    root.attrs[HEIGHT_ATTRIBUTE] = np.int64(header.size.height)
    root.attrs[GOAL_ATTRIBUTE] = np.array(header.goal, dtype=np.uint8)
    root.attrs[PARTITION_ATTRIBUTE] = header.partition.name
    root.attrs[INDEX_ATTRIBUTE] = INDEX_FUNCTION
    root.attrs[ENCODING_ATTRIBUTE] = header.encoding
    if header.format_version != FORMAT_VERSION:
        root.attrs[COST_ATTRIBUTE] = header.cost
    if isinstance(header.partition, Catalogue):
        places = np.arange(len(header.patterns))
        is_in = [np.isin(places, of) for of in header.partition.partitions]
        root.attrs[PARTITIONS_ATTRIBUTE] = np.concatenate(is_in).astype(np.uint8)
    for index, entry in enumerate(header.patterns):
        group = root[pattern_group(index)]
        group.attrs[TILES_ATTRIBUTE] = np.array(entry.pattern.tiles, dtype=np.uint8)
        if entry.use is not None:
            group.attrs[SAME_AS_ATTRIBUTE] = np.int64(entry.use.index)
            group.attrs[CELL_MAP_ATTRIBUTE] = np.array(entry.use.cell_map, dtype=np.uint8)
            continue
        group.attrs[MAXIMUM_ATTRIBUTE] = np.int64(entry.maximum)
        group.attrs[MEAN_ATTRIBUTE] = np.float64(entry.mean)
        group.attrs[UNREACHED_ATTRIBUTE] = np.int64(entry.n_unreached)
        group.attrs[DIGEST_ATTRIBUTE] = entry.sha256
    root.attrs[HEADER_DIGEST_ATTRIBUTE] = header.digest()


def read_header(root: GroupLike, source: str) -> Header:
    """Read and check a header; `source` names the file in messages.

    Raises `TableFileForeignError` where this is no table file, `TableFileVersionError` where it is one this program
    cannot read, `TableFileDamagedError` where the header contradicts itself or its digest, `MemoryLimitError` where
    what a lookup needs beside the tables has no room.
    """
    if FORMAT_ATTRIBUTE not in root.attrs or _text(root.attrs[FORMAT_ATTRIBUTE]) != FORMAT:
        raise TableFileForeignError(
            f"{source} is an HDF5 file, but not a table file of tile-pdb; make one with pdb build"
        )
    try:
        _check_versions(root, source)
        header = _parse_header(root)
        stated = _text(root.attrs[HEADER_DIGEST_ATTRIBUTE])
    except (InputError, KeyError, TypeError, ValueError, ArithmeticError, OSError, AttributeError) as error:
        raise TableFileDamagedError(
            f"{source} is damaged, its header cannot be read ({error}); build it again"
        ) from error
    if header.digest() != stated:
        raise TableFileDamagedError(f"{source} is damaged, its header does not match its digest; build it again")
    return header


def _check_versions(root: GroupLike, source: str) -> None:
    version = int(root.attrs[VERSION_ATTRIBUTE])
    if not FORMAT_VERSION <= version <= CATALOGUE_VERSION:
        raise TableFileVersionError(
            f"{source} is of format version {version}, this program reads versions {FORMAT_VERSION} to "
            f"{CATALOGUE_VERSION}; {'update tile-pdb' if version > FORMAT_VERSION else 'build the table again'}"
        )
    known_values: dict[str, tuple[str, ...]] = {INDEX_ATTRIBUTE: (INDEX_FUNCTION,), ENCODING_ATTRIBUTE: ENCODINGS}
    if version == EVERY_MOVE_VERSION:
        known_values |= {ENCODING_ATTRIBUTE: ("bits",), COST_ATTRIBUTE: ("every-move",)}
    elif version >= SHARED_VERSION:
        known_values |= {COST_ATTRIBUTE: COSTS}
    for attribute, known in known_values.items():
        found = _text(root.attrs[attribute])
        if found not in known:
            raise TableFileVersionError(
                f"{source} has the {attribute.replace('_', ' ')} {found[:60]!r}, this program knows "
                f"{' and '.join(map(repr, known))}; update tile-pdb"
            )


def _parse_header(root: GroupLike) -> Header:
    size = BoardSize(int(root.attrs[WIDTH_ATTRIBUTE]), int(root.attrs[HEIGHT_ATTRIBUTE]))
    check_table_size(size)
    goal = check_board(_integers(root.attrs[GOAL_ATTRIBUTE]), size)
    encoding: Encoding = "bits" if _text(root.attrs[ENCODING_ATTRIBUTE]) == "bits" else "bytes"
    version = int(root.attrs[VERSION_ATTRIBUTE])
    cost: Cost = "additive"
    if version != FORMAT_VERSION and _text(root.attrs[COST_ATTRIBUTE]) == "every-move":
        cost = "every-move"
    check_encoding(encoding, cost)
    name = _text(root.attrs[PARTITION_ATTRIBUTE])
    # It goes to terminals: 35 tiles written out have 93 characters.
    if not name.isprintable() or len(name) > _MAX_NAME_LENGTH:
        raise ValueError(f"{name[:60]!r} is no name of a partition")
    entries: list[PatternHeader] = []
    while pattern_group(len(entries)) in root:
        if len(entries) == (MAX_CATALOGUE_PATTERNS if version == CATALOGUE_VERSION else size.n_cells - 1):
            raise ValueError(f"more patterns than a {size} board has tiles, or a catalogue may have")
        group = root[pattern_group(len(entries))]
        if version >= SHARED_VERSION and SAME_AS_ATTRIBUTE in group.attrs:
            entries.append(_parse_use(group, entries, size, goal, cost))
        else:
            entries.append(_parse_pattern(group, size, goal, encoding, cost))
    patterns = tuple(entry.pattern for entry in entries)
    if version == CATALOGUE_VERSION:
        return Header(size, goal, _parse_catalogue(root, name, patterns, size, cost), encoding, tuple(entries))
    partition = Partition(name, patterns, size, cost)
    return Header(size, goal, partition, encoding, tuple(entries))


def _parse_catalogue(
    root: GroupLike, name: str, patterns: tuple[Pattern, ...], size: BoardSize, cost: Cost
) -> Catalogue:
    is_in = np.array(_integers(root.attrs[PARTITIONS_ATTRIBUTE]))
    n_partitions, rest = divmod(len(is_in), max(1, len(patterns)))
    if rest or not 1 <= n_partitions <= MAX_PARTITIONS or not np.isin(is_in, (0, 1)).all():
        raise ValueError(f"the partitions are not rows of {len(patterns)} zeros and ones")
    is_in = is_in.reshape(n_partitions, -1)
    return Catalogue(name, patterns, size, cost, tuple(tuple(np.flatnonzero(row).tolist()) for row in is_in))


def _parse_use(
    group: GroupLike, before: Sequence[PatternHeader], size: BoardSize, goal: Board, cost: Cost
) -> PatternHeader:
    """A pattern that uses the table of one of those before it."""
    pattern = _parse_tiles(group, size)
    index = int(group.attrs[SAME_AS_ATTRIBUTE])
    use = TableUse(index, tuple(_integers(group.attrs[CELL_MAP_ATTRIBUTE])))
    if not 0 <= index < len(before):
        raise ValueError(f"pattern {pattern} uses the table of pattern {index}, which is none of those before it")
    first = before[index]
    if first.use is not None:
        raise ValueError(f"pattern {pattern} uses the table of pattern {first.pattern}, which has none of its own")
    if not may_share(size, goal, pattern, first.pattern, use.cell_map, cost):
        raise ValueError(f"pattern {pattern} cannot use the table of pattern {first.pattern} by its cell map")
    return replace(first, pattern=pattern, use=use)


def _parse_tiles(group: GroupLike, size: BoardSize) -> Pattern:
    pattern = Pattern(tuple(_integers(group.attrs[TILES_ATTRIBUTE])))
    # What the partition would refuse, but nothing is to be looked up before.
    if not 1 <= pattern.tiles[0] <= pattern.tiles[-1] < size.n_cells:
        raise ValueError(f"pattern {pattern} has tiles that are not on a {size} board")
    return pattern


def _parse_pattern(group: GroupLike, size: BoardSize, goal: Board, encoding: Encoding, cost: Cost) -> PatternHeader:
    pattern = _parse_tiles(group, size)
    if encoding == "bits":
        _check_before_counting(pattern, group[TABLE_DATASET].shape, size)
    spec = TableSpec(size, goal, pattern, encoding, cost)
    n_entries, n_bytes = spec.n_entries, spec.n_bytes
    if group[TABLE_DATASET].shape != (n_bytes,) or group[TABLE_DATASET].dtype != np.uint8:
        raise ValueError(f"the table of pattern {pattern} has not {n_bytes} bytes")
    if group[HISTOGRAM_DATASET].ndim != 1 or not 1 <= group[HISTOGRAM_DATASET].shape[0] <= UNREACHED:
        raise ValueError(f"the histogram of pattern {pattern} is not a list of 1 to {UNREACHED} counts")
    entry = PatternHeader(
        pattern,
        n_entries,
        n_bytes,
        tuple(_integers(group[HISTOGRAM_DATASET][:])),
        int(group.attrs[UNREACHED_ATTRIBUTE]),
        _text(group.attrs[DIGEST_ATTRIBUTE]),
    )
    if entry.n_unreached < 0 or sum(entry.histogram) + entry.n_unreached != n_entries:
        raise ValueError(f"the histogram of pattern {pattern} does not add up to {n_entries} entries")
    if int(group.attrs[MAXIMUM_ATTRIBUTE]) != entry.maximum or not math.isclose(
        float(group.attrs[MEAN_ATTRIBUTE]), entry.mean, rel_tol=1e-12
    ):
        raise ValueError(f"maximum or mean of pattern {pattern} do not agree with its histogram")
    return entry


def _check_before_counting(pattern: Pattern, shape: tuple[int, ...], size: BoardSize) -> None:
    """Raise `ValueError` where a table of bits cannot have that shape, `MemoryLimitError` where its blocks would not
    fit: they are counted one by one, and those of a large board are many.
    """
    n_sets = math.comb(size.n_cells, pattern.n_tiles)
    least = n_sets * block_bytes(pattern.n_tiles)
    # A cell set has one blank region at least, and no more than free cells.
    if len(shape) != 1 or not least <= shape[0] <= least * (size.n_cells - pattern.n_tiles):
        raise ValueError(f"the table of pattern {pattern} has the shape {shape}, which none of bits has")
    needed, available = n_sets * (size.n_cells + _BYTES_OF_A_CELL_SET), available_memory()
    if needed > available:
        raise MemoryLimitError(
            f"opening the table of pattern {pattern} needs {format_bytes(needed)} of memory, {format_bytes(available)} "
            "are available; open it on a larger machine"
        )


def _integers(values: Iterable[Any]) -> list[int]:
    return [int(value) for value in values]


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
