"""Signals and priorities of the threads of this process."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def lower_thread_priority(niceness: int) -> None:
    """Lower the priority of the calling thread. Only Linux has priorities of threads; elsewhere do nothing."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold back the signals that Python handles until the end. Only the main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    handled: tuple[int, ...] = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    numbers = [number for number in handled if callable(signal.getsignal(number))]
    before = {number: signal.signal(number, lambda number, _frame: held.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held:
            signal.raise_signal(number)
