"""One threshold of one board, searched by the thread that owns the board and by any that come to help.

Work is stolen, not dealt: the owner begins at the root, and whoever has nothing to do asks. A busy thread looks up
after every slice of nodes; where somebody waits, it gives away the untried children nearest to its root. The subtrees
are disjoint, so a threshold that is searched to its end has the same nodes however many threads there are.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from threading import Condition
from typing import Generic, Protocol, TypeVar

from pdb_core.lookup import Int64s
from solver.ida_star.ida_star_kernels import (
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
from solver.ida_star.search_tables import (
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

Listed = Callable[[tuple[int, ...]], None]


class HasCounters(Protocol):
    """What a kernel searches on: whatever it is, it counts GENERATED, EXPANDED and SOLUTIONS."""

    @property
    def counters(self) -> Int64s: ...


Stacks = TypeVar("Stacks", bound=HasCounters)


class ThresholdSearch(ABC, Generic[Stacks]):
    """A threshold being searched. `search` is called by the owner, `help` by others, each in a thread of its own.

    It ends at the first solution, or, where `finds_all`, goes on and counts them. `listed` is then called with the
    tiles of each, by whichever thread found it, one at a time. The kernels, and the stacks that they search on, are
    those of a subclass.
    """

    # Nodes of a slice, as a multiple of those above: for kernels that are that much faster or slower.
    _speed: float = 1

    def __init__(
        self,
        threshold: int,
        max_depth: int,
        max_nodes: int | None,
        *,
        finds_all: bool = False,
        listed: Listed | None = None,
    ) -> None:
        self.threshold = threshold
        self.max_depth = max_depth
        self._max_nodes = max_nodes
        self._finds_all = finds_all
        self._listed = listed
        self._changed = Condition()
        self._subtrees: deque[Stacks] = deque()
        self._n_working = 1  # the owner, who begins at the root
        self._n_waiting = 0
        self._is_shared = False
        self.is_over = False
        self.status = PAUSED
        self.tiles: tuple[int, ...] = ()
        self.generated = self.expanded = self.n_solutions = 0

    @abstractmethod
    def empty_stacks(self) -> Stacks:
        """Stacks for paths of up to `max_depth` moves."""

    @abstractmethod
    def _search_slice(self, stacks: Stacks, n_nodes: int, at_goal: int) -> int:
        """Search up to some nodes. Returns FOUND, EXHAUSTED or PAUSED."""

    @abstractmethod
    def _split(self, stacks: Stacks) -> Stacks | None:
        """Take the untried child nearest to the root away, None where there is none."""

    @abstractmethod
    def _begin_at(self, stacks: Stacks, subtree: Stacks) -> None:
        """Put a child that was split off into stacks that are done."""

    @abstractmethod
    def _path(self, stacks: Stacks) -> tuple[int, ...]:
        """The tiles moved on the way to the goal that was found."""

    def search(self, stacks: Stacks, report: Callable[[], bool], share: Callable[[], None] | None) -> int:
        """Search to the end, from where `stacks` stand, at the root or further on. Returns FOUND, EXHAUSTED or PAUSED.

        `report` is called after every slice; where it returns False the search is given up, PAUSED. `share` is called
        once, when the threshold turns out to be more than a slice: from then on others may `help`.
        """
        try:
            self._work(stacks, report, share)
            while self._take(stacks):
                self._work(stacks, report, None)
        finally:
            with self._changed:
                self.is_over = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._n_working == 0)
        if self.status == EXHAUSTED and self.n_solutions:
            self.status = FOUND
        return self.status

    def help(self, stacks: Stacks) -> None:
        """Take work from the others until the threshold is over."""
        while self._take(stacks):
            self._work(stacks, lambda: True, None)

    def _work(self, stacks: Stacks, report: Callable[[], bool], share: Callable[[], None] | None) -> None:
        """Search what is in `stacks` to its end, giving away parts of it."""
        status = PAUSED
        try:
            self._count(stacks)
            while status != EXHAUSTED and not self.is_over:
                n_nodes = self._slice_nodes(share is not None)
                status = self._search_slice(stacks, n_nodes, self._at_goal())
                self._count(stacks)
                if status == FOUND:
                    self._note(self._path(stacks))
                elif not report() or (self._max_nodes is not None and self.generated >= self._max_nodes):
                    if status != EXHAUSTED or self._subtrees or self._n_working > 1:
                        self._end(PAUSED)
                elif status == PAUSED:
                    if share is not None:
                        self._is_shared = True
                        share()
                        share = None
                    if self._n_waiting:
                        self._give(stacks)
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
        n_nodes = int(n_nodes * self._speed)
        if self._max_nodes is not None:
            n_nodes = max(1, min(n_nodes, self._max_nodes - self.generated))
        return n_nodes

    def _count(self, stacks: Stacks) -> None:
        """Add what was counted in `stacks` since the last time."""
        counted = stacks.counters.tolist()
        with self._changed:
            self.generated += counted[GENERATED]
            self.expanded += counted[EXPANDED]
            self.n_solutions += counted[SOLUTIONS]
        stacks.counters[GENERATED] = stacks.counters[EXPANDED] = stacks.counters[SOLUTIONS] = 0

    def _end(self, status: int, tiles: tuple[int, ...] = ()) -> None:
        with self._changed:
            if not self.is_over:
                self.is_over = True
                self.status, self.tiles = status, tiles
            self._changed.notify_all()

    def _take(self, stacks: Stacks) -> bool:
        """Wait for a subtree and put it into `stacks`. False where the threshold is over."""
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
        self._begin_at(stacks, subtree)
        return True

    def _give(self, stacks: Stacks) -> None:
        """Give away untried children, those nearest to the root first, to those who wait."""
        n_gifts = _GIFTS * self._n_waiting - len(self._subtrees)
        gifts = []
        for _ in range(n_gifts):
            subtree = self._split(stacks)
            if subtree is None:
                break
            gifts.append(subtree)
        with self._changed:
            self._subtrees.extend(gifts)
            self._changed.notify(len(gifts))


class LanesSearch(ThresholdSearch[Lanes]):
    """A threshold searched with databases, on lanes."""

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
        super().__init__(threshold, max_depth, max_nodes, finds_all=finds_all, listed=listed)
        self._tables = tables

    def load_kernels(self, stacks: Lanes) -> None:
        """Load or compile the kernels of a long threshold, by a search of a child of the root that `stacks` are at."""
        find_work(self._tables, stacks)
        self._begin_at(stacks, self._split_off(stacks, 0))
        self._search_slice(stacks, 1, STOP_AT_GOAL)

    def empty_stacks(self) -> Lanes:
        return empty_lanes(self._tables, self.max_depth)

    def _search_slice(self, stacks: Lanes, n_nodes: int, at_goal: int) -> int:
        return search_below_threshold(self._tables, stacks, self.threshold, n_nodes, at_goal)

    def _split(self, stacks: Lanes) -> Lanes | None:
        lane = find_work(self._tables, stacks)
        if lane < 0:
            return None
        return self._split_off(stacks, lane)

    def _split_off(self, stacks: Lanes, lane: int) -> Lanes:
        """Take an untried child of the shallowest node of a lane away."""
        subtree = empty_lanes(self._tables._replace(n_lanes=1), self.max_depth)
        take_over(self._tables, subtree, 0, stacks, lane)
        return subtree

    def _begin_at(self, stacks: Lanes, subtree: Lanes) -> None:
        """The subtree comes into the first lane; the others are idle."""
        rows = stacks.lanes.reshape(-1, LANE_FIELDS)
        rows[:, PHASE] = IDLE
        rows[0, DEPTH] = take_over(self._tables, stacks, 0, subtree, 0)
        rows[0, PHASE] = FRESH

    def _path(self, stacks: Lanes) -> tuple[int, ...]:
        return path_to_goal(self._tables, stacks)


def path_to_goal(tables: SearchTables, lanes: Lanes) -> tuple[int, ...]:
    """The tiles moved on the way to the goal that was found."""
    first_row = int(lanes.counters[FOUND_LANE]) * lanes.n_rows
    rows = range(first_row + 1, first_row + int(lanes.counters[FOUND_DEPTH]) + 1)
    return tuple(int(lanes.rows[row * tables.row_size + TILE]) for row in rows)
