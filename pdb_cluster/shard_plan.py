"""How a pattern is shared out among shards, and what memory each of them takes."""

from dataclasses import dataclass

import numpy as np

from pdb_build.words import row_bytes
from pdb_cluster.shard import ShardedPattern
from pdb_core.layout import jump_positions, pattern_blocks
from pdb_core.table_spec import TableSpec

# Rows of other shards that a shard holds at a time, at most; its packs come to about four times that.
HALO_BYTES = 512_000_000
_PACKS_PER_HALO = 4


@dataclass(frozen=True)
class ShardPlan:
    """A pattern before it is searched by shards. `memory_bytes`: of the largest of them."""

    n_shards: int
    memory_bytes: int


def share_out(spec: TableSpec, n_shards: int) -> ShardedPattern:
    """Give every shard about as many blocks, in whole cell sets."""
    first_block = pattern_blocks(spec.size, spec.n_tiles, spec.cost).first_block
    wanted = np.arange(n_shards + 1) * int(first_block[-1]) // n_shards
    bounds = tuple(int(bound) for bound in np.searchsorted(first_block, wanted))
    return ShardedPattern(spec, bounds)


def plan_shards(spec: TableSpec, n_shards: int, halo_bytes: int = HALO_BYTES) -> ShardPlan:
    """What a shard will take, before anything is laid out: exact but for the exchange, of which it is the most."""
    row = row_bytes(spec.n_tiles)
    own_blocks, own_sets = -(-spec.n_blocks // n_shards), -(-spec.n_sets // n_shards)
    rows = 2 * own_blocks * row
    if spec.encoding == "bytes":
        rows = (own_blocks + own_sets) * row + own_sets * spec.n_orders
    halo = min(halo_bytes, (spec.n_blocks - own_blocks) * row) if n_shards > 1 else 0
    return ShardPlan(n_shards, rows + halo * (1 + _PACKS_PER_HALO) + layout_bytes(spec, own_blocks))


def layout_bytes(spec: TableSpec, own_blocks: int) -> int:
    """Memory of what every shard knows of all blocks, of the words, and of the transitions of its own blocks."""
    size, n_tiles, n_sets = spec.size, spec.n_tiles, spec.n_sets
    # A transition is a pair of neighbouring cells of which one is free and the other holds a tile, or, where every
    # move counts, is free too: so many of a cell set on average. A shard's own cell sets may have more.
    n_free = size.n_cells - n_tiles
    n_others = n_tiles + (n_free - 1 if spec.cost == "every-move" else 0)
    n_pairs = sum(len(near) for near in size.neighbours)
    per_set = n_pairs * n_free * n_others / (size.n_cells * (size.n_cells - 1))
    n_transitions = round(1.5 * per_set * own_blocks * n_sets / spec.n_blocks)
    return (
        n_sets * (32 + size.n_cells) + spec.n_blocks * 24
        + len(jump_positions(n_tiles, size.width)) * row_bytes(n_tiles) * 12
        + spec.n_orders * (16 * n_tiles + 64)
        + n_transitions * 64
    )  # fmt: skip
