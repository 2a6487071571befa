"""Description of a table and of a database, and the sizes that follow. Used by the builder, readers and the cluster."""

import math
from dataclasses import dataclass

from pdb_core.board_size import BoardSize
from pdb_core.encoding import DEFAULT_COST, Cost, Encoding, block_bytes
from pdb_core.errors import InputError, PartitionError
from pdb_core.layout import count_blocks, count_transitions
from pdb_core.pattern import MAX_PATTERN_TILES, Partition, Pattern
from pdb_core.puzzle import Board, Tiles
from pdb_core.ranking import label_bits_of

# A search keeps the state of a pattern, a bit for each cell and the packed labels, in a signed word of 64 bits.
_MAX_STATE_BITS = 63


def most_pattern_tiles(size: BoardSize) -> int:
    """Return the largest number of tiles of a pattern whose states searches can keep in a word."""
    counts = range(1, min(MAX_PATTERN_TILES, size.n_cells - 1) + 1)
    return max(n for n in counts if size.n_cells + n * label_bits_of(n) <= _MAX_STATE_BITS)


@dataclass(frozen=True)
class TableSpec:
    """Description of a table: the distances of one pattern from one goal, which moves they count, how they are stored.

    Sizes are computed when they are read. The first `n_blocks` of 8 tiles on a 6x6 board takes a second.

    The size and the tiles are those of a `Partition`, which checks them. Raises `InputError` for costs that `encoding`
    cannot store, `BoardError` for a goal of another size, and `PartitionError` for more than `most_pattern_tiles`.
    """

    size: BoardSize
    goal: Tiles
    pattern: Pattern
    encoding: Encoding
    cost: Cost = DEFAULT_COST

    def __post_init__(self) -> None:
        Board(self.goal, self.size)
        most = most_pattern_tiles(self.size)
        if self.n_tiles > most:
            raise PartitionError(
                f"pattern {self.pattern} has {self.n_tiles} tiles; on a {self.size} board a pattern has at most "
                f"{most}, split it"
            )
        if self.cost == "every-move" and self.encoding != "bits":
            raise InputError(
                f"tables in which every move counts are written in bits, not in {self.encoding}; leave the encoding out"
            )

    @property
    def n_tiles(self) -> int:
        return self.pattern.n_tiles

    @property
    def n_sets(self) -> int:
        """Number of cell sets: C(n, k)."""
        return math.comb(self.size.n_cells, self.n_tiles)

    @property
    def n_orders(self) -> int:
        """Number of arrangements of the tiles on a cell set: k!."""
        return math.factorial(self.n_tiles)

    @property
    def n_blocks(self) -> int:
        """Number of pairs of a cell set and a blank region."""
        return count_blocks(self.size, self.n_tiles, self.cost)

    @property
    def n_states(self) -> int:
        """Number of states of the search: blocks * k!."""
        return self.n_blocks * self.n_orders

    @property
    def n_transitions(self) -> int:
        """Number of moves between blocks, each counted from both ends."""
        return count_transitions(self.size, self.n_tiles, self.cost)

    @property
    def n_entries(self) -> int:
        """Number of entries: of placements, n! / (n-k)!, in bytes, and of states in bits."""
        return self.n_sets * self.n_orders if self.encoding == "bytes" else self.n_states

    @property
    def n_bytes(self) -> int:
        """Size of the table."""
        return self.n_entries if self.encoding == "bytes" else self.n_blocks * block_bytes(self.n_tiles)


@dataclass(frozen=True)
class DatabaseSpec:
    """Description of a database: the distances of each pattern of a partition from one goal."""

    goal: Tiles
    partition: Partition
    encoding: Encoding

    @property
    def size(self) -> BoardSize:
        return self.partition.size

    @property
    def cost(self) -> Cost:
        """Moves that the distances count."""
        return self.partition.cost

    @property
    def tables(self) -> tuple[TableSpec, ...]:
        """The table of each pattern. Raises as `TableSpec` does."""
        return tuple(map(self.table, self.partition.patterns))

    def table(self, pattern: Pattern) -> TableSpec:
        """Return the table of a pattern, which need not be of the partition."""
        return TableSpec(self.size, self.goal, pattern, self.encoding, self.cost)
