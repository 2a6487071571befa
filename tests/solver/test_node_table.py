"""Packed boards and the table of nodes: packing, growing, what a limit of memory leaves."""

from itertools import chain, count, islice

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pdb_core.puzzle import BoardSize, Tiles, blank_last
from solver.board_arrays import N_MOVES
from solver.graph_search import node_table
from solver.graph_search.node_table import NodeTable, pack, packing_of
from solver.graph_search.node_table_kernels import KEY_MASK, find, first_slot, move_packed, unpack
from tests.naive.boards_and_tables import naive_moves
from tests.solving import layers

SIZES = [BoardSize(width, height) for width in range(2, 7) for height in range(2, 7)]


@pytest.mark.tiny
@given(st.sampled_from(SIZES), st.integers(0, 1 << 30))
def test_packed_board_moves_as_the_board_does(size: BoardSize, seed: int) -> None:
    packing = packing_of(size, blank_last(size))
    board: Tiles = tuple(np.random.default_rng(seed).permutation(size.n_cells).tolist())
    words = pack(packing, board)
    assert np.all(words >= 0)
    assert np.all(words <= KEY_MASK)
    cells = np.zeros(size.n_cells, dtype=np.uint8)
    blank = unpack(packing, words, 0, cells)
    assert tuple(cells.tolist()) == board
    assert board[blank] == 0
    near = {tuple(pack(packing, after).tolist()) for _tile, after in naive_moves(board, size)}
    child = np.zeros(packing.n_words, dtype=np.int64)
    moved = set()
    for move in range(N_MOVES):
        if packing.cell_moves[blank] >> move & 1:
            cell = int(packing.edge_cells[blank * N_MOVES + move])
            move_packed(packing, words, 0, child, 0, board[cell], blank, cell)
            moved.add(tuple(child.tolist()))
    assert moved == near


@pytest.mark.parametrize("size", [BoardSize(4, 4), BoardSize(6, 6)], ids=str)
def test_nodes_are_found_again_after_growing(size: BoardSize) -> None:
    packing = packing_of(size, blank_last(size))
    assert packing.n_words == (1 if size.n_cells == 16 else 4)
    boards = list(islice(chain.from_iterable(layers(size)), 20_000))
    table = NodeTable(packing, n_notes=1, n_values=3, memory_limit_bytes=None)
    n_reports = count(1)
    for node, board in enumerate(boards):
        if node + N_MOVES > table.capacity:
            table.make_room(lambda: next(n_reports))
        table.add(board)
        table.nodes.values[3 * node] = node % 251
    assert next(n_reports) > 1
    assert table.n_bytes == table.nodes.rows.nbytes + table.nodes.values.nbytes + table.nodes.slots.nbytes
    n_slots = len(table.nodes.slots)
    first_slots = set()
    for node, board in enumerate(boards):
        words = pack(packing, board)
        slot = first_slot(packing, words, 0, n_slots)
        assert table.nodes.slots[find(packing, table.nodes, words, 0, slot)] == node + 1
        assert table.nodes.values[3 * node] == node % 251
        first_slots.add(int(slot))
    stranger = pack(packing, tuple(reversed(boards[0])))
    slot = first_slot(packing, stranger, 0, n_slots)
    assert find(packing, table.nodes, stranger, 0, slot) < 0
    # The hash scatters boards near to each other as if by chance, so that a free slot is found after few steps.
    n_expected = n_slots * (1 - (1 - 1 / n_slots) ** len(boards))
    assert abs(len(first_slots) - n_expected) < 0.02 * n_expected


@pytest.mark.tiny
def test_limit_is_three_quarters_of_the_available_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    packing = packing_of(BoardSize(3, 3), blank_last(BoardSize(3, 3)))
    for available, limit in ((8_000_000_000, 6_000_000_000), (None, node_table._MEMORY_UNKNOWN_BYTES)):
        monkeypatch.setattr(node_table, "available_memory", lambda available=available: available)
        assert NodeTable(packing, n_notes=1, n_values=1, memory_limit_bytes=None).limit_bytes == limit
