"""Breadth-first search layer by layer, for boards of any size. Two layers are in memory at a time.

A move takes the blank to a cell of the other colour and can be undone, so a neighbour of a board in layer d is in layer
d - 1 or d + 1: two layers are enough to find the new boards. A layer has, for each cell of the blank, the *orders* of
the tiles, read row by row, as sorted keys: NumPy sorts and compares one number or string per board.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.board_size import BoardSize
from pdb_core.errors import InputError
from pdb_core.puzzle import Boards, Tiles
from pdb_core.threads import thread_pool
from pdb_core.types import BLANK, Bytes

Keys = npt.NDArray[Any]
# The sorted keys for each cell of the blank.
Layer = dict[int, Keys]
# 2x5 and 3x3 are the largest sizes whose boards are all kept in memory: 1.8 million boards.
MAX_CELLS = 10
# Up to this many tiles fit a number of 64 bits.
_MOST_PACKED = 15


def all_boards(size: BoardSize, goal: Tiles) -> tuple[Boards, Bytes]:
    """Return the solvable boards, nearest first, uint8[m, n_cells], and their distances, uint8[m]; m is n_cells! / 2.

    Raises `InputError` for boards of more than 10 cells.
    """
    if size.n_cells > MAX_CELLS:
        raise InputError(f"{size} boards are too many to evaluate each; the largest sizes have {MAX_CELLS} cells")
    found = [_boards(layer, size) for layer in layers(size, goal)]
    return np.concatenate(found), np.repeat(np.arange(len(found), dtype=np.uint8), [len(boards) for boards in found])


def layers(size: BoardSize, goal: Tiles, *, n_threads: int = 1, memory_limit_bytes: int = 1 << 62) -> Iterator[Layer]:
    """Yield the boards at distance 0, 1, 2, ... as long as there are any.

    Raises `MemoryError` before a layer for which the memory may not suffice.
    """
    order = np.array([[tile for tile in goal if tile != BLANK]], dtype=np.uint8)
    previous: Layer = {}
    layer = {goal.index(BLANK): _pack(order)}
    with thread_pool(n_threads) as pool:
        while layer:
            yield layer
            cells = sorted({cell for near in layer for cell in size.neighbours[near]})
            if _next_bytes(size, previous, layer, n_threads) > memory_limit_bytes:
                raise MemoryError
            found = pool.map(lambda cell, of=layer, before=previous: _arrivals(size, cell, of, before.get(cell)), cells)
            previous, layer = layer, {cell: keys for cell, keys in zip(cells, found, strict=True) if len(keys)}


def first_boards(layer: Layer, size: BoardSize, n_boards: int) -> tuple[Tiles, ...]:
    """Return the first boards of a layer, by the cell of the blank."""
    boards = _boards({cell: keys[:n_boards] for cell, keys in layer.items()}, size)[:n_boards]
    return tuple(map(tuple, boards.tolist()))


def _boards(layer: Layer, size: BoardSize) -> Boards:
    """Return the boards of a layer, uint8[m, n_cells]."""
    rows = [np.insert(_unpack(keys, size), cell, BLANK, axis=1) for cell, keys in sorted(layer.items())]
    return np.concatenate(rows)


def _arrivals(size: BoardSize, cell: int, layer: Layer, before: Keys | None) -> Keys:
    """Return the boards of the next layer with the blank on `cell`; `before` has those of the layer before last."""
    arrived = []
    for near in size.neighbours[cell]:
        if near not in layer:
            continue
        if abs(near - cell) == 1:  # the order stays
            arrived.append(layer[near])
            continue
        # The tile that was on `cell` is now on the cell that the blank has left.
        sources = [cell if at == near else at for at in range(size.n_cells) if at != cell]
        columns = [at - (at > near) for at in sources]
        arrived.append(_pack(_unpack(layer[near], size)[:, columns]))
    keys: Keys = np.sort(np.concatenate(arrived))
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    if before is not None:
        at = np.minimum(np.searchsorted(before, keys), len(before) - 1)
        keys = keys[before[at] != keys]
    return keys


def _next_bytes(size: BoardSize, previous: Layer, layer: Layer, n_threads: int) -> int:
    """Return the memory that the step to the next layer takes at most."""
    kept = sum(keys.nbytes for keys in (*previous.values(), *layer.values()))
    arriving = sorted(sum(len(layer[near]) for near in near_cells if near in layer) for near_cells in size.neighbours)
    key_bytes = next(iter(layer.values())).itemsize
    # Each board that arrives is a key; the cells that are in work also have orders and copies.
    return kept + sum(arriving) * key_bytes + sum(arriving[-n_threads:]) * (2 * size.n_cells + 3 * key_bytes)


def _pack(orders: Bytes) -> Keys:
    """Return a key for each order, which sorts as the order: four bits per tile, or a string of one byte per tile."""
    n_tiles = orders.shape[1]
    if n_tiles > _MOST_PACKED:
        return np.ascontiguousarray(orders).view(f"S{n_tiles}")[:, 0]
    padded = np.zeros((len(orders), 16), dtype=np.uint8)
    padded[:, :n_tiles] = orders
    pairs = padded[:, ::2] << 4 | padded[:, 1::2]
    return pairs.view(">u8")[:, 0].astype(np.uint64)


def _unpack(keys: Keys, size: BoardSize) -> Bytes:
    """Return the orders of keys, uint8[m, n_tiles]."""
    n_tiles = size.n_cells - 1
    if n_tiles > _MOST_PACKED:
        return keys.view(np.uint8).reshape(-1, n_tiles)
    pairs = keys.astype(">u8").view(np.uint8).reshape(-1, 8)
    return np.stack([pairs >> 4, pairs & 15], axis=2).reshape(-1, 16)[:, :n_tiles]
