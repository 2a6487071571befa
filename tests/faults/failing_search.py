"""Searches on several threads that fail: one call raises an error at one point, or Ctrl-C comes at a random moment.

What is asked: the answer of a search without a fault or an exception, never another answer and never a hang. The same
solver, worker pool and checkpoint then find that answer.

    python -m tests.faults.failing_search --tried 2000 --interrupts 500 --seed 1
"""

import argparse
import faulthandler
import itertools
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pkgutil import resolve_name
from traceback import format_exception
from typing import Any
from unittest import mock

from solver.engine.checkpoint import Checkpoint
from solver.engine.worker_pool import WorkerPool
from solver.progress import Limits
from solver.solve import Solver
from tests.faults.driver import Tally, main
from tests.solving import HARDEST_8, S3, database_for, divided_early, node_counts, solvable_boards

ERRORS = (OSError, MemoryError, KeyboardInterrupt, StopIteration, GeneratorExit, SystemExit)
# Seconds after which a search counts as one that hangs; it takes some hundredths.
_HANG_S = 60.0


class WorkerThread(threading.Thread):
    """A thread of a worker pool: only these fail to start."""


# The functions that fail, before or after they do their work: at the start of a search; in slices, and when a stack is
# split; in subtrees and checkpoints; at the end.
POINTS = f"""
{__name__}.WorkerThread.start solver.engine.worker_pool.WorkerPool.offer solver.engine.worker_pool.WorkerPool.submit
solver.engine.stack.StackPool.take solver.engine.stack.Stack.begin solver.engine.stack.Stack.load
solver.engine.stack.Stack._allocate solver.engine.engine.Engine.roots solver.engine.frontier.Frontier.__init__

solver.engine.stack.search_boards solver.engine.stack.Stack.split solver.engine.frontier.Frontier.split

solver.engine.frontier.Frontier.take solver.engine.frontier.Frontier.count solver.engine.search.divide
solver.engine.frontier.Frontier.divide solver.engine.checkpoint.Checkpoint.resume
solver.engine.checkpoint.Checkpoint.subtrees solver.engine.checkpoint.Checkpoint.finish_subtrees

solver.engine.stack.Stack.tiles_to_goal solver.solve.check_replay solver.engine.result.check_replay
solver.engine.stack.StackPool.give_back solver.engine.worker_pool.WorkerPool.withdraw
solver.engine.checkpoint.Checkpoint.finish_threshold
""".split()


# Small slices: work changes hands all the time.
TUNED = divided_early(5, 5_000, 3, slice_nodes=100)


class Faults:
    """Counts the calls at each point, and lets one of them fail. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()
        self._target: tuple[Any, ...] = ()  # a point, the number of the call, and the error

    def arm(self, *target: Any) -> None:
        """Let a call at a point, given by its number from 1, raise an error. Calls are counted from now on."""
        with self._lock:
            self.calls.clear()
            self._target = target

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with the points `before NAME` and `after NAME`."""

        def failing(*args: Any, **options: Any) -> Any:
            self._at(f"before {name}")
            result = function(*args, **options)
            self._at(f"after {name}")
            return result

        return failing

    def _at(self, point: str) -> None:
        with self._lock:
            self.calls[point] += 1
            is_hit = self._target[:2] == (point, self.calls[point])
        if is_hit:
            raise self._target[2]

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Wrap all functions of POINTS for a while."""
        with ExitStack() as stack:
            for point in POINTS:
                wrapped = self.wrap(".".join(point.split(".")[-2:]), resolve_name(point))
                stack.enter_context(mock.patch(point, wrapped))
            stack.enter_context(mock.patch("solver.engine.worker_pool.Thread", WorkerThread))
            yield


# What a search returned, and what it raised.
Outcome = tuple[Any, BaseException | None]


# Runs a search and lets it fail.
Fail = Callable[[Callable[[], Any]], Outcome]
# A search, to be called with a worker pool and a checkpoint.
Search = Callable[[WorkerPool | None, Checkpoint], Any]


class Searches:
    """The searches that fail, with small tables of the 8-puzzle."""

    def __init__(self, faults: Faults, stack: ExitStack) -> None:
        # Weak tables: some hundred slices for a board.
        weak = stack.enter_context(database_for("1,2/3,6/4,7/5,8", "3x3", encoding="bits"))
        self.solver = Solver(weak, tuning=TUNED)
        self.boards = [HARDEST_8, *solvable_boards(S3, 7, 4)]
        self._report = faults.wrap("report", lambda *_: None)
        self._faults = faults
        self.searches: dict[str, Search] = {
            "one board": lambda pool, _: self._one(pool, None),
            "one board with subtrees": self._one,
            "all solutions, listed": partial(self._all, lists=True),
            "all solutions, counted": partial(self._all, lists=False),
            "solve_batch": self._batch,
            "label": self._label,
        }
        # Of each search without a fault: its result on one thread, the calls at each point, and its seconds.
        self.expected: dict[str, Any] = {}
        self.calls: dict[str, dict[str, int]] = {}
        self.seconds: dict[str, float] = {}

    def measure(self) -> None:
        """Run each search without a fault. Threads do not change its answer."""
        for name, search in self.searches.items():
            self.expected[name] = search(None, Checkpoint())
            self._faults.arm()
            start = time.perf_counter()
            with WorkerPool(2) as pool:
                assert search(pool, Checkpoint()) == self.expected[name], name
            self.seconds[name] = time.perf_counter() - start
            self.calls[name] = dict(self._faults.calls)

    def loss_of(self, name: str, fail: Fail) -> str | None:
        """Run a search, which `fail` lets fail, and then once more. Return what was lost; None for nothing.

        If a search hangs, the program ends with the stacks of all threads.
        """
        checkpoint, pool = Checkpoint(), WorkerPool(2)
        run = partial(self.searches[name], pool, checkpoint)
        faulthandler.dump_traceback_later(_HANG_S, exit=True)
        answer, raised = fail(run)
        again, raised_again = outcome_of(run)
        _, raised_by_close = outcome_of(pool.close)
        faulthandler.cancel_dump_traceback_later()
        if isinstance(raised, AssertionError) or (raised is None and answer != self.expected[name]):
            return f"{name}: another answer: {raised or answer}"
        if raised_again is not None or again != self.expected[name]:
            return f"{name}: afterwards: {raised_again or again!r}"
        return raised_by_close and f"{name}: the pool cannot be closed: {raised_by_close}"

    def _one(self, pool: WorkerPool | None, checkpoint: Checkpoint | None) -> Any:
        found = self.solver.solve(
            HARDEST_8, report=self._report, pool=pool, checkpoint=checkpoint, limits=Limits(time_limit=_HANG_S / 2)
        )
        return found.length, node_counts(found.thresholds[:-1])

    def _all(self, pool: WorkerPool | None, checkpoint: Checkpoint, *, lists: bool) -> Any:
        listed: list[tuple[int, ...]] = []
        take = self._faults.wrap("listed", listed.append) if lists else None
        kept = None if lists else checkpoint
        found = self.solver.solve_all(HARDEST_8, listed=take, report=self._report, pool=pool, checkpoint=kept)
        return found.n_solutions, sorted(listed), node_counts(found.thresholds)

    def _batch(self, pool: WorkerPool | None, checkpoint: Checkpoint) -> Any:
        # The first board is the one of the checkpoint.
        checkpoints = self._faults.wrap("checkpoints", lambda i: Checkpoint() if i else checkpoint)
        found: list[Any] = []
        for some in self.solver.solve_batch(self.boards, report=self._report, pool=pool, checkpoints=checkpoints):
            found += some
        return [(at.length, node_counts(at.thresholds[:-1])) for at in found]

    def _label(self, _pool: WorkerPool | None, _checkpoint: Checkpoint) -> Any:
        found = self.solver.label(self.boards, n_threads=3)
        return found.after.tolist()


def outcome_of(run: Callable[[], Any]) -> Outcome:
    try:
        return run(), None
    except BaseException as error:
        return None, error


def wait_for_workers() -> str | None:
    """Wait until all worker threads have ended; return what is wrong if they do not."""
    for thread in threading.enumerate():
        if isinstance(thread, WorkerThread):
            thread.join(_HANG_S)
            if thread.is_alive():
                return "a worker thread did not end"
    return None


def failing_call(searches: Searches, faults: Faults, name: str, rng: random.Random) -> tuple[str, Fail]:
    """Return a fault: one call of a search raises an error."""
    point, n_calls = rng.choice(sorted(searches.calls[name].items()))
    number, error = rng.randint(1, n_calls), rng.choice(ERRORS)("injected")

    def fail(run: Callable[[], Any]) -> Outcome:
        faults.arm(point, number, error)
        answer, raised = outcome_of(run)
        faults.arm()
        # Also if it is the cause of another one.
        if raised is not None and f"{type(error).__name__}: injected" not in "".join(format_exception(raised)):
            raised = AssertionError(f"another error: {raised!r}")
        return answer, raised

    return f"{point} {number} {error!r}", fail


def interrupt(searches: Searches, name: str, rng: random.Random) -> tuple[str, Fail]:
    """Return a fault: Ctrl-C in the main thread, which owns the search, at a random moment."""
    after_s = rng.uniform(1e-5, searches.seconds[name])
    is_armed = False

    def on_alarm(_signal: int, _frame: Any) -> None:
        nonlocal is_armed
        if is_armed:
            is_armed = False
            raise KeyboardInterrupt

    def fail(run: Callable[[], Any]) -> Outcome:
        nonlocal is_armed
        signal.signal(signal.SIGALRM, on_alarm)
        try:
            is_armed = True
            signal.setitimer(signal.ITIMER_REAL, after_s)
            answer = run()
            is_armed = False
        except BaseException as error:
            is_armed = False
            return None, error
        return answer, None

    return f"Ctrl-C after {after_s:.6f} s", fail


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Try both kinds of faults in each search in turn."""
    faults, rng = Faults(), random.Random(options.seed)
    with ExitStack() as stack:
        searches = Searches(faults, stack)
        stack.enter_context(faults.installed())
        searches.measure()
        names = itertools.cycle(searches.searches)
        for name, _ in zip(names, range(options.tried), strict=False):
            fault, fail = failing_call(searches, faults, name, rng)
            loss = searches.loss_of(name, fail) or wait_for_workers()
            tally.count("a call fails", loss and f"{fault}: {loss}")
        for name, _ in zip(names, range(options.interrupts), strict=False):
            fault, fail = interrupt(searches, name, rng)
            # Not that workers end: an interrupt may come just before a pool is closed, and they then wait for work.
            loss = searches.loss_of(name, fail)
            tally.count("interrupt", loss and f"{fault}: {loss}")
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main(attack, tried=160, interrupts=40, seed=1)
