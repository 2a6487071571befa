"""Items that a thread reads ahead."""

import os
import sys
import time
from collections.abc import Iterator
from threading import Event

import pytest

from pdb_core.errors import InstanceError
from pdb_query import read_instances
from solver.read_ahead import in_chunks

pytestmark = pytest.mark.tiny


def test_boards_of_a_pipe_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "wb", buffering=0) as asking:
        monkeypatch.setattr(sys, "stdin", stdin)
        chunks = in_chunks(read_instances("-"), 64, n_threads=1)
        asking.write(b"1 2 3 4 5 6 7 0 8\n1 2 3 4 ")
        assert [instance.board for instance in next(chunks)] == [(1, 2, 3, 4, 5, 6, 7, 0, 8)]
        asking.write(b"5 6 0 7 8\n")
        assert [instance.id for instance in next(chunks)] == ["2"]
        asking.write(b"\xff\xfe\n")
        with pytest.raises(InstanceError, match="standard input line 3 is not text in UTF-8"):
            next(chunks)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_chunks_have_all_items_in_order(n_threads: int) -> None:
    chunks = list(in_chunks(range(1000), 64, n_threads=n_threads))
    assert [n for chunk in chunks for n in chunk] == list(range(1000))
    assert all(1 <= len(chunk) <= 64 for chunk in chunks)
    assert list(in_chunks([], 64, n_threads=n_threads)) == []


def test_chunks_do_not_wait_for_more_and_errors_come_last() -> None:
    may_go_on = Event()

    def items() -> Iterator[int]:
        yield 0
        assert may_go_on.wait(20)
        yield 1
        raise ValueError("item 2")

    chunks = in_chunks(items(), 64, n_threads=1)
    assert next(chunks) == [0]
    may_go_on.set()
    assert next(chunks) == [1]
    with pytest.raises(ValueError, match="item 2"):
        next(chunks)


def test_thread_ends_when_its_items_are_not_read() -> None:
    seen: list[int] = []

    def count() -> Iterator[int]:
        for n in range(10**9):
            seen.append(n)
            yield n

    items = in_chunks(count(), 64, n_threads=1)
    next(items)
    items.close()  # type: ignore[attr-defined]
    time.sleep(0.05)
    n_seen = len(seen)
    time.sleep(0.05)
    assert len(seen) == n_seen
