"""The list of items of some jobs on a card, and its launches.

A *job* is a subtree of a board's threshold, the whole of it if many boards are searched at a time.
"""

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.types import Bytes, Int64s, UInt64s
from solver.cuda.device_search import FREE, MOVES_OF_WORD, N_CONTROLS, TAKEN, WRONG, search_kernel
from solver.cuda.dialect import cuda
from solver.cuda.tables import CardTables

# Nodes after which an item is written back, by the items for each thread: few items are split soon.
_SHARES = (0.25, 64), (3, 256), (float("inf"), 2048)
# Seconds of a launch, about: Ctrl-C waits for its end.
_LAUNCH_S = 0.05


class Launches:
    """The list of items of some jobs on the card, and what was searched of them. Not thread-safe.

    A launch takes the newest items, so the list stays short. Items that do not fit the card wait outside.

    n_path   words of the path of an item
    """

    def __init__(self, card: CardTables, board_of: Int64s, n_boards: int, most_moves: int) -> None:
        """`board_of` has the board of each job; `most_moves` is the largest threshold."""
        self._card, self.n_path = card, -(-most_moves // MOVES_OF_WORD)
        depth, n_jobs, n_words = MOVES_OF_WORD * self.n_path, len(board_of), card.n_words + self.n_path
        self._n_threads = card.grid * card.launch.block
        self._kernel = search_kernel(card.device, card.engine.size.width, depth, card.launch.registers)[
            card.grid, card.launch.block
        ]
        # Each thread may write its whole stack after the list is full.
        self._room = 2 * self._n_threads * (depth + 1)
        self._items = card.list_of(self._room + self._n_threads * (depth + 1), n_words)
        self._waiting: list[UInt64s] = []
        self._n_on_card, self._n_take = 0, 2 * self._n_threads
        self._board_of = cuda.to_device(board_of.astype(np.int32))
        self._n_left, self._counts = cuda.to_device(np.ones(n_jobs, dtype=np.int32)), _zeros((n_jobs, 2), np.uint64)
        self._claimed, self._found = _zeros(n_boards, np.int32), _zeros(n_boards, np.int32)
        self._paths = _zeros((n_boards, self.n_path), np.uint64)

    @property
    def n_items(self) -> int:
        """Return the items of the list."""
        return self._n_on_card + sum(map(len, self._waiting))

    def add(self, items: UInt64s) -> None:
        """Add the items of all jobs, one each. The first ones are searched first."""
        n_each = self._room // 4
        starts = range(0, len(items), n_each)
        self._waiting += [np.ascontiguousarray(items[first : first + n_each][::-1]) for first in starts][::-1]

    def launch(self) -> None:
        """Search some items. Raises `Engine.wrong_end` if a search ends elsewhere than at the goal."""
        start = time.perf_counter()
        self._make_room()
        n_items = self._n_on_card
        n_take = min(n_items, self._n_take)
        per_thread = n_items / self._n_threads
        share = next(share for most, share in _SHARES if per_thread < most)
        control = np.zeros(N_CONTROLS, dtype=np.int64)
        control[FREE] = n_items
        on_card = cuda.to_device(control)
        self._kernel(
            self._items, n_items, n_take, self._room, share, on_card, self._board_of, self._n_left, self._counts,
            self._claimed, self._found, self._paths, *self._card.on_card,
        )  # fmt: skip
        control = on_card.copy_to_host()
        if control[WRONG]:
            raise self._card.engine.wrong_end()
        # Threads that found no item counted, too.
        n_taken, n_new = min(n_take, int(control[TAKEN])), int(control[FREE]) - n_items
        n_moved, first = min(n_taken, n_new), n_items - n_taken
        if n_moved:
            end = n_items + n_new
            self._items[first : first + n_moved].copy_to_device(self._items[end - n_moved : end])
        self._n_on_card = first + n_new
        if time.perf_counter() - start > _LAUNCH_S:
            self._n_take = max(self._n_threads, n_taken // 2)
        elif n_taken == self._n_take:
            self._n_take *= 2

    def _make_room(self) -> None:
        """Let the oldest items wait outside if the list is nearly full; get others if it is empty."""
        n, most = self._n_on_card, self._room // 4
        if n > 2 * most:
            self._waiting.append(self._items[: n - most].copy_to_host())
            self._items[:most].copy_to_device(self._items[n - most : n])
            self._n_on_card = most
        elif not n and self._waiting:
            items = self._waiting.pop()
            self._items[: len(items)].copy_to_device(items)
            self._n_on_card = len(items)

    def is_found(self) -> npt.NDArray[np.bool_]:
        """Return whether a solution of each board is known."""
        found: npt.NDArray[np.bool_] = self._found.copy_to_host() != 0
        return found

    def moves(self, boards: Int64s) -> Bytes:
        """Return the moves of the solutions of boards, uint8[m, n]; what is behind their ends means nothing."""
        words = self._paths.copy_to_host()[boards]
        shifts = 2 * np.arange(MOVES_OF_WORD, dtype=np.uint64)
        moves: UInt64s = words[:, :, None] >> shifts & np.uint64(3)
        return moves.astype(np.uint8).reshape(len(boards), MOVES_OF_WORD * self.n_path)

    def counts(self) -> tuple[Int64s, Int64s]:
        """Return the generated and expanded nodes of each job, int64[m, 2], and its items in the list, int64[m]."""
        return self._counts.copy_to_host().astype(np.int64), self._n_left.copy_to_host().astype(np.int64)


def _zeros(shape: Any, dtype: Any) -> Any:
    return cuda.to_device(np.zeros(shape, dtype=dtype))
