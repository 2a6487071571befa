"""Items that a thread reads ahead, and items that several threads work on."""

from collections.abc import Generator, Iterator
from threading import Event

import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import Board, blank_last
from solver.answers.read_ahead import in_chunks
from solver.answers.requests import Request
from solver.answers.sources import ThreadedAnswers, one_by_one
from solver.engine.worker_pool import WorkerPool, in_parallel, stream_in_parallel
from solver.progress import Iteration, Report
from tests.solving import HARDEST_8, S3


@pytest.mark.tiny
@pytest.mark.parametrize("n_workers", [0, 1])
def test_closed_pool_refuses_tasks(n_workers: int) -> None:
    with WorkerPool(n_workers) as pool:
        pool.submit(lambda: None)
    with pytest.raises(InputError, match="the pool is closed"):
        pool.submit(lambda: None)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_slow_source_does_not_hold_back_answers(n_threads: int) -> None:
    """Each request is read when the answer of the one before has come."""
    has_come, board = [Event() for _ in range(10)], Board(HARDEST_8)

    def requests() -> Iterator[Request]:
        for number in range(10):
            assert number == 0 or has_come[number - 1].wait(20)
            yield Request(str(number), board, blank_last(S3))

    source = ThreadedAnswers(one_by_one(lambda request, *_: request), n_threads=n_threads)
    for answer in source.answers(requests()):
        has_come[int(answer.request.id)].set()
    assert has_come[-1].is_set()


def test_thread_ends_when_its_items_are_not_read() -> None:
    has_ended = Event()

    def numbers() -> Iterator[int]:
        try:
            yield from range(10**9)
        finally:
            has_ended.set()

    chunks = in_chunks(numbers(), 64, n_threads=1)
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert has_ended.wait(20)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_outcomes_come_before_their_item_is_finished(n_threads: int) -> None:
    is_seen, has_ended = Event(), Event()

    def work(item: int, _report: Report, _pool: WorkerPool | None) -> Generator[tuple[int, int], None, None]:
        try:
            yield item, 0
            assert is_seen.wait(20)
            while True:
                yield item, 1
        finally:
            has_ended.set()

    answers = stream_in_parallel(iter([7]), work, n_threads=n_threads)
    assert next(answers) == (7, 0)
    is_seen.set()
    assert next(answers) == (7, 1)
    answers.close()  # type: ignore[attr-defined]
    assert has_ended.is_set()


def test_error_of_one_item_ends_the_others() -> None:
    has_begun, has_ended = Event(), Event()

    def work(item: int, report: Report, _pool: WorkerPool | None) -> None:
        if item == 1:
            assert has_begun.wait(20)
            raise ValueError("item 1")
        has_begun.set()
        try:
            while True:
                report(Iteration(0, 0, 0, 0.0))
        finally:
            has_ended.set()

    with pytest.raises(ValueError, match="item 1"):
        list(in_parallel(range(1, 100), work, n_threads=2))
    assert has_ended.is_set()
