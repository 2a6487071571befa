"""One threshold of one board, searched by the thread that owns the board and by any that come to help.

Work is stolen, not dealt: the owner begins at the root, and whoever has nothing to do asks. A busy thread looks up
after every slice of nodes; where somebody waits, it gives away the untried children nearest to its root. The subtrees
are disjoint, so a threshold that is searched to its end has the same nodes however many threads there are.
"""

from collections import deque
from collections.abc import Callable
from threading import Condition

from solver.ida_star_kernels import (
    COUNT_GOALS,
    EXHAUSTED,
    FOUND,
    LIST_GOALS,
    PAUSED,
    STOP_AT_GOAL,
    find_work,
    search_below_threshold,
    take_over,
)
from solver.search_tables import (
    DEPTH,
    EXPANDED,
    FOUND_DEPTH,
    FOUND_LANE,
    FRESH,
    GENERATED,
    IDLE,
    LANE_FIELDS,
    PHASE,
    SOLUTIONS,
    TILE,
    Lanes,
    SearchTables,
    empty_lanes,
)

# Nodes between two looks up: some 30 ms alone, 3 ms when threads may wait for work, 1 ms when one does.
_SLICE_NODES = 500_000
_SHARED_SLICE_NODES = 50_000
_HUNGRY_SLICE_NODES = 15_000
# Subtrees given away at a time to each thread that waits: some are over at once.
_GIFTS = 4

Subtree = Lanes
Listed = Callable[[tuple[int, ...]], None]


class ThresholdSearch:
    """A threshold being searched. `search` is called by the owner, `help` by others, each in a thread of its own.

    It ends at the first solution, or, where `finds_all`, goes on and counts them. `listed` is then called with the
    tiles of each, by whichever thread found it, one at a time.
    """

    def __init__(
        self,
        tables: SearchTables,
        threshold: int,
        max_depth: int,
        max_nodes: int | None,
        *,
        finds_all: bool = False,
        listed: Listed | None = None,
    ) -> None:
        self.tables = tables
        self.threshold = threshold
        self.max_depth = max_depth
        self._max_nodes = max_nodes
        self._finds_all = finds_all
        self._listed = listed
        self._changed = Condition()
        self._subtrees: deque[Subtree] = deque()
        self._n_working = 1  # the owner, who begins at the root
        self._n_waiting = 0
        self._is_shared = False
        self.is_over = False
        self.status = PAUSED
        self.tiles: tuple[int, ...] = ()
        self.generated = self.expanded = self.n_solutions = 0

    def search(self, lanes: Lanes, report: Callable[[], bool], share: Callable[[], None] | None) -> int:
        """Search to the end, from where `lanes` stand, at the root or further on. Returns FOUND, EXHAUSTED or PAUSED.

        `report` is called after every slice; where it returns False the search is given up, PAUSED. `share` is called
        once, when the threshold turns out to be more than a slice: from then on others may `help`.
        """
        try:
            self._work(lanes, report, share)
            while self._take(lanes):
                self._work(lanes, report, None)
        finally:
            with self._changed:
                self.is_over = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._n_working == 0)
        if self.status == EXHAUSTED and self.n_solutions:
            self.status = FOUND
        return self.status

    def help(self, lanes: Lanes) -> None:
        """Take work from the others until the threshold is over."""
        while self._take(lanes):
            self._work(lanes, lambda: True, None)

    def _work(self, lanes: Lanes, report: Callable[[], bool], share: Callable[[], None] | None) -> None:
        """Search what is in `lanes` to its end, giving away parts of it."""
        status = PAUSED
        try:
            self._count(lanes)
            while status != EXHAUSTED and not self.is_over:
                n_nodes = self._slice_nodes(share is not None)
                status = search_below_threshold(self.tables, lanes, self.threshold, n_nodes, self._at_goal())
                self._count(lanes)
                if status == FOUND:
                    self._note(path_to_goal(self.tables, lanes))
                elif not report() or (self._max_nodes is not None and self.generated >= self._max_nodes):
                    if status != EXHAUSTED or self._subtrees or self._n_working > 1:
                        self._end(PAUSED)
                elif status == PAUSED:
                    if share is not None:
                        self._is_shared = True
                        share()
                        share = None
                    if self._n_waiting:
                        self._give(lanes)
        finally:
            with self._changed:
                self._n_working -= 1
                self._changed.notify_all()

    def _at_goal(self) -> int:
        """What the kernel does at the goal. One path is wanted even where solutions are only counted."""
        if not self._finds_all:
            return STOP_AT_GOAL
        return COUNT_GOALS if self._listed is None and self.tiles else LIST_GOALS

    def _note(self, tiles: tuple[int, ...]) -> None:
        """A solution was found: the end, or one of many."""
        if not self._finds_all:
            self._end(FOUND, tiles)
            return
        with self._changed:
            self.tiles = tiles
            if self._listed is not None:
                self._listed(tiles)

    def _slice_nodes(self, may_share: bool) -> int:
        n_nodes = _SLICE_NODES
        if self._n_waiting:
            n_nodes = _HUNGRY_SLICE_NODES
        elif self._is_shared or may_share:
            n_nodes = _SHARED_SLICE_NODES
        if self._max_nodes is not None:
            n_nodes = max(1, min(n_nodes, self._max_nodes - self.generated))
        return n_nodes

    def _count(self, lanes: Lanes) -> None:
        """Add what was counted in `lanes` since the last time."""
        counted = lanes.counters.tolist()
        with self._changed:
            self.generated += counted[GENERATED]
            self.expanded += counted[EXPANDED]
            self.n_solutions += counted[SOLUTIONS]
        lanes.counters[GENERATED] = lanes.counters[EXPANDED] = lanes.counters[SOLUTIONS] = 0

    def _end(self, status: int, tiles: tuple[int, ...] = ()) -> None:
        with self._changed:
            if not self.is_over:
                self.is_over = True
                self.status, self.tiles = status, tiles
            self._changed.notify_all()

    def _take(self, lanes: Lanes) -> bool:
        """Wait for a subtree and put it into `lanes`. False where the threshold is over."""
        with self._changed:
            self._n_waiting += 1
            try:
                while not self._subtrees and not self.is_over:
                    if self._n_working == 0:
                        self.is_over = True
                        self.status = EXHAUSTED
                        self._changed.notify_all()
                    else:
                        self._changed.wait()
            finally:
                self._n_waiting -= 1
            if self.is_over:
                return False
            subtree = self._subtrees.popleft()
            self._n_working += 1
        _begin_at(self.tables, lanes, subtree)
        return True

    def _give(self, lanes: Lanes) -> None:
        """Give away untried children, those nearest to the root first, to those who wait."""
        n_gifts = _GIFTS * self._n_waiting - len(self._subtrees)
        gifts = []
        for _ in range(n_gifts):
            lane = find_work(self.tables, lanes)
            if lane < 0:
                break
            subtree = empty_lanes(self.tables._replace(n_lanes=1), self.max_depth)
            take_over(self.tables, subtree, 0, lanes, lane)
            gifts.append(subtree)
        with self._changed:
            self._subtrees.extend(gifts)
            self._changed.notify(len(gifts))


def _begin_at(tables: SearchTables, lanes: Lanes, subtree: Subtree) -> None:
    """Put a subtree into the first of `lanes`, the others idle."""
    rows = lanes.lanes.reshape(-1, LANE_FIELDS)
    rows[:, PHASE] = IDLE
    rows[0, DEPTH] = take_over(tables, lanes, 0, subtree, 0)
    rows[0, PHASE] = FRESH


def path_to_goal(tables: SearchTables, lanes: Lanes) -> tuple[int, ...]:
    """The tiles moved on the way to the goal that was found."""
    first_row = int(lanes.counters[FOUND_LANE]) * lanes.n_rows
    rows = range(first_row + 1, first_row + int(lanes.counters[FOUND_DEPTH]) + 1)
    return tuple(int(lanes.rows[row * tables.row_size + TILE]) for row in rows)
