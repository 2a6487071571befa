"""IDA* on a graphics card: of one hard board, whose long thresholds the card searches, and of many boards at a time."""

import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.puzzle import Tiles
from pdb_core.types import BLANK, Bytes, Int64s
from solver.cuda.kinds import CardRoots
from solver.cuda.launches import Launches
from solver.cuda.tables import CardTables, evaluated, items_of
from solver.engine import layout as mem
from solver.engine.board_kernels import BEYOND
from solver.engine.boards import BoardsSearch
from solver.engine.database_engine import DatabaseEngine
from solver.engine.engine import Engine, Roots
from solver.engine.frontier import Frontier
from solver.engine.search import IdaStar, OfHardBoard
from solver.engine.stack import Stack
from solver.engine.threads import ONE_SOLUTION, Wanted
from solver.engine.worker_pool import WorkerPool
from solver.moves import blank_steps
from solver.progress import Clock, Iteration, Limits

# Nodes of a threshold, after which a card searches the next one.
_LEAST_NODES = 1_000_000
# Limits of a search of many boards together: the least and the most boards, and the most cells and nodes of a board.
_LEAST_BOARDS, _MOST_BOARDS, _MOST_CELLS, _MOST_NODES = 1_000, 250_000, 16, 1_000_000_000
# Solutions of a threshold that are replayed if their moves are not wanted.
_REPLAYED = 1_000
# Nodes in the time of one node on the processor.
_PACE = 50
# Seconds between two looks at the clock.
_LOOK_S = 0.05


class CardIdaStar(IdaStar):
    """IDA* with the tables of an engine on the card. Thread-safe; one thread uses the card at a time."""

    def __init__(self, engine: Engine, **options: Any) -> None:
        """Raises `InputError` if a card cannot search with the tables."""
        super().__init__(engine, **options)
        assert isinstance(engine, DatabaseEngine)
        self.pace *= _PACE
        if engine.size.n_cells <= _MOST_CELLS:
            self.most_boards = _MOST_BOARDS
        self._card, self._lock = CardTables(engine), Lock()

    def roots(self, boards: npt.ArrayLike) -> Roots:
        """Evaluate boards, for the card if it searches them together. Raises what `Engine.roots` raises."""
        rows = np.array(boards, dtype=np.uint8).reshape(-1, self.engine.tables.n_cells)
        if len(rows) < _LEAST_BOARDS or rows.shape[1] > _MOST_CELLS:
            return self.engine.roots(rows)
        return evaluated(self._card, rows)

    def search_many(
        self,
        boards: npt.ArrayLike | Roots,
        of_hard_board: OfHardBoard = lambda _row: (None, None),
        pool: WorkerPool | None = None,
        *,
        limits: Limits | None = None,
        wanted: Wanted = ONE_SOLUTION,
        continues: bool = False,
    ) -> Iterator[BoardsSearch]:
        """Search boards or their roots: many together, those that are left one after another. See `IdaStar`."""
        start = time.perf_counter()
        # A search with limits, or one that continues, is of one board.
        is_alone = limits is not None or continues or wanted.finds_all
        evaluate = self.engine.roots if is_alone else self.roots
        roots = boards if isinstance(boards, Roots) else evaluate(boards)
        if not isinstance(roots, CardRoots):
            yield from super().search_many(
                roots, of_hard_board, pool, limits=limits, wanted=wanted, continues=continues
            )
            return
        many, clock = BoardsSearch(roots, start), Clock(Limits(), of_hard_board(0)[0], start)
        # Labels evaluate their boards first, and need no moves.
        rows = self._search_together(many, clock, has_moves=not isinstance(boards, Roots))
        seconds = time.perf_counter() - start
        if len(rows):
            left = self._for_processor(roots, rows)
            *_, found = super().search_many(left, lambda row: of_hard_board(int(rows[row])), pool)
            for row, of_row in enumerate(rows.tolist()):
                many.note(of_row, found.result(row))
        many.end_together(seconds)
        yield many

    def _for_processor(self, roots: CardRoots, rows: Int64s) -> Roots:
        chosen = self.engine.roots(roots.boards[rows])
        chosen.nodes[:, mem.STATE] = roots.nodes[rows, mem.STATE]
        return replace(chosen, thresholds=roots.thresholds[rows], last=roots.last[rows])

    def _search_together(self, many: BoardsSearch, clock: Clock, *, has_moves: bool) -> Int64s:
        """Search boards together, threshold by threshold. Return the rows of those that have too many nodes.

        Without moves, only some solutions of each threshold are replayed. Raises what the report of the clock raises.
        """
        roots: Roots = many.roots
        is_goal = (roots.boards == np.array(self.engine.goal, dtype=np.uint8)).all(axis=1)
        many.lengths[is_goal] = 0
        rows, thresholds = np.flatnonzero(~is_goal), roots.thresholds.copy()
        hard = [rows[:0]]
        for i in range(many.counts.shape[1]):
            is_beyond = thresholds[rows] > roots.last[rows]
            many.lengths[rows[is_beyond]] = BEYOND
            rows = rows[~is_beyond]
            if not len(rows):
                break
            left = thresholds[rows]
            with self._lock:
                launches = Launches(self._card, np.arange(len(rows)), len(rows), int(left.max()))
                launches.add(items_of(self._card, roots.within(rows, left), left, launches.n_path))
                while launches.n_items:
                    launches.launch()
                    clock.is_over(Iteration(int(left.max()), 0, 0, clock.seconds))
                counts, _ = launches.counts()
                found = np.flatnonzero(launches.is_found())
                shown = found if has_moves else found[:_REPLAYED]
                tiles = self._tiles(launches, roots.boards[rows[shown]], shown, left[shown])
            many.counts[rows, i] = counts
            many.lengths[rows[found]] = left[found]
            many.paths[rows[shown], : tiles.shape[1]] = tiles[:, : many.paths.shape[1]]
            is_left = np.ones(len(rows), dtype=np.bool_)
            is_left[found] = False
            rows = rows[is_left]
            thresholds[rows] += 2
            is_hard = many.counts[rows, :, 0].sum(axis=1) > _MOST_NODES
            hard.append(rows[is_hard])
            rows = rows[~is_hard]
        return np.concatenate([*hard, rows])

    def _tiles(self, launches: Launches, boards: Bytes, numbers: Int64s, lengths: Int64s) -> Bytes:
        """Return the tiles moved in the solutions of boards, uint8[m, n], replayed; `numbers` are those of the boards.

        Raises `Engine.wrong_end` if one does not end at the goal.
        """
        tiles, ends, _ = _play_all(self.engine, boards, launches.moves(numbers), lengths)
        if (ends != np.array(self.engine.goal, dtype=np.uint8)).any():
            raise self.engine.wrong_end()
        return tiles

    def search_threshold(
        self, frontier: Frontier, stack: Stack, max_nodes: int, clock: Clock, pool: WorkerPool | None, wanted: Wanted
    ) -> None:
        """Search a frontier: on the card, if that is worth it. See `IdaStar`."""
        is_over = frontier.is_empty or bool(frontier.tiles)
        if is_over or wanted.finds_all or frontier.nodes_before < _LEAST_NODES:
            super().search_threshold(frontier, stack, max_nodes, clock, pool, wanted)
            return
        while not self._lock.acquire(timeout=_LOOK_S):
            if clock.is_over(frontier.iteration):
                return
        try:
            self._search_on_card(frontier, stack, max_nodes, clock)
        finally:
            self._lock.release()

    def _search_on_card(self, frontier: Frontier, stack: Stack, max_nodes: int, clock: Clock) -> None:
        numbers, paths = frontier.take_all(stack)
        lengths = np.array([len(path) for path in paths], dtype=np.int64)
        moves = np.zeros((len(paths), int(lengths.max(initial=0))), dtype=np.int64)
        for row, path in zip(moves, paths, strict=True):
            row[: len(path)] = path
        _, boards, states = _play_all(self.engine, _copies(frontier.board, len(paths)), moves, lengths)
        roots = evaluated(self._card, boards, states)
        launches = Launches(self._card, np.zeros(len(paths), dtype=np.int64), 1, frontier.threshold)
        launches.add(items_of(self._card, roots, frontier.threshold - lengths, launches.n_path, moves, lengths))
        before, looked = np.zeros((len(paths), 2), dtype=np.int64), time.perf_counter()
        is_left = np.ones(len(paths), dtype=np.bool_)
        while launches.n_items and not frontier.tiles:
            launches.launch()
            if launches.n_items and time.perf_counter() < looked + _LOOK_S:
                continue
            looked = time.perf_counter()
            if launches.is_found()[0]:
                (tiles,) = self._tiles(
                    launches, _copies(frontier.board, 1), np.array([0]), np.array([frontier.threshold])
                )
                frontier.tiles, frontier.counts[2] = tuple(tiles[: frontier.threshold].tolist()), 1
            counts, n_left = launches.counts()
            for job in np.flatnonzero(((counts != before).any(axis=1) | (n_left == 0)) & is_left).tolist():
                generated, expanded = (counts[job] - before[job]).tolist()
                # Once there is a solution, what is left of the other items is not searched.
                is_left[job] = n_left[job] > 0 or bool(frontier.tiles)
                frontier.count_item(numbers[job], np.array([generated, expanded, 0]), is_over=not is_left[job])
            before = counts
            if clock.is_over(frontier.iteration) or frontier.generated >= max_nodes:
                return


def _copies(board: Tiles, n: int) -> Bytes:
    return np.tile(np.array(board, dtype=np.uint8), (n, 1))


def _play_all(
    engine: Engine, boards: Bytes, moves: npt.NDArray[np.integer], lengths: Int64s
) -> tuple[Bytes, Bytes, Int64s]:
    """Play the first `lengths`, int64[m], of the blank's moves, [m, n], on boards, uint8[m, n_cells].

    Return the tiles moved, uint8[m, n], the boards after that, and the states of the operator pruning FSM, int64[m].
    """
    boards, rows, tiles = boards.copy(), np.arange(len(boards)), np.zeros(moves.shape, dtype=np.uint8)
    states, blanks = engine.start_states(boards), boards.argmin(axis=1)
    steps = np.array(blank_steps(engine.size))
    for i, at_depth in enumerate(moves.T):
        rows = rows[lengths[rows] > i]
        cells = blanks[rows] + steps[at_depth[rows]]
        tiles[rows, i] = boards[rows, cells]
        boards[rows, blanks[rows]] = tiles[rows, i]
        boards[rows, cells] = BLANK
        blanks[rows] = cells
        states[rows] = engine.fsm.successors[states[rows], at_depth[rows]]
    return tiles, boards, states
