"""How a pattern is shared out among shards, and what memory each of them takes."""

from dataclasses import dataclass

import numpy as np

from pdb_build.words import row_bytes
from pdb_cluster.shard import ShardedPattern
from pdb_core.cost import Cost
from pdb_core.encoding import Encoding
from pdb_core.layout import count_blocks, jump_positions, pattern_blocks
from pdb_core.pattern import Pattern
from pdb_core.puzzle import Board, BoardSize

# Rows of other shards that a shard holds at a time, at most; its packs come to about four times that.
HALO_BYTES = 512_000_000
_PACKS_PER_HALO = 4


@dataclass(frozen=True)
class ShardPlan:
    """A pattern before it is searched by shards. `memory_bytes`: of the largest of them."""

    n_shards: int
    memory_bytes: int


def share_out(
    size: BoardSize, goal: Board, pattern: Pattern, encoding: Encoding, cost: Cost, n_shards: int
) -> ShardedPattern:
    """Give every shard about as many blocks, in whole cell sets."""
    first_block = pattern_blocks(size, pattern.n_tiles, cost).first_block
    wanted = np.arange(n_shards + 1) * int(first_block[-1]) // n_shards
    bounds = tuple(int(bound) for bound in np.searchsorted(first_block, wanted))
    return ShardedPattern(size, goal, pattern, encoding, cost, bounds)


def plan_shards(
    size: BoardSize, n_tiles: int, encoding: Encoding, cost: Cost, n_shards: int, halo_bytes: int = HALO_BYTES
) -> ShardPlan:
    """What a shard will take, before anything is laid out: exact but for the exchange, of which it is the most."""
    row = row_bytes(n_tiles)
    n_blocks = count_blocks(size, n_tiles, cost)
    blocks = pattern_blocks(size, n_tiles, cost)
    own_blocks, own_sets = -(-n_blocks // n_shards), -(-blocks.n_sets // n_shards)
    n_orders = blocks.n_orders
    rows = 2 * own_blocks * row if encoding == "bits" else (own_blocks + own_sets) * row + own_sets * n_orders
    halo = min(halo_bytes, (n_blocks - own_blocks) * row) if n_shards > 1 else 0
    return ShardPlan(n_shards, rows + halo * (1 + _PACKS_PER_HALO) + layout_bytes(size, n_tiles, cost, own_blocks))


def layout_bytes(size: BoardSize, n_tiles: int, cost: Cost, own_blocks: int) -> int:
    """Memory of what every shard knows of all blocks, of the words, and of the transitions of its own blocks."""
    blocks = pattern_blocks(size, n_tiles, cost)
    n_sets, n_orders = blocks.n_sets, blocks.n_orders
    # A transition is a pair of neighbouring cells of which one is free and the other holds a tile, or, where every
    # move counts, is free too: so many of a cell set on average. A shard's own cell sets may have more.
    n_free = size.n_cells - n_tiles
    n_others = n_tiles + (n_free - 1 if cost == "every-move" else 0)
    n_pairs = sum(len(near) for near in size.neighbours)
    per_set = n_pairs * n_free * n_others / (size.n_cells * (size.n_cells - 1))
    n_transitions = round(1.5 * per_set * own_blocks * n_sets / blocks.n_blocks)
    return (
        n_sets * (32 + size.n_cells) + count_blocks(size, n_tiles, cost) * 24
        + len(jump_positions(n_tiles, size.width)) * row_bytes(n_tiles) * 12
        + n_orders * (16 * n_tiles + 64)
        + n_transitions * 64
    )  # fmt: skip
