"""Memory of one search: its stack, the batch and the lists of a round, and the links to parents; and a pool of them."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pdb_core.moves import tiles_moved
from pdb_core.puzzle import Tiles
from pdb_core.types import Int64s, UInt32s
from pdb_query.private_memory import private_memory
from solver.engine import layout as mem
from solver.engine.board_kernels import N_PLACES, BoardsMemory, search_boards
from solver.engine.engine import Engine, Roots
from solver.engine.layout import StackMemory
from solver.engine.search_kernels import ROUND_ROOM
from solver.vectors.vectors import address_of

# For searches of what is on a stack.
NO_BOARDS = BoardsMemory(
    place=np.zeros(N_PLACES, dtype=np.int64),
    roots=np.empty((0, 0), dtype=np.uint32),
    thresholds=np.empty(0, dtype=np.int64),
    last=np.empty(0, dtype=np.int64),
    highest=np.empty(0, dtype=np.int64),
    boards=np.empty((0, 0), dtype=np.uint8),
    counts=np.empty((0, 0, 2), dtype=np.int64),
    lengths=np.empty(0, dtype=np.int16),
    paths=np.empty((0, 0), dtype=np.uint8),
)


class Stack:
    """Nodes of a threshold that one thread has still to expand, and its counters.

    columns   uint32[n_columns, capacity]: the nodes, the one to expand next last
    links     uint32[link_capacity], see `StackMemory`
    counters  int64[N_COUNTERS]
    subtree   number of the frontier's subtree whose nodes these are
    """

    subtree = 0

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.counters: Int64s = np.zeros(mem.N_COUNTERS, dtype=np.int64)
        self._signal = np.zeros(1, dtype=np.uint32)
        tuning = engine.tuning
        self._allocate(3 * mem.BATCH * (tuning.first_depth + 1) + ROUND_ROOM, tuning.first_links)

    def _allocate(self, capacity: int, n_links: int) -> None:
        """Allocate room for nodes and links, all in one piece of memory, so that huge pages hold it."""
        tables = self.engine.tables
        # An odd number of vectors: else all columns of a node would compete for the same part of a cache.
        n_vectors = -(-capacity // mem.MAX_LANES) | 1
        capacity = n_vectors * mem.MAX_LANES
        shapes = {
            "stack": (tables.n_columns, capacity),
            "batch": (tables.n_columns, mem.BATCH_COLUMN // 4),
            "lists": (mem.N_LISTS, tables.list_columns * mem.LIST_COLUMN // 4),
            "links": (n_links + mem.MAX_LANES,),
            "new_indices": (n_links + mem.MAX_LANES,),
        }
        sizes = [-(-math.prod(shape) // mem.MAX_LANES) * mem.MAX_LANES for shape in shapes.values()]
        words = private_memory(4 * sum(sizes), huge=True).view(np.uint32)
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
        arrays = {
            name: words[start : start + math.prod(shape)].reshape(shape)
            for start, (name, shape) in zip(starts, shapes.items(), strict=True)
        }
        self.columns, self.links = arrays["stack"], arrays["links"]
        self.memory = StackMemory(
            **{name: address_of(array) for name, array in arrays.items()},
            stack_column=4 * capacity,
            capacity=capacity,
            list_bytes=tables.list_columns * mem.LIST_COLUMN,
            link_capacity=n_links,
            signal=address_of(self._signal),
        )

    def grow(self) -> None:
        """Make twice the room, after the kernels have run out of it. Raises `MemoryError`."""
        columns, links = self.columns, self.links
        self._allocate(2 * self.memory.capacity, 2 * self.memory.link_capacity)
        self.columns[:, : columns.shape[1]] = columns
        self.links[: len(links)] = links

    def reserve(self, other: "Stack") -> None:
        """Make as much room on this stack, which is empty, as another one has. Raises `MemoryError` or `OSError`."""
        if self.memory.capacity < other.memory.capacity or self.memory.link_capacity < other.memory.link_capacity:
            self._allocate(other.memory.capacity, other.memory.link_capacity)

    @property
    def n_nodes(self) -> int:
        """Nodes to expand."""
        return int(self.counters[mem.TOP])

    def begin(self, roots: Roots, row: int, threshold: int) -> None:
        """Put a root on the empty stack, to be searched up to a threshold. Raises what `Engine.raised` raises."""
        root = self.engine.raised(roots, np.array([row]), np.array([threshold]))
        self.load(root.nodes, np.zeros(1, dtype=np.uint32))

    def load(self, nodes: UInt32s, links: UInt32s) -> None:
        """Put nodes (uint32[n, n_columns]) on this stack, which is empty, the first one on top. Their LINK refers to
        `links`, uint32[m], the links of the nodes above them; index 0 refers to no node.
        """
        above = {0}
        for link in nodes[:, mem.LINK].tolist():
            index = link >> 2
            while index not in above:
                above.add(index)
                index = int(links[index]) >> 2
        indices = np.array(sorted(above))
        while self.memory.capacity < len(nodes) + ROUND_ROOM or self.memory.link_capacity < 2 * len(indices):
            self.grow()
        of_nodes, of_above = nodes[::-1, mem.LINK], links[indices]
        self.columns[:, : len(nodes)] = nodes[::-1].T
        self.columns[mem.LINK, : len(nodes)] = np.searchsorted(indices, of_nodes >> 2) << 2 | of_nodes & 3
        self.links[: len(indices)] = np.searchsorted(indices, of_above >> 2) << 2 | of_above & 3
        self.counters[:] = 0
        # Any of them may be the goal, without moves left.
        self.counters[[mem.TOP, mem.N_LINKS, mem.N_ENDED]] = len(nodes), len(indices), len(nodes)
        self._signal[0] = 0

    def pause(self) -> None:
        """Let `search`, in another thread, return soon."""
        self._signal[0] = 1

    def search(
        self, pause_at: int, max_nodes: int, *, counts_goals: bool = False, boards: BoardsMemory = NO_BOARDS
    ) -> int:
        """Search the nodes of this stack, or `boards`, see `board_kernels.search_boards`.

        Returns EXHAUSTED, FOUND, PAUSED or TOO_DEEP. If the kernel runs out of room, the stack grows.
        """
        while True:
            tables, round_tables = self.engine.tables, self.engine.round_tables
            status = search_boards(
                tables, round_tables, self.memory, self.counters, boards, pause_at, max_nodes, counts_goals
            )
            self._signal[0] = 0
            if status != mem.NO_ROOM:
                return status
            self.grow()

    def split(self, other: "Stack") -> None:
        """Move every second node, shallow and deep ones, to another stack, which is empty, has the room, and is of the
        same tables.
        """
        n_links, nodes = int(self.counters[mem.N_LINKS]), self.columns[:, : self.n_nodes].copy()
        other.links[:n_links] = self.links[:n_links]
        other.counters[:] = 0
        other.counters[mem.N_LINKS] = n_links
        for stack, kept in ((other, nodes[:, ::2]), (self, nodes[:, 1::2])):
            stack.columns[:, : kept.shape[1]] = kept
            stack.counters[mem.TOP] = kept.shape[1]

    def tiles_to_goal(self, board: Tiles) -> tuple[int, ...]:
        """Return the tiles moved from the root, `board`, to the goal that was found last. Raises `Engine.wrong_end`."""
        (moves,) = moves_by(self.links, self.counters[[mem.FOUND_LINK]])
        tiles, end = tiles_moved(board, moves, self.engine.size)
        if end != self.engine.goal:
            raise self.engine.wrong_end()
        return tiles

    def moves_to_nodes(self) -> list[list[int]]:
        """Return the blank's moves to each node that is still to be expanded."""
        return moves_by(self.links, self.columns[mem.LINK, : self.n_nodes])


def moves_by(links: UInt32s, of_nodes: UInt32s | Int64s) -> list[list[int]]:
    """Return the blank's moves that lead from a root to each of some nodes, by their LINK."""
    found = []
    for link in of_nodes.tolist():
        moves = []
        while link >> 2:
            moves.append(link & 3)
            link = int(links[link >> 2])
        found.append(moves[::-1])
    return found


class StackPool:
    """Stacks of one engine, reused: a new one takes as long as the search of an easy board. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._lock = threading.Lock()
        self._free: list[Stack] = []

    @property
    def slice_nodes(self) -> int:
        """Nodes between two returns to Python, some 10 to 30 ms. At least 8: the first slice is an eighth of others."""
        return max(8, int(self.engine.tuning.slice_nodes * self.engine.speed))

    def take(self) -> Stack:
        """Return an empty stack that is not in use."""
        with self._lock:
            if self._free:
                return self._free.pop()
        return Stack(self.engine)

    def give_back(self, stack: Stack) -> None:
        """Keep a stack for the next search, unless it has grown; its nodes are dropped."""
        if stack.memory.link_capacity > self.engine.tuning.first_links:
            return
        stack.counters[:] = 0
        with self._lock:
            self._free.append(stack)

    @contextmanager
    def borrowed(self) -> Iterator[Stack]:
        """Yield a stack, which goes back at the end."""
        stack = self.take()
        yield stack
        # Not after an exception: a thread may still use it.
        self.give_back(stack)
