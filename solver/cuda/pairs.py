"""Kind `PAIRS` of tables on a card, see `device_pairs`: patterns of 7 and 8 tiles of the 15-puzzle, with reflection."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.types import Bytes, Int64s, UInt16s, UInt64s
from pdb_query.records import RECORD_FIELDS, TABLE_BIT
from solver.cuda import device_pairs as kernels
from solver.cuda.device_search import HEAD, Kind
from solver.cuda.device_units import UnitTables
from solver.cuda.dialect import cuda
from solver.cuda.kinds import PLANES, CardKind, Launch
from solver.engine.database_engine import DatabaseEngine
from solver.engine.engine import Roots
from solver.engine.rounds.catalogue import distinct_units, unit_key
from solver.engine.rounds.vector import cell_set_entries
from solver.engine.sums import Sum

_SIZE = BoardSize(4, 4)
_CELLS = np.arange(_SIZE.n_cells)
# The cells of a board in its two views.
_VIEWS = _CELLS, _CELLS.reshape(4, 4).T.reshape(-1)


def _suits(size: BoardSize, sums: Sequence[Sum]) -> bool:
    """Return whether there are two sums of a database, of the board and of its reflection."""
    return (
        size == _SIZE
        and len(sums) == 2
        and all(
            tables.is_bits == 1
            and tables.counts_every_move == 0
            and sorted(tables.n_tiles[list(patterns)].tolist()) == [7, 8]
            and 8 * len(tables.memory) <= 1 << 32
            and all((views.cell_maps[views.view_of_unit[view, pattern]] == cells).all() for pattern in patterns)
            for ((tables, views, _), view, patterns), cells in zip(sums, _VIEWS, strict=True)
        )
        and sums[0][0] is sums[1][0]
    )


def _patterns(engine: DatabaseEngine) -> list[int]:
    """Return the pattern of 7 tiles and that of 8."""
    heuristic, _, patterns = engine.sums[0]
    return sorted(patterns, key=lambda pattern: int(heuristic.tables.n_tiles[pattern]))


def _arrange(engine: DatabaseEngine, units: UnitTables, _block: int) -> tuple[Kind, Any]:
    records = engine.heuristics[0].tables.records.reshape(-1, RECORD_FIELDS)
    on_host: list[Any] = [
        cell_set_entries(_SIZE, (7, 8)),
        _ranks(),
        records[_patterns(engine), TABLE_BIT].astype(np.uint32),
    ]
    goal = np.array([engine.goal], dtype=np.uint8)
    on_host.append(np.array([_words(engine, goal)[0, 0], goal.argmin()], dtype=np.uint64))
    return kernels.PAIR_KIND, kernels.PairTables._make([*map(cuda.to_device, on_host), units.table])


def _ranks() -> UInt16s:
    """Return `PairTables.ranks`: what the first four labels, and what those behind them add to a rank."""
    ranks = np.zeros((2, 2, 1 << kernels.PART_BITS), dtype=np.uint16)
    for k in (7, 8):
        for part, positions in enumerate((range(4), range(4, k))):
            for labels in itertools.permutations(range(k), len(positions)):
                packed = sum(label << kernels.LABEL_BITS * i for i, label in enumerate(labels))
                ranks[k - 7, part, packed] = sum(
                    # Labels before the others are not known: a digit there counts the smaller ones before it.
                    math.factorial(k - 1 - position)
                    * (sum(x < label for x in labels[i + 1 :]) if part else label - sum(x < label for x in labels[:i]))
                    for i, (position, label) in enumerate(zip(positions, labels, strict=True))
                )
    return ranks.reshape(-1)


def _words(engine: DatabaseEngine, boards: Bytes) -> UInt64s:
    """Return the words of boards and of their reflections, uint64[m, 2]."""
    words = np.zeros((len(boards), 2), dtype=np.uint64)
    for s, (heuristic, view, _) in enumerate(engine.sums):
        for pattern, first in zip(_patterns(engine), (kernels.FIRST_7, kernels.FIRST_8), strict=True):
            label_of = np.full(_SIZE.n_cells, -1)
            tiles = list(heuristic.views.tiles(view, pattern))
            label_of[tiles] = range(len(tiles))
            labels = label_of[boards[:, _VIEWS[s]]]
            n_before = np.cumsum(labels >= 0, axis=1) - 1
            shifts = first + kernels.LABEL_BITS * np.maximum(n_before, 0)
            words[:, s] |= np.bitwise_or.reduce(np.where(labels >= 0, labels << shifts, 0), axis=1).astype(np.uint64)
            if first == kernels.FIRST_7:
                words[:, s] |= ((labels >= 0) << _CELLS).sum(axis=1).astype(np.uint64)
    return words


def _fill(engine: DatabaseEngine, roots: Roots, left: Int64s, items: UInt64s) -> None:
    items[:, HEAD : HEAD + 2] = _words(engine, roots.boards)
    planes, keys = roots.nodes[:, PLANES : PLANES + 2].astype(np.uint64), list(distinct_units(engine.sums))
    for s, (heuristic, view, _) in enumerate(engine.sums):
        for i, pattern in enumerate(_patterns(engine)):
            u = np.uint64(keys.index(unit_key(heuristic, view, pattern)))
            distance = (planes[:, 0] >> u & np.uint64(1)) | (planes[:, 1] >> u & np.uint64(1)) << np.uint64(1)
            items[:, HEAD + 2] |= distance << np.uint64(4 * s + 2 * i)
        slack = ((left - roots.sums[:, s]) // 2).astype(np.uint64)
        items[:, HEAD + 2] |= slack << np.uint64(kernels.SLACK_SHIFT + kernels.SLACK_BITS * s)


PAIRS = CardKind(Launch(256, 5, 48), _suits, _arrange, _fill)
