"""Kind `UNITS` of tables on a card, see `device_units`: any partitions in bits, boards of up to 26 cells."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.encoding import block_bytes
from pdb_core.layout import pattern_blocks
from pdb_core.ranking import cell_set_ranks
from pdb_core.types import Int64s, UInt64s
from pdb_query.records import RECORD_FIELDS, TABLE_BIT
from solver.cuda import device_units as kernels
from solver.cuda.device_search import HEAD, JOB, Kind
from solver.cuda.device_units import MAX_CELLS, MAX_TILES
from solver.cuda.dialect import cuda
from solver.cuda.kinds import PLANES, CardKind, Launch
from solver.engine.database_engine import DatabaseEngine
from solver.engine.engine import Roots
from solver.engine.rounds.catalogue import distinct_units, unit_key
from solver.engine.rounds.round import cell_set_records
from solver.engine.rounds.wide import Joined
from solver.engine.sums import Sum


def _suits(size: BoardSize, sums: Sequence[Sum]) -> bool:
    """Return whether a card can search with these tables."""
    return (
        size.n_cells <= MAX_CELLS
        and len(sums) <= kernels.MAX_SUMS
        and len(distinct_units(sums)) <= kernels.MAX_UNITS
        and all(
            tables.is_bits == 1 and tables.counts_every_move == 0 and tables.n_tiles.max() <= MAX_TILES
            for (tables, *_), _, _ in sums
        )
    )


def shape_of(engine: DatabaseEngine, block: int) -> kernels.UnitShape:
    """Return what kernels are compiled for."""
    size, sums = engine.size, engine.sums
    units = distinct_units(sums).values()
    sizes = {len(unit.unit_tiles) for unit in units}
    ranks = cell_set_ranks(size.n_cells, min(sizes))
    n_tiles = min(sizes) if len(sizes) == 1 else 0
    return kernels.UnitShape(size.n_cells, len(units), len(sums), n_tiles, ranks.low_bits, ranks.high_bits, block)


def unit_tables(engine: DatabaseEngine) -> kernels.UnitTables:
    """Copy the tables of an engine to the card."""
    size, sums = engine.size, engine.sums
    units = distinct_units(sums)
    keys, n_units = list(units), len(units)
    low, high = Joined(np.empty(0, dtype=np.int32)), Joined(np.empty(0, dtype=np.int32))
    sets = Joined(np.empty((0, 2), dtype=np.uint64))
    frames, of_sums, at_goal, n_tiles, n_small = shape_of(engine, 1).starts
    small = np.zeros(n_small, dtype=np.uint8)
    masks, in_sums = np.zeros(32, dtype=np.uint64), np.zeros(n_units, dtype=np.uint32)
    places, starts = np.zeros((n_units, 4), dtype=np.uint32), np.zeros(n_units, dtype=np.uint64)
    table, first_bits = _copied(engine)
    small[at_goal : at_goal + size.n_cells] = engine.goal
    for u, unit in enumerate(units.values()):
        (tables, views, _), view, pattern, tiles = unit
        k = len(tiles)
        ranks = cell_set_ranks(size.n_cells, k)
        small[MAX_TILES * u :][:k] = tiles
        small[frames + 32 * u :][: size.n_cells] = views.cell_maps[views.view_of_unit[view, pattern]]
        small[n_tiles + u] = k
        masks[list(tiles)] |= np.uint64(1 << u)
        places[u] = (
            8 * block_bytes(k),
            low.start(k, ranks.low),
            high.start(k, ranks.high),
            sets.start(k, cell_set_records(pattern_blocks(size, k)).view(np.uint64)),
        )
        starts[u] = first_bits[id(tables)] + int(tables.records[pattern * RECORD_FIELDS + TABLE_BIT])
    for s, (heuristic, view, patterns) in enumerate(sums):
        for pattern in patterns:
            u = keys.index(unit_key(heuristic, view, pattern))
            small[of_sums + 32 * s + np.array(keys[u][1])] = u
            in_sums[u] |= np.uint32(1 << s)
    joined = [np.concatenate(each.arrays) for each in (low, high, sets)]
    on_card = map(cuda.to_device, [small, masks, in_sums, places, starts, *joined])
    return kernels.UnitTables._make([*on_card, table])


def _copied(engine: DatabaseEngine) -> tuple[Any, dict[int, int]]:
    """Copy the tables of all databases to the card, and return where each begins, in bits, by the id of its tables."""
    memories = {id(heuristic.tables): heuristic.tables.memory for heuristic in engine.heuristics}
    # Each begins at a word.
    n_bytes = [-(-len(memory) // 4) * 4 for memory in memories.values()]
    starts = np.cumsum([0, *n_bytes]).tolist()
    table = cuda.device_array(starts[-1], dtype=np.uint8)
    for first, memory in zip(starts, memories.values(), strict=False):
        table[first : first + len(memory)].copy_to_device(memory)
    return table.view(np.uint32), {key: 8 * first for key, first in zip(memories, starts, strict=False)}


def _arrange(engine: DatabaseEngine, tables: kernels.UnitTables, block: int) -> tuple[Kind, Any]:
    return kernels.unit_kind(shape_of(engine, block)), tables


def _fill(engine: DatabaseEngine, roots: Roots, left: Int64s, items: UInt64s) -> None:
    # Step 1. The board.
    for c, tiles in enumerate(roots.boards.T.astype(np.uint64)):
        word, i = divmod(c, kernels.TILES_OF_WORD)
        column, shift = (HEAD + word, 0) if word < kernels.WORDS_OF_BOARD else (JOB, kernels.REST_SHIFT)
        items[:, column] |= tiles << np.uint64(shift + kernels.TILE_BITS * i)
    # Step 2. The planes and the slacks.
    column = HEAD + kernels.WORDS_OF_BOARD
    planes = roots.nodes[:, PLANES:].astype(np.uint64)
    has_one_word = len(distinct_units(engine.sums)) <= 32
    if has_one_word:
        items[:, column] = planes[:, 0] | planes[:, 1] << np.uint64(32)
    else:
        items[:, column : column + 2] = planes[:, :2] | planes[:, 2:] << np.uint64(32)
    column += 1 if has_one_word else 2
    for s, of_sum in enumerate(roots.sums.T):
        slack = (left - of_sum) // 2
        word, i = divmod(s, kernels.SUMS_OF_WORD)
        items[:, column + word] |= slack.astype(np.uint64) << np.uint64(8 * i)


UNITS = CardKind(Launch(128, 8, 64), _suits, _arrange, _fill)
