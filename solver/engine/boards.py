"""Search of boards one after another, without Python between them."""

import time

import numpy as np

from pdb_core.types import Int64s
from solver.engine import layout as mem
from solver.engine.board_kernels import BEYOND, BOARD, THRESHOLD, WRONG, BoardsMemory
from solver.engine.engine import Engine, Roots
from solver.engine.result import SearchResult
from solver.engine.stack import Stack
from solver.progress import NO_LIMIT, Iteration


class BoardsSearch:
    """Search of boards one after another. Boards that one call searches share its seconds by their generated nodes.

    counts   int64[m, t, 2]: generated and expanded nodes of each threshold that is over
    lengths  int16[m]: of the solutions; -1 for a board that is not searched yet, BEYOND for one that has no solution up
             to its last threshold, or was given up
    paths    uint8[m, n]: the tiles moved
    more     results of boards whose search was continued elsewhere
    """

    def __init__(self, roots: Roots, start: float, n_thresholds: int) -> None:
        """`start` is when the seconds of the first board begin. One call can note the nodes of `n_thresholds`."""
        n = len(roots.nodes)
        self.roots = roots
        longest = int(roots.thresholds.max(initial=0)) + mem.THRESHOLD_STEP * n_thresholds
        self.counts: Int64s = np.zeros((n, n_thresholds, 2), dtype=np.int64)
        self.lengths = np.full(n, -1, dtype=np.int16)
        self.paths = np.zeros((n, longest), dtype=np.uint8)
        self._boards = roots.boards.copy()
        self._place = np.array([0, -1, 0], dtype=np.int64)
        self.more: dict[int, SearchResult] = {}
        # When the search of the board that is being searched began, as its nodes show.
        self.began_at = self._noted_at = start
        self._seconds_per_node = np.zeros(n)

    @property
    def row(self) -> int:
        """Return the index of the board that is searched; those before it are done."""
        return int(self._place[BOARD])

    @property
    def threshold(self) -> int:
        """Return the threshold that is searched."""
        return int(self._place[THRESHOLD])

    def search(self, engine: Engine, stack: Stack, n_nodes: int) -> int:
        """Generate up to `n_nodes`. Returns EXHAUSTED if all boards are done, PAUSED, or TOO_DEEP.

        TOO_DEEP means that a threshold is too far above a sum. PAUSED may also mean that a board has more thresholds
        than there is room for. Raises `Engine.wrong_end` if a search ends elsewhere than at the goal.
        """
        roots, first = self.roots, self.row
        boards = BoardsMemory(
            self._place,
            roots.nodes,
            roots.thresholds,
            roots.last,
            roots.highest,
            self._boards,
            self.counts,
            self.lengths,
            self.paths,
        )
        status = stack.search(n_nodes, NO_LIMIT, boards=boards)
        if (self.lengths == WRONG).any():
            raise engine.wrong_end()
        searched = slice(first, self.row + 1)
        generated = self.counts[searched, :, 0].sum(axis=1)
        if status == mem.PAUSED:
            generated[-1] += stack.counters[mem.GENERATED]
        now = time.perf_counter()
        seconds_per_node = (now - self._noted_at) / max(1, int(generated.sum()))
        self._seconds_per_node[searched] = seconds_per_node
        self.began_at = now - float(generated[-1]) * seconds_per_node if status == mem.PAUSED else now
        self._noted_at = now
        return status

    def resume(self) -> None:
        """Leave the time since the last call of `search` out of the seconds of the boards."""
        now = time.perf_counter()
        self.began_at += now - self._noted_at
        self._noted_at = now

    def note(self, row: int, result: SearchResult) -> None:
        """Record the result of the current board, which was searched elsewhere, and go on with the next one."""
        tiles = result.moves or ()
        if len(tiles) > self.paths.shape[1]:
            self.paths = np.pad(self.paths, ((0, 0), (0, len(tiles) - self.paths.shape[1])))
        self.lengths[row] = BEYOND if result.moves is None else len(tiles)
        self.paths[row, : len(tiles)] = tiles
        self.more[row] = result
        self._place[:] = [row + 1, -1, 0]
        self._noted_at = time.perf_counter()

    def iterations(self, row: int) -> tuple[Iteration, ...]:
        """Return the finished thresholds of the board at `row`."""
        if row in self.more:
            return self.more[row].thresholds
        first, seconds_per_node = int(self.roots.thresholds[row]), float(self._seconds_per_node[row])
        counts = self.counts[row, : np.count_nonzero(self.counts[row, :, 1])].tolist()
        return tuple(
            Iteration(first + mem.THRESHOLD_STEP * i, generated, expanded, generated * seconds_per_node)
            for i, (generated, expanded) in enumerate(counts)
        )

    def result(self, row: int) -> SearchResult:
        """Return the result of the board at `row`, which was searched."""
        if row in self.more:
            return self.more[row]
        iterations = self.iterations(row)
        seconds = sum(iteration.seconds for iteration in iterations)
        h, length = int(self.roots.h[row]), int(self.lengths[row])
        tiles = None if length < 0 else tuple(self.paths[row, :length].tolist())
        return SearchResult(tiles, iterations, seconds, h=h, n_solutions=int(length >= 0), is_complete=length == 0)

    def nodes(self) -> tuple[Int64s, Int64s]:
        """Return the generated and the expanded nodes of each board, int64[m]."""
        generated, expanded = self.counts[:, :, 0].sum(axis=1), self.counts[:, :, 1].sum(axis=1)
        for row, result in self.more.items():
            generated[row], expanded[row] = result.generated, result.expanded
        return generated, expanded
