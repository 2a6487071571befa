"""Vector rounds, see `vector_kernels`: with tables as in a file or in rows, and on wide boards."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pdb_core.board_size import BoardSize
from pdb_core.layout import pattern_blocks
from pdb_core.moves import blank_steps
from pdb_core.ranking import cell_set_ranks
from pdb_core.types import N_MOVES, Bytes, Int64s, UInt32s, UInt64s
from pdb_query.arrangement_rows import BitRows, block_rows
from solver.board_arrays import blank_moves, mapped_moves
from solver.engine.engine import KeptArrays, slack_rows
from solver.engine.layout import EngineTables
from solver.engine.rounds import vector_kernels as kernels
from solver.engine.rounds.round import (
    Arranged,
    Probe,
    Round,
    Width,
    block_widths,
    cell_set_records,
    cells_and_digits,
    databases_of,
    first_digit,
    jumps,
    units_of,
)
from solver.engine.rounds.shared_kernels import LAST_ADDRESS, MAX_DIGITS, VALUE_SHIFT
from solver.engine.sums import DatabaseSums, Sum


def _widths(size: BoardSize, sums: Sequence[Sum], *, in_rows: bool = False, is_wide: bool = False) -> Iterator[Width]:
    most: tuple[int, ...] = ()
    if not is_wide:
        most = (1 << kernels.BLOCK_BITS) - 1, 1 << kernels.REGION_BITS
        yield Width("cells", size.n_cells, kernels.MAX_VECTOR_CELLS)
    yield Width("side", max(size.width, size.height), kernels.MAX_WIDE_WIDTH if is_wide else kernels.MAX_VECTOR_WIDTH)
    yield Width("sums", len(sums), kernels.MAX_SUMS)
    yield Width("units of a sum", max(len(patterns) for _, _, patterns in sums), kernels.MAX_UNITS)
    for heuristic in databases_of(sums):
        tables, views, rows = heuristic
        yield Width("tables not in rows", int(in_rows and rows is None), 0)
        yield Width("tables in bytes, or of every move", int(not tables.is_bits or tables.counts_every_move), 0)
        yield Width("views that units do not share", 0 if is_wide else len(views.cell_maps) - views.n_sums, 0)
        yield Width("tiles", int(tables.n_tiles.max()), MAX_DIGITS)
        yield from block_widths(size, tables, *most)
        yield Width("address", _rows_of(size, heuristic, in_rows=in_rows).last_bit, LAST_ADDRESS)


def _rows_of(size: BoardSize, heuristic: DatabaseSums, *, in_rows: bool) -> BitRows:
    return heuristic.rows() if in_rows and heuristic.rows is not None else block_rows(size, heuristic.tables)


def _arrange(
    size: BoardSize, sums: Sequence[Sum], arrays: KeptArrays, *, in_rows: bool = False, is_wide: bool = False
) -> Arranged:
    """Return the tables of vector rounds."""
    rows, board_column = slack_rows(len(sums), kernels.N_SUM_FIELDS)
    column = board_column + (-(-size.n_cells // 4) if is_wide else 0)
    fields = np.zeros((len(sums), kernels.N_UNIT_FIELDS, kernels.MAX_UNITS), dtype=np.uint32)
    for row, of_units, (heuristic, _, patterns) in zip(rows, fields, sums, strict=True):
        bit_rows = _rows_of(size, heuristic, in_rows=in_rows)
        row[kernels.N_UNITS], row[kernels.CELL_SETS] = len(patterns), column
        row[kernels.UNIT_DIGITS] = column + (len(patterns) if is_wide else len(patterns) // 2)
        column = row[kernels.UNIT_DIGITS] + len(patterns)
        row[kernels.MEMORY], row[kernels.FIELDS] = arrays.address(bit_rows.memory()), arrays.address(of_units)
        for unit, pattern in enumerate(patterns):
            digit = first_digit(int(heuristic.tables.n_tiles[pattern]))
            of_units[:3, unit] = bit_rows.first_bits[pattern], bit_rows.row_bits[pattern], digit
    sizes = sorted({n_tiles for (tables, *_), _, _ in sums for n_tiles in tables.n_tiles.tolist()})
    if is_wide:
        edges, set_ranks, sets = _fill_wide(rows, fields, size, sums, sizes, arrays)
    else:
        edges, set_ranks, sets = 0, 0, arrays.address(_cell_set_entries(size, sizes))
        _fill_frames(rows, size, sums, arrays)
    # Near sums are looked up first.
    order = np.argsort(rows[:, kernels.IS_FAR : kernels.IS_FAR + 2].T, axis=1, kind="stable")
    rows[:, kernels.UNIT_COLUMN : kernels.UNIT_COLUMN + 2] = kernels.UNITS + np.argsort(order, axis=1).T
    changes = jumps(size.width)
    of_kind = kernels.WideTables if is_wide else kernels.RowTables if in_rows else kernels.VectorTables
    round_tables = of_kind(
        sum_order=order,
        all_cells=(1 << size.n_cells) - 1,
        between=(1 << (size.width - 1)) - 1,
        jumps=arrays.address(changes),
        upward=len(changes) // 2,
        sets=sets,
        edges=edges,
        set_ranks=set_ranks,
        low_bits=sums[0][0].tables.low_bits,
        high_bits=sums[0][0].tables.high_bits,
    )
    return Arranged(round_tables, rows, int(column), kernels.UNITS + len(sums), board_column if is_wide else 0)


def _fill_frames(rows: Int64s, size: BoardSize, sums: Sequence[Sum], arrays: KeptArrays) -> None:
    """Fill the maps to the frames of sums, and the steps there."""
    for row, ((_, views, _), view, _) in zip(rows, sums, strict=True):
        frame, steps = np.zeros((2, kernels.MAX_VECTOR_CELLS), dtype=np.int64)
        frame[: size.n_cells] = cell_map = views.cell_maps[view]
        steps[:N_MOVES] = np.array(blank_steps(size))[mapped_moves(cell_map, size)]
        row[kernels.FRAME], row[kernels.STEPS] = (arrays.address(each.astype(np.uint32)) for each in (frame, steps))
        row[kernels.IS_FAR : kernels.IS_FAR + 2] = np.abs(steps[1::-1]) != 1


def _fill_wide(
    rows: Int64s, fields: UInt32s, size: BoardSize, sums: Sequence[Sum], sizes: Sequence[int], arrays: KeptArrays
) -> tuple[int, int, int]:
    """Fill the units of tiles on wide boards, and where their edges, ranks and records begin. Returns the addresses of
    those.
    """
    frames: dict[tuple[int, ...], int] = {}
    records = [cell_set_records(pattern_blocks(size, n_tiles)) for n_tiles in sizes]
    parts = [cell_set_ranks(size.n_cells, n_tiles) for n_tiles in sizes]
    ranks = np.stack([np.concatenate([each.low, each.high]) for each in parts])
    first_records = np.cumsum([0, *map(len, records)])
    for row, of_units, ((tables, views, _), view, patterns) in zip(rows, fields, sums, strict=True):
        unit_of_tile = np.zeros(32, dtype=np.uint32)
        for unit, pattern in enumerate(patterns):
            unit_of_tile[list(views.tiles(view, pattern))] = unit
            cell_map = tuple(views.cell_maps[views.view_of_unit[view, pattern]].tolist())
            frame, n = frames.setdefault(cell_map, len(frames)), sizes.index(tables.n_tiles[pattern])
            of_units[3:, unit] = frame * N_MOVES << kernels.CELL_BITS, n * ranks.shape[1], first_records[n]
        row[kernels.UNIT_OF_TILE] = arrays.address(unit_of_tile)
    maps, (edge_cells, _) = np.array(list(frames)), blank_moves(size)
    edges = np.zeros((len(maps), 1 << kernels.CELL_BITS, N_MOVES), dtype=np.uint32)
    edges[:, : size.n_cells] = maps[:, :, np.newaxis] | maps[:, edge_cells] << kernels.CELL_BITS
    return arrays.address(edges), arrays.address(ranks), arrays.address(np.concatenate(records))


def _cell_set_entries(size: BoardSize, sizes: Sequence[int]) -> UInt64s:
    """Return the entries of all cell sets of patterns of some sizes, by mask: uint64[1 << MAX_VECTOR_CELLS]."""
    sets = np.zeros(1 << kernels.MAX_VECTOR_CELLS, dtype=np.uint64)
    shifts = kernels.BLOCK_BITS + kernels.REGION_BITS * np.arange(size.n_cells, dtype=np.uint64)
    for n_tiles in sizes:
        blocks = pattern_blocks(size, n_tiles)
        numbers = blocks.region_numbers & ((1 << kernels.REGION_BITS) - 1)
        regions = np.bitwise_or.reduce(numbers.astype(np.uint64) << shifts, axis=1)
        sets[blocks.cell_sets] = regions | blocks.first_block[:-1].astype(np.uint64)
    return sets


def _fill(
    tables: EngineTables,
    _round_tables: kernels.VectorTables,
    sums: Sequence[Sum],
    _boards: Bytes,
    probe: Probe,
    nodes: UInt32s,
) -> None:
    for row, lookup_tables, unit, pattern, states, values in units_of(tables, sums, probe):
        cells, digits = cells_and_digits(lookup_tables, pattern, states, tables.n_cells)
        nodes[:, row[kernels.UNIT_DIGITS] + unit] = digits | (values + 1 & 3) << VALUE_SHIFT
        if tables.board_column:
            nodes[:, row[kernels.CELL_SETS] + unit] = cells
        elif unit > 0:
            pair, upper = divmod(unit - 1, 2)
            nodes[:, row[kernels.CELL_SETS] + pair] |= (cells << (kernels.CELL_SET_BITS * upper)).astype(np.uint32)


VECTOR = Round("vector", _widths, _arrange, _fill)
ROWS = Round("rows", partial(_widths, in_rows=True), partial(_arrange, in_rows=True), _fill)
WIDE = Round("wide", partial(_widths, is_wide=True), partial(_arrange, is_wide=True), _fill)
